"""The declared access of a topic is used.

The check applies with ``unused_access_after`` in the policy ``usage``. It judges declared ACLs that allow Read or Write
on this topic alone, from the time on at which observations have seen them declared and deployed without a change for
that long.

**fail**: the authorizer logs of all brokers over that time are complete, and have no operation that the ACL allows:
each broker has a folder of logs with its id, all lines are readable, grants are logged (DEBUG), the logs begin early
enough and end at most a day ago, no two lines of a broker are an hour or more apart, and brokers had no more addresses
than there are folders, so that no broker was removed in this time. An operation that another ACL
allows as well counts as a use of both. **suspect**: without complete logs, if observations of that time saw no write to
the topic at all, or never the group or the transactional id that the declaration names. A principal may still read from
time to time, or without the group. Without such a reason, the check reports nothing: brokers do not tell who uses an
ACL.

Example: ``1 of 3 declared ACLs of the topic is not used``; ``User:billing`` reads another topic since May.

Confirm: ``grep 'Topic:LITERAL:T ' kafka-authorizer.log*`` on each broker prints who uses the topic.

Remedy: ask the owner of the principal, then remove the declaration. The next deploy revokes the ACL.

Prevent: review declared access when a service ends, not only when one begins.

Source: ``StandardAuthorizerData.buildAuditMessage``, ``AclAuthorizer.logAuditMessage``.
"""

import re
from collections.abc import Collection, Iterable, Iterator

from topicwarden.audit.check import CheckResult
from topicwarden.audit.evidence import ObservedUse
from topicwarden.kafka_facts.access.operations import covers
from topicwarden.model.access import ANY_PRINCIPAL, WILDCARD, Acl, Operation, PatternType, Resource, ResourceType
from topicwarden.model.message_text import first_lines
from topicwarden.model.timestamps import utc
from topicwarden.model.units import DURATION, duration_text
from topicwarden.model.usage import DAY_MS, NAMED_BY, AuthorizerLogs, LogCoverage, LoggedUse, TopicUse, Use
from topicwarden.model.verdict import Verdict
from topicwarden.usage.use_context import UseContext

_GAP_MS = 3_600_000
_SHOWN = 3


class Required(ObservedUse): ...


def applies(subject: Required) -> bool:
    period, since = _period(subject), subject.use.access_unchanged_since
    seen_for_long = period is not None and since is not None and subject.use.observed_at - since >= period
    return seen_for_long and bool(_judged(subject))


def judge(subject: Required) -> Iterable[CheckResult]:
    use, context, period, acls = subject.use, subject.use_context, _period(subject), _judged(subject)
    since = use.access_unchanged_since
    if period is None or since is None:
        return
    logs = context.logs
    incomplete = incomplete_logs(logs, subject.snapshot.racks, use.observed_at, period) if logs else "there are none"
    if logs and not incomplete:
        until = min(each.last for each in logs.coverage.values())
        if since <= until - period:
            logged = context.logged.get(Resource(ResourceType.TOPIC, subject.live.topic.name), ())
            unused = [acl for acl in acls if not any(_uses(acl, each, until - period) for each in logged)]
            reason = f"the logs of all brokers from {utc(until - period)} to {utc(until)} have no such operation"
            if unused:
                yield _result(subject, Verdict.FAIL, dict.fromkeys(unused, reason))
            return
        incomplete = f"the access has been declared as it is now since {utc(since)} only"
    reasons = {acl: reason for acl in acls if (reason := _not_observed(context, use, acl, use.observed_at - period))}
    if reasons:
        why = f"this is no proof: complete authorizer logs of {DURATION.text(period)} would be, and {incomplete}"
        yield _result(subject, Verdict.SUSPECT, reasons, why)


def incomplete_logs(logs: AuthorizerLogs, brokers: Collection[int], now: int, period: int) -> str:
    """Return why the logs may lack decisions of some broker in the last ``period`` ms; empty if they do not."""
    names = [_broker_id(name) for name in logs.coverage]
    lacking = [number for number in sorted(brokers) if names.count(number) != 1]
    if lacking:
        return f"not exactly one folder of them has the id of broker {lacking[0]}"
    if logs.left_out:
        return f"{logs.left_out:,} kinds of decisions in them are left out"
    hosts = logs.broker_hosts
    if len(hosts) > len(logs.coverage):
        return f"brokers had {len(hosts):,} addresses, so another broker may have been removed in this time"
    until = min((each.last for each in logs.coverage.values()), default=0)
    reasons = (_incomplete_log(name, each, until - period, now) for name, each in sorted(logs.coverage.items()))
    return next(filter(None, reasons), "")


