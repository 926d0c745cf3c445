"""The declared limit of a group's unread records in a topic."""

from __future__ import annotations

from dataclasses import dataclass

from topicwarden.model.access import Grant
from topicwarden.model.topic import Topic


@dataclass(frozen=True)
class LagLimit:
    """The maximum age of the oldest unread record, in milliseconds, and the path of the setting in the YAML."""

    max_lag: int
    path: tuple[str, ...]


_OF_ALL_GROUPS = ("contents", "consumers", "max_lag")
_OF_GRANT = ("access", "consume")


def lag_limit(topic: Topic, group: str) -> LagLimit | None:
    """Return the limit that ``topic`` declares for ``group``; None without one.

    A grant with the whole name of the group comes first, then the one with the longest start of the name, then
    ``contents.consumers``. Of several grants for the same name, the lowest limit applies.
    """
    grants = [grant for grant in topic.access.consume if grant.max_lag is not None and _covers(grant, group)]
    closest = min(grants, key=lambda grant: (grant.prefix, -len(grant.name or ""), grant.max_lag or 0), default=None)
    if closest is not None and closest.max_lag is not None:
        return LagLimit(closest.max_lag, _OF_GRANT)
    limit = topic.contents.consumers.max_lag
    return None if limit is None else LagLimit(limit, _OF_ALL_GROUPS)


def lag_limits(topic: Topic) -> frozenset[int]:
    """Return all limits that ``topic`` declares, in milliseconds."""
    declared = (topic.contents.consumers.max_lag, *(grant.max_lag for grant in topic.access.consume))
    return frozenset(limit for limit in declared if limit is not None)


def _covers(grant: Grant, group: str) -> bool:
    if grant.name is None:
        return False
    return group.startswith(grant.name) if grant.prefix else group == grant.name
