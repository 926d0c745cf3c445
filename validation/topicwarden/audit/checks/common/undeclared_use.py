"""Judge whether a user used a topic after its access was declared as it is now, and no declaration explains it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from topicwarden.audit.check import CheckResult
from topicwarden.audit.evidence import ObservedUse
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.access import Acl
from topicwarden.model.message_text import counted, first_lines, first_of
from topicwarden.model.timestamps import utc
from topicwarden.model.units import duration_text
from topicwarden.model.usage import DAY_MS, GroupUse, Interval, TopicUse, Use, UseAction, UserKind
from topicwarden.model.verdict import Verdict
from topicwarden.specs.write.topic_access import grant_text
from topicwarden.usage.principals import KEYS, grant_of
from topicwarden.usage.use_context import Explanation, UseContext

REPORTED_MS: Final = 7 * DAY_MS
"""An undeclared use is reported for this time after it was last seen, so that a job of every night stays in reports."""

_SESSIONS: Final = {
    "classic": ("group.max.session.timeout.ms", 1_800_000),
    "consumer": ("group.consumer.max.session.timeout.ms", 60_000),
    "share": ("group.share.max.session.timeout.ms", 60_000),
    "streams": ("group.streams.max.session.timeout.ms", 60_000),
}
"""By type of group, the setting that limits how long a silent member stays listed, and its default."""
_TRANSACTION: Final = ("transaction.max.timeout.ms", 900_000)
_ABORTS: Final = ("transaction.abort.timed.out.transaction.cleanup.interval.ms", 10_000)
_TWO_PHASE_COMMIT: Final = "transaction.two.phase.commit.enable"
_GRACE_MS: Final = 60_000
_SHOWN: Final = 3
_VERBS: Final = {
    UseAction.READ: ("reads", "has read", "has committed offsets of"),
    UseAction.WRITE: ("writes", "has written", "is remembered as a producer of"),
}
"""What a user does that is active, that was seen to use the topic, and whose traces only were seen."""


def undeclared_uses(subject: ObservedUse, kinds: Iterable[UserKind]) -> Iterator[CheckResult]:
    """Yield a result for each user of these kinds that no declaration explains."""
    use, context, topic = subject.use, subject.use_context, subject.live.topic.name
    undeployed = context.undeployed(topic)
    for user in use.users:
        if user.kind not in kinds:
            continue
        longest_ms = longest_sign_of_life(user, subject.snapshot)
        verdict, reason = judge_time(use, subject.previous_use, user, longest_ms, context.groups.get(user.name))
        if verdict is Verdict.PASS:
            continue
        explanation = context.explain(topic, user)
        if explanation is Explanation.UNKNOWN:
            yield _unknown(subject, user, reason)
        elif explanation is Explanation.NONE:
            if undeployed and verdict is Verdict.FAIL:
                verdict = Verdict.SUSPECT
                reason += f"; {counted(len(undeployed), 'declared ACL')} of the topic not deployed yet: {undeployed[0]}"
            yield _undeclared(subject, user, verdict, reason)


def judge_time(
    use: TopicUse, before: TopicUse | None, user: Use, longest_ms: int | None, group: GroupUse | None = None
) -> tuple[Verdict, str]:
    """Return how certain it is that ``user`` used the topic under the access that is declared now, and the reason.

    ``fail`` is certain, ``suspect`` possible. ``pass``: the user left traces that may all be older, or did not use the
    topic lately. ``before`` is the use without the last observation. ``longest_ms`` is the longest time for which a
    user that is gone looks active; None if unlimited. ``group`` is the user in all topics, if it is a group.
    """
    now = use.observed_at
    since = now if use.access_unchanged_since is None else use.access_unchanged_since
    moves = [move for move in user.moves if move.after >= since]
    if user.active:
        if moves:
            return Verdict.FAIL, f"{_moves(user)} {interval(moves[-1])}, under the access that is declared now"
        if _is_new(use, user, group, since):
            return (
                Verdict.FAIL,
                f"the observation at {utc(since)} saw the access as it is declared now, and no such user",
            )
        return _active(use, before, longest_ms)
    if moves and now - moves[-1].until <= REPORTED_MS:
        return _moved(user, moves, now)
    if now in (user.first_seen, since):
        return Verdict.SUSPECT, "it may all be older than the access that is declared now: the next audit settles it"
    return Verdict.PASS, ""


def _active(use: TopicUse, before: TopicUse | None, longest_ms: int | None) -> tuple[Verdict, str]:
    """Return the verdict for a user that is active now, and may have been so before the access was declared.

    Two observations must be late enough, and the time is that since the second one with the same access. So one clock
    that is wrong proves nothing.
    """
    again = use.access_seen_again
    if longest_ms is not None and again is not None and before is not None and before.observed_at - again >= longest_ms:
        reason = f"all observations since {utc(again)} saw the access as it is declared now"
        return Verdict.FAIL, f"{reason}; a user that is gone looks active for {duration_text(longest_ms)} at most"
    return Verdict.SUSPECT, "it may have started before the access was declared as it is now: the next audit settles it"


def _moved(user: Use, moves: list[Interval], now: int) -> tuple[Verdict, str]:
    """Return the verdict for a user that is not active. Groups without members: an administrator may reset offsets."""
    last = moves[-1]
    if user.kind is not UserKind.GROUP:
        return Verdict.FAIL, f"{_moves(user)} {interval(last)}, under the access that is declared now"
    if len(moves) > 1 and moves[-2].until <= last.after:
        return Verdict.FAIL, f"{_moves(user)} {interval(moves[-2])}, and again {interval(last)}"
    if last.until == now:
        reason = f"{_moves(user)} once, {interval(last)}, without a member"
        return Verdict.SUSPECT, f"{reason}: by a consumer that commits, or by an administrator who reset them"
    return Verdict.PASS, ""


def _is_new(use: TopicUse, user: Use, group: GroupUse | None, since: int) -> bool:
    """Return whether the observation at ``since`` saw everyone, and not this user.

    A group must be new to the cluster: during a rebalance, brokers do not tell which topics its members read.
    """
    if user.kind is UserKind.GROUP:
        seen_all, first_seen = use.groups_complete_since, group.observed_since if group else since
    else:
        seen_all, first_seen = use.producers_complete_since, user.first_seen
    return first_seen > since and seen_all is not None and seen_all <= since


def longest_sign_of_life(user: Use, snapshot: Snapshot) -> int | None:
    """Return the longest time (ms) for which a user that has ended looks active; None if there is no limit.

    Until its session ends, a member that crashed is listed. A transaction is listed until its coordinator aborts it.
    """

    def longest(setting: tuple[str, int]) -> int:
        name, default = setting
        values = [settings.get(name, "") for settings in snapshot.broker_configs.values()]
        return max((int(value) for value in values if value.isascii() and value.isdigit()), default=default)

    if user.kind is UserKind.GROUP:
        return longest(_SESSIONS.get(user.group_type, _SESSIONS["classic"])) + _GRACE_MS
    if any(settings.get(_TWO_PHASE_COMMIT) == "true" for settings in snapshot.broker_configs.values()):
        return None
    return longest(_TRANSACTION) + longest(_ABORTS) + _GRACE_MS


def interval(between: Interval) -> str:
    """Return the time of a use as text."""
    if between.after == between.until:
        return f"at {utc(between.until)}"
    return f"between {utc(between.after)} and {utc(between.until)}"


def user_text(user: Use) -> str:
    """Return the user with its kind, type, members and addresses: ``share group g (2 members from 10.0.0.7)``."""
    details = []
    if user.members:
        details.append(counted(user.members, "member"))
    if user.hosts:
        hosts = sorted(user.hosts)
        details.append(f"from {first_of(hosts, _SHOWN)}")
    kind = {
        UserKind.GROUP: f"{user.group_type} group".strip(),
        UserKind.TRANSACTIONAL_ID: "transactional id",
        UserKind.PRODUCER_ID: "the producer with id",
        UserKind.PRINCIPAL: "principal",
    }[user.kind]
    return f"{kind} {user.name}" + (f" ({' '.join(details)})" if details else "")


def declaration_texts(context: UseContext, topic: str) -> Iterator[str]:
    """Yield the declared access of the topic, with the line of YAML."""
    lines: dict[str, None] = {}
    for acl in context.declaring(topic):
        for source in context.declared.acls[acl]:
            lines[f"declared at {source.location}: {acl}"] = None
    yield from first_lines(list(lines), _SHOWN, "declared ACL")


def remedy_text(context: UseContext, topic: str, user: Use) -> str:
    """Return what to add to the YAML if the use is intended, and what to revoke if it is not."""
    principals, logged = context.candidates(topic, user)
    grants = [grant_yaml(user, each) for each in principals[:_SHOWN]] or [grant_yaml(user, "User:…")]
    unless = "" if logged or len(principals) == 1 else ", with the principal of the client"
    add = f"if it is intended, declare it{unless}: {' or '.join(grants)}"
    acls = [acl for acl in context.allowing(topic, user.action, principals) if acl not in context.declared.acls]
    return f"{add}; if not, stop the client{_revoke(acls)}"


def grant_yaml(user: Use, principal: str) -> str:
    """Return the YAML that declares the use by ``principal``."""
    entry = grant_text(grant_of(user.kind, user.name, principal), user.action is UseAction.READ)
    return f"`access: {{{KEYS[user.action]}: [{entry}]}}`"


def _revoke(acls: list[Acl]) -> str:
    if not acls:
        return ""
    return f", and remove the ACL {first_of(list(map(str, acls)), _SHOWN, separator='; ')}"


def _moves(user: Use) -> str:
    return "its committed offsets moved" if user.kind is UserKind.GROUP else "it wrote"


def _undeclared(subject: ObservedUse, user: Use, verdict: Verdict, reason: str) -> CheckResult:
    context, topic = subject.use_context, subject.live.topic.name
    now, before, ever = _VERBS[user.action]
    verb = now if user.active else before if user.last else ever
    principals, logged = context.candidates(topic, user)
    known = []
    if principals:
        text = ", ".join(principals[:_SHOWN]) + (" and more" if len(principals) > _SHOWN else "")
        known = [f"by the authorizer log, it is {text}" if logged else f"by the live ACLs, it may be {text}"]
    elif context.super_users:
        known = ["no ACL allows it: it may be a super user"]
    since = subject.use.access_unchanged_since
    return CheckResult(
        verdict,
        f"{user_text(user)} {verb} the topic, and no declared access explains it",
        path=("access",),
        because=(reason, *_offsets(subject, user), *known, *declaration_texts(context, topic)),
        remedy=remedy_text(context, topic, user),
        evidence={
            "user": user.name,
            "kind": user.kind,
            "type": user.group_type,
            "members": user.members,
            "hosts": ", ".join(sorted(user.hosts)),
            "first_seen": user.first_seen,
            "used_after": user.last.after if user.last else None,
            "used_until": user.last.until if user.last else None,
            "declared_since": since,
        },
    )


def _offsets(subject: ObservedUse, user: Use) -> Iterator[str]:
    groups = subject.consumer_groups.groups if subject.consumer_groups and user.kind is UserKind.GROUP else ()
    for group in groups:
        if group.name == user.name:
            offsets = sorted(group.offsets_by_topic.get(subject.live.topic.name, {}).items())
            if offsets:
                shown = ", ".join(f"{offset:,} in partition {number}" for number, offset in offsets[:_SHOWN])
                yield f"its committed offsets: {shown}{', …' if len(offsets) > _SHOWN else ''}"


def _unknown(subject: ObservedUse, user: Use, reason: str) -> CheckResult:
    context = subject.use_context
    if context.live is not None and context.live.acls is None:
        missing, remedy = "the ACLs are not visible", "grant Describe on the Cluster resource"
    elif context.scope.principals and context.unsecured:
        missing = "without an authorizer, principals out of the scope of the stack may use it"
        remedy = "name the stack's groups and transactional_ids in topicwarden:scope"
    else:
        missing = "brokers may allow everyone a resource without an ACL (allow.everyone.if.no.acl.found)"
        remedy = "grant DescribeConfigs on the Cluster resource; or give the resource an ACL"
    return CheckResult(
        Verdict.UNDECIDABLE,
        f"{user_text(user)} uses the topic, and it is not known whether declared access explains it: {missing}",
        path=("access",),
        because=(reason,) if reason else (),
        remedy=remedy,
        evidence={"user": user.name, "kind": user.kind},
    )


def access_is_declared(subject: ObservedUse) -> bool:
    """Return whether the stack declares who may use the topic. Kafka's own and other internal topics are not judged."""
    internal = subject.live.topic.internal or subject.internal is not None
    return not internal and bool(subject.use_context.declaring(subject.live.topic.name))