def _incomplete_log(name: str, coverage: LogCoverage, start: int, now: int) -> str:
    problems = {
        "have no grants: set the logger kafka.authorizer.logger to DEBUG": not coverage.has_grants,
        "are not readable to the last line": coverage.unreadable or not coverage.whole,
        f"have a gap of {duration_text(coverage.largest_gap_ms)}": coverage.largest_gap_ms >= _GAP_MS,
        f"begin at {utc(coverage.first)}": coverage.first > start,
        f"end at {utc(coverage.last)}": coverage.last < now - DAY_MS,
    }
    return next((f"those of {name} {problem}" for problem, applies in problems.items() if applies), "")


def _broker_id(name: str) -> int | None:
    """Return the id of a broker in the name of its folder: ``1``, ``broker-1``, ``kafka01``; None without any."""
    match = re.search(r"(?<![0-9])0*([0-9]{1,9})$", name, re.ASCII)
    return int(match[1]) if match else None


def _uses(acl: Acl, logged: LoggedUse, since: int) -> bool:
    return (
        logged.allowed
        and logged.last >= since
        and acl.principal in (ANY_PRINCIPAL, logged.principal)
        and (acl.host in (WILDCARD, logged.host) or "/" in acl.host)
        and covers(acl.operation, acl.permission, logged.operation)
    )


def _not_observed(context: UseContext, use: TopicUse, acl: Acl, since: int) -> str:
    """Return why observations since ``since`` suggest that nobody uses the ACL; empty if they do not."""
    written = use.last_written is not None and use.last_written.until > since
    if not written and not any(_recent(user, since) for user in use.users):
        return f"no observation since {utc(since)} saw a write to the topic"
    if use.complete_since is None or use.complete_since > since:
        return ""
    for source in context.declared.acls.get(acl, ()):
        named = [each for each in context.acls_by_source[source] if each.resource_type in NAMED_BY.values()]
        if not named or not all(_is_for(each, acl.operation) for each in named):
            return ""
        if any(_recent(user, since) and any(_names(each, user) for each in named) for user in use.users):
            return ""
    names = sorted({str(each.resource_name) for each in _named(context, acl)})
    return f"no observation since {utc(since)} saw {' or '.join(names[:_SHOWN])} use the topic" if names else ""


def _named(context: UseContext, acl: Acl) -> Iterator[Acl]:
    for source in context.declared.acls.get(acl, ()):
        yield from (each for each in context.acls_by_source[source] if each.resource_type in NAMED_BY.values())


def _is_for(named: Acl, operation: Operation) -> bool:
    kind = ResourceType.GROUP if operation is Operation.READ else ResourceType.TRANSACTIONAL_ID
    return named.resource_type is kind


def _recent(user: Use, since: int) -> bool:
    return user.active or (user.last is not None and user.last.until > since)


def _names(acl: Acl, user: Use) -> bool:
    if NAMED_BY.get(user.kind) is not acl.resource_type:
        return False
    if acl.pattern_type is PatternType.PREFIXED:
        return user.name.startswith(acl.resource_name)
    return acl.resource_name in (WILDCARD, user.name)


def _judged(subject: Required) -> tuple[Acl, ...]:
    acls = subject.use_context.literal(subject.live.topic.name)
    return tuple(acl for acl in acls if acl.operation in (Operation.READ, Operation.WRITE))


def _period(subject: Required) -> int | None:
    return subject.use_context.policy.unused_access_after if subject.use_context.policy else None


def _result(subject: Required, verdict: Verdict, reasons: dict[Acl, str], why: str = "") -> CheckResult:
    total, unused = len(_judged(subject)), list(reasons)
    sources = subject.use_context.declared.acls
    lines = [
        f"{acl}{_location(sources[acl][0].location) if sources.get(acl) else ''}: {reasons[acl]}" for acl in unused
    ]
    principals = sorted({acl.principal for acl in unused})
    verb = "is not used" if len(unused) == 1 else "are not used"
    of = f"{len(unused):,} of {total:,} declared ACLs of the topic" if total > 1 else "the declared ACL of the topic"
    return CheckResult(
        verdict,
        f"{of} {verb if verdict is Verdict.FAIL else verb.replace('not used', 'perhaps not used')}: "
        f"{', '.join(principals[:_SHOWN])}{', …' if len(principals) > _SHOWN else ''}",
        path=("access",),
        because=(*first_lines(lines, _SHOWN, "ACL"), *([why] if why else [])),
        remedy="ask the owners of the principals, then remove the declarations; the next deploy revokes the ACLs",
        evidence={"unused_acls": len(unused), "acls": total, "principals": ", ".join(principals)},
    )


def _location(location: object) -> str:
    return f" ({location})"
