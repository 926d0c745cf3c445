"""Every declared topic is on the cluster. **fail**: it is not."""

from collections.abc import Iterable

from topicwarden.audit.subject import Judgement, Subject
from topicwarden.finding import Verdict


def applies(subject: Subject) -> bool:
    return subject.declared is not None


def judge(subject: Subject) -> Iterable[Judgement]:
    if subject.live is None:
        yield Judgement(
            Verdict.FAIL,
            "is declared, and not on the cluster",
            remedy="`pulumi up` creates it; if it was deleted by hand, `pulumi refresh` first",
        )
