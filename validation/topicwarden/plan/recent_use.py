"""Find who read and wrote a topic in the last days, for changes that lose its records.

Nothing is concluded from absence: observations never see a reader without a group, or a producer without idempotence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from topicwarden.model.planned_change import Consequence, RecentUser, Severity
from topicwarden.model.timestamps import between, minute
from topicwarden.model.units import DURATION
from topicwarden.model.usage import DAY_MS, TopicUse, Use, UseAction

DEFAULT_WINDOW_MS = 30 * DAY_MS
"""The time for which a plan names the users of a topic, if no policy has ``usage: idle_after``."""

MAX_USERS = 50
"""Users of a topic that a plan lists."""


@dataclass(frozen=True)
class RecentUse:
    """The users of a topic in the last days, active ones first, then the most recent; and what is not known of them."""

    users: tuple[RecentUser, ...] = ()
    reasons: tuple[str, ...] = ()


NO_USE = RecentUse()


@dataclass(frozen=True)
class PlannedUse:
    """The recent use by topic, and remarks for the whole plan."""

    topics: Mapping[str, RecentUse] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def of(self, topic: str) -> RecentUse:
        """Return the recent use of a topic."""
        return self.topics.get(topic, NO_USE)


def recent_use(
    now: TopicUse,
    previous: TopicUse | None,
    window_ms: int,
    *,
    history_read: bool = True,
    unseen: Iterable[str] = (),
) -> RecentUse:
    """Return who used a topic in the last ``window_ms``.

    ``now`` is the use of the topic with the observation of this plan, ``previous`` without; None if there is no earlier
    observation. ``history_read`` is false if the history of observations was not read. ``unseen`` is what brokers did
    not report.
    """
    since = now.observed_at - window_ms
    users = sorted(
        (user for use in now.users if (user := _user(use, now, since)) is not None),
        key=lambda user: (not user.active, -user.until, user.action, user.kind, user.name),
    )
    reasons = [*unseen, *([_observations(previous, since)] if history_read else [])]
    reasons += _unknown(now, users, since, window_ms)
    if len(users) > MAX_USERS:
        reasons.append(f"{len(users):,} users in all; the first {MAX_USERS} are listed")
    return RecentUse(tuple(users[:MAX_USERS]), tuple(reasons))


def with_recent_use(consequence: Consequence, use: RecentUse) -> Consequence:
    """Return ``consequence`` with the users of the topic, unless it is only a note."""
    if consequence.severity is Severity.NOTE:
        return consequence
    because = dict.fromkeys((*consequence.because, *use.reasons))
    return consequence.model_copy(update={"users": list(use.users), "because": list(because)})


def _user(use: Use, topic: TopicUse, since: int) -> RecentUser | None:
    """Return ``use`` if it may have been after ``since`` (ms); None if not."""
    if use.active:
        after, until = topic.observed_at, topic.observed_at
    elif use.last is not None:
        after, until = use.last.after, use.last.until
    elif use.first_seen > since:
        # Committed offsets, or a producer that brokers remember: the last use was before the first observation of it.
        return RecentUser(action=use.action, kind=use.kind, name=use.name, after=None, until=use.first_seen)
    else:
        return None
    if until < since:
        return None
    return RecentUser(action=use.action, kind=use.kind, name=use.name, after=after, until=until, active=use.active)


def _observations(previous: TopicUse | None, since: int) -> str:
    if previous is None:
        return "no audit or usage report has observed this topic: only users that brokers remember are known"
    first = f", first at {minute(previous.observed_since)} UTC" if previous.observed_since > since else ""
    return f"last observed by an audit or usage report at {minute(previous.observed_at)} UTC{first}"


def _unknown(now: TopicUse, users: list[RecentUser], since: int, window_ms: int) -> Iterable[str]:
    written = now.last_written
    unknown_writer = (
        written is not None and written.until >= since and not any(user.action is UseAction.WRITE for user in users)
    )
    if written is not None and unknown_writer:
        yield f"records were written {between(written.after, written.until)}, by producers that brokers do not remember"
    if not users and not unknown_writer:
        yield (
            f"no user in the last {DURATION.format(window_ms)} is known; consumers without a group and producers "
            "without idempotence leave no trace"
        )
