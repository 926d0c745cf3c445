"""The pages ``docs/checks.md`` and ``docs/runbook.md``: the checks of the audit, and what to do after a finding.

`topicwarden rules checks` and `topicwarden rules runbook` print them, from the docstrings of checks.
"""

from __future__ import annotations

from typing import Final

from topicwarden.audit.check_docs import check_docs
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.evidence import ApacheLog


def checks() -> str:
    """Return the page of all checks of the audit, as Markdown."""
    parts = ["# Checks", _CHECKS]
    for name, text in check_docs().items():
        of_log = name in CHECKS and issubclass(CHECKS[name].Required, ApacheLog)
        parts += [f"## {name}", text, *([_OTHER_LOG] if of_log else [])]
    return "\n\n".join(parts) + "\n"


_CHECKS = """\
The checks of `topicwarden audit` on the cluster and its records. A check gives one of four verdicts:

| verdict | meaning |
|---|---|
| `pass` | the topic is as declared; a message explains what looks wrong but is allowed |
| `fail` | the topic is not as declared, with proof: partitions, offsets, timestamps, numbers, and the line of YAML |
| `suspect` | becomes a `fail` if the next audit still finds the same |
| `undecidable` | the evidence is not available; the message says what is missing |

The documentation of a check says what a pass means, when its verdict is **fail**, and what to do. It also has an
example and the source of the rule."""

_OTHER_LOG = (
    "On a service that does not store records as Apache Kafka does ([docs/services.md](services.md)): **undecidable**."
)


def runbook() -> str:
    """Return the runbook, as Markdown: for each check, how to confirm a finding, repair the cause and prevent it."""
    parts = [_RUNBOOK]
    for name, text in check_docs().items():
        paragraphs = text.split("\n\n")
        parts += [f"## {name}", f"Violated: {paragraphs[0]} [About this check](checks.md#{name})"]
        for heading, label in _STEPS.items():
            step = next(each for each in paragraphs if each.startswith(f"{label}: ")).removeprefix(f"{label}: ")
            parts.append(f"**{heading}.** {step[0].upper() if step[0].isalpha() else step[0]}{step[1:]}")
    return "\n\n".join(parts) + "\n"


_STEPS: Final = {"Confirm": "Confirm", "Repair": "Remedy", "Prevent": "Prevent"}
"""The headings of the runbook, and the labels of the paragraphs in the docstrings of checks."""

_RUNBOOK = """\
# Runbook

What to do after a finding of `topicwarden audit`. Each section has the check's requirement, how to confirm the finding
with Kafka's own tools, how to repair the cause, and how to prevent it.

- The tools are in Kafka's `bin` folder, some with the suffix `.sh`. `kafka-dump-log` reads files of a broker. Others
  need `--bootstrap-server`, and a file with the client's settings: `--command-config`, or `--consumer.config` for
  `kafka-console-consumer`. KIP-1147 renames its `--property` to `--formatter-property`, and deprecates the old name.
- `T`, `P`, `O` and `G` are the topic, partition, offset and group in the finding. `N` is a broker. The commands with
  `kafka-console-consumer` and `--print-data-log` print records: mind who can read your terminal.
- `suspect`: run the next audit first. It settles the verdict.
- `undecidable`: the finding names the missing evidence. `topicwarden doctor --stack prod` names missing permissions.
- If the finding is intended, change the declaration. A waiver exempts topics from policies, not from audits."""
