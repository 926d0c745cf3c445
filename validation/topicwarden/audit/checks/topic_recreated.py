"""The topic is the same topic that the previous audit saw.

**fail**: the topic has the same name, but another id (KIP-516). It was deleted and created again since, all its records
were lost, and its consumers' offsets belong to the old topic. Facts remembered about the old topic are not used to
judge the new one. If the YAML has ``allow: [{change: recreate, until: DATE}]``, the check passes with a note. A first
audit skips this check.

Example: a Streams application was reset while it was running, and its internal topics came back empty (KIP-698).

Confirm: ``kafka-topics --describe --topic T`` prints the topic id of today; the finding has the one of the previous
audit.

Remedy: find out who recreated the topic; reset the offsets of the groups that read it.

Prevent: grant Delete on topics to nobody but the user of deploys.

Source: KIP-516 for topic ids.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.evidence import Live
from topicwarden.model.topic import AllowedChange
from topicwarden.model.verdict import Verdict


class Required(Live): ...


def applies(subject: Required) -> bool:
    return subject.past.state is not None or subject.past.recreated_from is not None


def judge(subject: Required) -> Iterable[CheckResult]:
    before = subject.past.recreated_from
    if before is None:
        return
    allowances = subject.declared.allow if subject.declared else frozenset()
    allowed = any(allowance.change is AllowedChange.RECREATE for allowance in allowances)
    yield CheckResult(
        Verdict.PASS if allowed else Verdict.FAIL,
        f"was deleted and created again since the previous audit: its id was {before}, and is now {subject.live.id}",
        path=("allow",) if allowed else (),
        because=("facts remembered about the old topic are not used to judge the new one",),
        remedy="" if allowed else "find out who recreated the topic; reset the offsets of the groups that read it",
        evidence={"id": subject.live.id, "id_before": before},
    )
