"""The topic is the one that the last audit saw.

**fail**: its name is the same and its id (KIP-516) is another: it was deleted and created since, with all its
records lost, and its consumers' offsets are those of the old one. Nothing that is remembered of the old one is used
to judge the new one. Where the YAML says ``allow: [recreate]``, it is only noted. Not looked at in a first audit.

Example: a Streams application was reset while it ran, and its internal topics came back empty (KIP-698).

Remedy: find out who did it; reset the offsets of the groups that read the topic.

Source: KIP-516 for topic ids.
"""

from collections.abc import Iterable

from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.topic import Allowance
from topicwarden.model.verdict import Verdict

TRAITS = Traits()


def applies(subject: AuditedTopic) -> bool:
    return subject.live is not None and (subject.past.state is not None or subject.past.recreated_from is not None)


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    assert subject.live
    before = subject.past.recreated_from
    if before is None:
        return
    permits = subject.declared.allow if subject.declared else frozenset()
    allowed = any(permit.change is Allowance.RECREATE for permit in permits)
    yield CheckResult(
        Verdict.PASS if allowed else Verdict.FAIL,
        f"was deleted and created again since the last audit: its id was {before}, and is {subject.live.id}",
        path=("allow",) if allowed else (),
        because=("what is remembered of the old one is not used to judge the new one",),
        remedy="" if allowed else "find out who did it; reset the offsets of the groups that read the topic",
        evidence={"id": subject.live.id, "id_before": before},
    )
