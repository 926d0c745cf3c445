"""Every producer that writes to a topic with declared access is declared.

The check applies if the stack declares an ACL that allows to read or write the topic, and not all topics. A declaration
explains a transactional id if a principal that it allows to write the topic may also write the transactional id, as
``undeclared-consumer`` says for groups. Of a producer with idempotence, brokers know a number only: each principal that
is declared to write the topic explains it. Brokers know nothing of producers without idempotence.

**fail**: no declaration explains the user, and it wrote after the access was declared as it is now:

- a producer's position in the log moved between two observations with the same access; a transaction marker, which
  coordinators write, is no such move;
- a transactional id has an open transaction with the topic, and was not a user of it at an earlier observation with
  the same access, or the access was the same for longer than ``transaction.max.timeout.ms``;
- with authorizer logs that escape line breaks (JSON): a principal that no declaration allows to write was allowed to,
  and is no super user.

Each of these needs Write on the topic, so it is proof without a clock or a timestamp of a client. Only the time of a
line in a log is the clock of a broker. **suspect**: an open transaction, or lines of a log, that may be older than the
access; a log with a clock that is ahead, or in which a client could write lines of its own, because line breaks in the
name of a group are not escaped; or declared ACLs of the topic are not deployed yet. **undecidable**: there may be
producers or transactional ids that this user may not see; or an ACL or setting that is not visible may explain the
user. A use is reported for 7 days after it was last seen. Names and principals out of the scope of the stack pass.

Example: ``transactional id mallory-1 writes the topic, and no declared access explains it``.

Confirm: ``kafka-transactions describe-producers --topic T --partition P`` prints the producer ids; ``kafka-transactions
list`` prints their transactional ids.

Remedy: declare the producer in the YAML of the topic, ``access: {produce: [{principal: User:orders, transactional_id:
X}]}``; or stop the client, and remove the ACL that allows it.

Prevent: grant access by declarations only; do not grant Write on a prefix that other teams use.

Source: KIP-664, KIP-890; ``ProducerAppendInfo.appendEndTxnMarker``; ``StandardAuthorizerData``, ``AclAuthorizer``.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.undeclared_use import (
    REPORTED_MS,
    access_is_declared,
    declaration_texts,
    grant_yaml,
    undeclared_uses,
)
from topicwarden.audit.evidence import EveryProducer
from topicwarden.model.access import Operation, Resource, ResourceType
from topicwarden.model.message_text import counted, first_of
from topicwarden.model.timestamps import utc
from topicwarden.model.usage import LoggedUse, Use, UseAction, UserKind
from topicwarden.model.verdict import Verdict
from topicwarden.usage.use_context import Explanation, UseContext

_AHEAD_MS: Final = 300_000
_SHOWN: Final = 3


class Required(EveryProducer): ...


def applies(subject: Required) -> bool:
    return access_is_declared(subject)


def judge(subject: Required) -> Iterable[CheckResult]:
    yield from undeclared_uses(subject, (UserKind.TRANSACTIONAL_ID, UserKind.PRODUCER_ID))
    yield from _logged_producers(subject)


def _logged_producers(subject: Required) -> Iterator[CheckResult]:
    """Yield a result for each principal in the authorizer logs that wrote, and that no declaration allows to."""
    use, context = subject.use, subject.use_context
    since, now = use.access_unchanged_since, subject.snapshot.taken_at
    resource = Resource(ResourceType.TOPIC, subject.live.topic.name)
    found: dict[str, list[LoggedUse]] = defaultdict(list)
    for each in context.logged.get(resource, ()):
        recent = each.allowed and each.operation is Operation.WRITE and now - each.last <= REPORTED_MS
        if recent and context.explain_logged(each) is Explanation.NONE:
            found[each.principal].append(each)
    for _, uses in sorted(found.items()):
        last = max(each.last for each in uses)
        if since is not None and (last > since or since == use.observed_at):
            doubt = _doubt(context, resource.name, last, since, now)
            reason = doubt or f"the access has been declared as it is now since {utc(since)}"
            yield _result(context, resource.name, uses, Verdict.SUSPECT if doubt else Verdict.FAIL, reason)


def _doubt(context: UseContext, topic: str, last: int, since: int, now: int) -> str:
    """Return why a line of ``last`` is no proof of an undeclared use since ``since``; empty if it is."""
    if last <= since:
        return "the lines may be older than the access that is declared now: the next audit settles it"
    for name, coverage in sorted(context.logs.coverage.items()) if context.logs else ():
        if coverage.last > now + _AHEAD_MS:
            return f"the log of {name} has lines of the future: its clock or its time zone is wrong"
        if not coverage.escaped:
            return f"the log of {name} does not escape line breaks, so that a client could write such lines"
    if undeployed := context.undeployed(topic):
        return f"{counted(len(undeployed), 'declared ACL')} of the topic not deployed yet: {undeployed[0]}"
    return ""


def _result(context: UseContext, topic: str, uses: list[LoggedUse], verdict: Verdict, reason: str) -> CheckResult:
    principal, hosts = uses[0].principal, sorted({each.host for each in uses})
    lines, last = sum(each.count for each in uses), max(each.last for each in uses)
    rules = sorted({each.rule for each in uses if each.rule})
    grant = grant_yaml(Use(UseAction.WRITE, UserKind.PRINCIPAL, principal, 0), principal)
    acls = [
        each for each in context.allowing(topic, UseAction.WRITE, (principal,)) if each not in context.declared.acls
    ]
    revoke = f", and remove the ACL {acls[0]}" if acls else ""
    return CheckResult(
        verdict,
        f"principal {principal} from {first_of(hosts, _SHOWN)} was allowed to write, and no declared access "
        f"allows it: {counted(lines, 'line')} of the authorizer logs, the last one at {utc(last)}",
        path=("access",),
        because=(reason, *(f"allowed by {rule}" for rule in rules[:1]), *declaration_texts(context, topic)),
        remedy=f"if it is intended, declare it: {grant}; if not, stop the client{revoke}",
        evidence={
            "user": principal,
            "kind": UserKind.PRINCIPAL,
            "hosts": ", ".join(hosts),
            "lines": lines,
            "last": last,
        },
    )
