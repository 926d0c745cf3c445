"""``clients-throttled``: brokers enforce a lower rate for clients than before the deploy.

A quota has levels (KIP-55): without its own, a client has that of the next level. So creating a quota may raise a
limit, and removing one may lower it. Kafka's Admin API does not report the rate of a client. The growth of its topics
in the history of audits makes one likely; a mean, which hides peaks. Without both, the consequence is a note that says
so, with the metric that has the rate.
"""

from __future__ import annotations

from collections.abc import Iterable

from topicwarden.kinds.quota.change import QUOTAS, quotas_before_and_after
from topicwarden.kinds.quota.client_rates import LikelyRate, likely_rates
from topicwarden.kinds.quota.levels import EnforcedChange, QuotaEntity, changed_keys, enforced_change, quota_clients
from topicwarden.model.message_text import counted
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.access_context import AccessContext
from topicwarden.plan.change_guard import ChangeGuard
from topicwarden.plan.consequence_text import shorten

KIND = "clients-throttled"
EVIDENCE = likely_rates
GUARDS: tuple[ChangeGuard, ...] = (
    ChangeGuard(
        "brokers enforce a lower quota for clients, also by the next level of a quota that is created or removed",
        (AllowedChange.THROTTLE_CLIENTS,),
        "refused if their rate is known and higher; a danger if the growth of their topics in the history makes that "
        "likely; else a note, because Kafka's Admin API does not report rates",
    ),
)
_METRICS = {
    "producer_byte_rate": "byte-rate of kafka.server:type=Produce",
    "consumer_byte_rate": "byte-rate of kafka.server:type=Fetch",
    "request_percentage": "request-time of kafka.server:type=Request",
    "controller_mutation_rate": "tokens of kafka.server:type=ControllerMutation",
    "connection_creation_rate": "connection-creation-rate of kafka.server:type=socket-server-metrics",
}


def evaluate(context: AccessContext) -> Iterable[Consequence]:
    """Return each quota by whose change clients get a lower limit than brokers enforce now."""
    change = context.change
    before, after = change.once(quotas_before_and_after)
    for entity, key in changed_keys(before, after, change.of(QUOTAS)):
        if (enforced := enforced_change(before, after, entity, key)) is not None:
            yield _consequence(context, entity, key, enforced)


def _consequence(context: AccessContext, entity: QuotaEntity, key: str, enforced: EnforcedChange) -> Consequence:
    before, after, limit = enforced.before.limit, enforced.after.limit, enforced.after.limit or 0.0
    rate = context.evidence.rates.get((entity, key))
    likely: LikelyRate | None = context.evidence.of_rules.get(KIND, {}).get((entity, key))
    location = context.change.declared.location(QUOTAS, entity)
    change = (
        f"{key} of {quota_clients(entity)} goes from {enforced.before.text(entity)} to {enforced.after.text(entity)}"
    )
    known = rate if rate is not None else likely.per_broker if likely else None
    evidence: dict[str, int | float | str | None] = {"before": before, "after": after, "rate": known}
    if rate is not None and rate <= limit:
        return Consequence(
            kind=KIND,
            severity=Severity.NOTE,
            message=f"{change}; its clients have {rate:,.10g} now",
            evidence=evidence,
            location=location,
        )
    if rate is not None:
        return Consequence(
            kind=KIND,
            severity=context.severity(AllowedChange.THROTTLE_CLIENTS, [entity]),
            message=f"{change}, and its clients have {rate:,.10g} now: brokers delay them",
            remedy=context.remedy(AllowedChange.THROTTLE_CLIENTS, "set a higher quota", [entity]),
            evidence=evidence,
            location=location,
        )
    if likely is not None and likely.per_broker > limit:
        return Consequence(
            kind=KIND,
            severity=Severity.DANGER,
            message=f"{change}, and its clients likely have {likely.per_broker:,.0f} on each broker: "
            "brokers delay them",
            because=[
                f"{shorten(likely.topics)}, which they use, grew by that much on each of "
                f"{counted(likely.brokers, 'broker')}, as a mean of the last audits and usage reports"
            ],
            measured="log ends in the history, times the mean size of a record",
            evidence=evidence,
            location=location,
        )
    metric = _METRICS.get(key, "a metric of the brokers")
    return Consequence(
        kind=KIND,
        severity=Severity.NOTE,
        message=f"{change}: brokers delay clients above it; their present rate cannot be known"
        if likely is None
        else f"{change}: brokers delay clients above it; they likely have {likely.per_broker:,.0f} on each broker",
        because=["Kafka's Admin API does not report the rate of a client"],
        measured=f"not measured; the brokers' metric is {metric}",
        evidence=evidence,
        location=location,
    )
