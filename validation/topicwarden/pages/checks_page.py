"""The page ``docs/checks.md``: the checks of the audit, generated from their docstrings."""

from __future__ import annotations

from topicwarden.audit.checks import CHECKS, check_docs
from topicwarden.audit.evidence import ApacheLog


def page() -> str:
    """Return the page of all checks of the audit, as Markdown."""
    parts = ["# Checks", _INTRODUCTION]
    for name, text in check_docs().items():
        parts += [f"## {name}", text, *([_OTHER_LOG] if issubclass(CHECKS[name].Required, ApacheLog) else [])]
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """\
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
