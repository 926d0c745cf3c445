"""The quotas of the cluster are the declared ones.

**fail**: a declared quota has another value on the cluster, or is not set there; an entity with declared quotas has
another quota, too; or a quota that the stack does not declare is of a user in its scope, and the scope names principals
(``topicwarden:scope``). **undecidable**: the quotas are not visible (DescribeConfigs on the Cluster resource). A note
counts the other quotas that are not declared.

Example: ``producer_byte_rate`` of a user is declared as 1MiB, and was set to 10240 with ``kafka-configs`` by hand.

Confirm: ``kafka-configs --describe --entity-type users --entity-type clients`` prints the quotas.

Remedy: `topicwarden up --refresh` writes the declared value; or declare the live value.

Prevent: grant AlterConfigs on the Cluster resource to nobody but the user of deploys.

Source: ``DescribeClientQuotasRequest``, KIP-546, KIP-612, KIP-599.
"""

from collections.abc import Iterable

from topicwarden.audit.access_check import AccessResult, AuditedAccess, hidden
from topicwarden.model.access import quota_clients
from topicwarden.model.message_text import counted
from topicwarden.model.verdict import Verdict


def applies(access: AuditedAccess) -> bool:
    return bool(access.declared.quotas)


def judge(access: AuditedAccess) -> Iterable[AccessResult]:
    live = access.live.quotas
    if live is None:
        yield hidden(access, "quotas", "the quotas")
        return
    for entity, (declared, location) in access.declared.quotas.items():
        found = live.get(entity, {})
        for key in sorted(declared.keys() | found.keys()):
            expected, seen = declared.get(key), found.get(key)
            if expected != seen:
                yield AccessResult(
                    Verdict.FAIL,
                    f"{key} of {quota_clients(entity)} is {_value(seen)}, declared {_value(expected)}",
                    location=location,
                    remedy="run `topicwarden up --refresh`, or declare the live value",
                )
    others = [entity for entity in live if entity not in access.declared.quotas]
    for entity in others:
        user = dict(entity).get("user")
        if user is not None and access.owns_user(user):
            yield AccessResult(
                Verdict.FAIL,
                f"the quota of {quota_clients(entity)} is in the scope of the stack, but not declared",
                remedy="declare it, or remove it",
            )
    if others and not access.scope.principals:
        number = f"{counted(len(others), 'quota')} {'is' if len(others) == 1 else 'are'}"
        yield AccessResult(Verdict.PASS, f"{number} on the cluster, but not declared")


def _value(value: float | None) -> str:
    return "not set" if value is None else f"{value:,.10g}"
