"""Every topic on the cluster is declared. **fail**: it is not; Kafka's own internal topics need no declaration."""

from collections.abc import Iterable

from topicwarden.audit.subject import Judgement, Subject
from topicwarden.finding import Verdict


def applies(subject: Subject) -> bool:
    return subject.live is not None and not subject.live.topic.internal


def judge(subject: Subject) -> Iterable[Judgement]:
    if subject.declared is None:
        yield Judgement(
            Verdict.FAIL,
            "is on the cluster, and not declared",
            remedy="declare it in topics/, or delete it if nobody needs it",
        )
