"""``clients-throttled``: a quota gets lower than the rate that its clients have now.

Kafka's Admin API does not report the rate of a client. If nothing else reports it, the consequence is a note that says
so, with the metric that has the rate.
"""

from __future__ import annotations

from collections.abc import Iterable

from topicwarden.model.access import QuotaEntity, quota_clients
from topicwarden.model.planned_change import Action, Consequence, Severity
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.access_context import AccessContext

KIND = "clients-throttled"
_METRICS = {
    "producer_byte_rate": "byte-rate of kafka.server:type=Produce",
    "consumer_byte_rate": "byte-rate of kafka.server:type=Fetch",
    "request_percentage": "request-time of kafka.server:type=Request",
    "controller_mutation_rate": "tokens of kafka.server:type=ControllerMutation",
    "connection_creation_rate": "connection-creation-rate of kafka.server:type=socket-server-metrics",
}


def evaluate(context: AccessContext) -> Iterable[Consequence]:
    """Return each quota that gets lower, or limits clients that had no limit."""
    for entity, action in sorted(context.change.quotas.items(), key=str):
        if action not in (Action.CREATE, Action.UPDATE):
            continue
        before = (context.change.live.quotas or {}).get(entity, {})
        for key, limit in sorted(context.change.declared.quotas[entity][0].items()):
            if key not in before or limit < before[key]:
                yield _consequence(context, entity, key, before.get(key), limit)


def _consequence(
    context: AccessContext, entity: QuotaEntity, key: str, before: float | None, limit: float
) -> Consequence:
    rate = context.evidence.rates.get((entity, key))
    location = context.change.declared.quotas[entity][1]
    change = f"{key} of {quota_clients(entity)} goes from {_number(before)} to {_number(limit)}"
    evidence: dict[str, int | float | str | None] = {"before": before, "after": limit, "rate": rate}
    if rate is not None and rate <= limit:
        return Consequence(
            kind=KIND,
            severity=Severity.NOTE,
            message=f"{change}; its clients have {_number(rate)} now",
            evidence=evidence,
            location=location,
        )
    if rate is not None:
        return Consequence(
            kind=KIND,
            severity=context.severity(AllowedChange.THROTTLE_CLIENTS, [entity]),
            message=f"{change}, and its clients have {_number(rate)} now: brokers delay them",
            remedy=context.remedy(AllowedChange.THROTTLE_CLIENTS, "set a higher quota", [entity]),
            evidence=evidence,
            location=location,
        )
    metric = _METRICS.get(key, "a metric of the brokers")
    return Consequence(
        kind=KIND,
        severity=Severity.NOTE,
        message=f"{change}: brokers delay clients above it; their present rate cannot be known",
        because=["Kafka's Admin API does not report the rate of a client"],
        measured=f"not measured; the brokers' metric is {metric}",
        evidence=evidence,
        location=location,
    )


def _number(value: float | None) -> str:
    return "no limit" if value is None else f"{value:,.10g}"
