"""Records are kept no longer, and no shorter, than the house allows.

Settings: ``min``, ``max`` as durations. Judges ``retention.ms`` of topics that delete by time; -1 is for ever.
Example: ``retention: {max: 30d}``
"""

from collections.abc import Iterable

from topicwarden.policies.rule import Complaint, RuleSettings
from topicwarden.specs.model import Duration
from topicwarden.topic import Topic

SETTING = "retention.ms"


class Settings(RuleSettings):
    min: Duration = 0
    max: Duration | None = None


ALWAYS = None


def judge(topic: Topic, settings: Settings) -> Iterable[Complaint]:
    retention = topic.number(SETTING)
    if retention is None or "delete" not in (topic.cleanup_policies or {"delete"}):
        return
    seen = "for ever (-1)" if retention < 0 else f"{retention} ms"
    if settings.max is not None and not 0 <= retention <= settings.max:
        yield Complaint(("config", SETTING), f"{SETTING}: expected at most {settings.max} ms, seen {seen}")
    if 0 <= retention < settings.min:
        yield Complaint(("config", SETTING), f"{SETTING}: expected at least {settings.min} ms, seen {seen}")
