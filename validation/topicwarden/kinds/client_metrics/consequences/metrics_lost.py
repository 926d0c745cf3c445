"""``metrics-lost``: clients no longer push metrics that they push now, so dashboards and alerts of these end.

A client pushes what all matching subscriptions name together (KIP-714), so another one may still ask for them. Clients
take a change with their next request for subscriptions, after at most one interval.
"""

from __future__ import annotations

from collections.abc import Iterable

from topicwarden.kinds.client_metrics.change import CLIENT_METRICS, items_of, matchers
from topicwarden.kinds.difference import settings_after
from topicwarden.model.planned_change import Action, Consequence, Severity
from topicwarden.plan.access_context import AccessContext
from topicwarden.plan.change_guard import ChangeGuard

KIND = "metrics-lost"
GUARDS: tuple[ChangeGuard, ...] = (
    ChangeGuard(
        "clients push fewer metrics, or fewer clients push them",
        (),
        "a note: dashboards and alerts of these metrics end",
    ),
)


def evaluate(context: AccessContext) -> Iterable[Consequence]:
    """Return one note for each subscription that loses prefixes of metrics, or that matches other clients."""
    change = context.change
    for key, action in sorted(change.of(CLIENT_METRICS).items()):
        before = (change.live.part(CLIENT_METRICS) or {}).get(key, {})
        after = settings_after(change, CLIENT_METRICS, key)
        if action not in (Action.UPDATE, Action.DELETE) or not before.get("metrics"):
            continue
        prefixes = items_of(after.get("metrics"))
        lost = [each for each in sorted({*items_of(before["metrics"])}) if not _covered(each, prefixes)]
        if lost:
            what = f"no longer asks for {', '.join(lost)}"
        elif matchers(after.get("match")).items() - matchers(before.get("match")).items():
            what = f"asks only clients that match {after['match']}"
        else:
            continue
        yield Consequence(
            kind=KIND,
            severity=Severity.NOTE,
            message=f"the client metrics {key}: the subscription {what}",
            because=["clients push what other subscriptions that match them ask for"],
            measured="the subscriptions of the cluster",
            location=change.declared.location(CLIENT_METRICS, key),
        )


def _covered(prefix: str, prefixes: Iterable[str]) -> bool:
    """Return whether ``prefixes`` ask for all metrics that ``prefix`` asks for."""
    return any(each == "*" or prefix.startswith(each) for each in prefixes)
