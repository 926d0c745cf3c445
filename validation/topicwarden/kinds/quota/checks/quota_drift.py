"""The quotas of the cluster are the declared ones.

**fail**: a declared quota has another value on the cluster, or is not set there; an entity with declared quotas has
another quota, too; or a quota that the stack does not declare is of a user in its scope, and the scope names principals
(``topicwarden:scope``). **undecidable**: the quotas are not visible (DescribeConfigs on the Cluster resource). A note
counts the other quotas that are not declared.

Example: ``producer_byte_rate`` of a user is declared as 1MiB, and was set to 10240 with ``kafka-configs`` by hand.

Confirm: ``kafka-configs --describe --entity-type users --entity-type clients`` prints the quotas.

Remedy: `topicwarden up --refresh` writes the declared value; or declare the live value. A rate that nobody declared
stays: declare it, or remove it with ``kafka-configs --alter --delete-config``.

Prevent: grant AlterConfigs on the Cluster resource to nobody but the user of deploys.

Source: ``DescribeClientQuotasRequest``, KIP-546, KIP-612, KIP-599.
"""

from collections.abc import Iterator, Mapping

from topicwarden.audit.access_check import AccessResult, AuditedAccess, DriftCheck, by_name
from topicwarden.kinds.quota.change import PART
from topicwarden.kinds.quota.levels import QuotaEntity, Quotas, quota_clients
from topicwarden.model.message_text import counted
from topicwarden.model.verdict import Verdict


def _others(access: AuditedAccess, live: Quotas) -> Iterator[AccessResult]:
    others = len(live.keys() - access.declared.part(PART.name).keys())
    if others and not access.scope.principals:
        number = f"{counted(others, 'quota')} {'is' if others == 1 else 'are'}"
        yield AccessResult(Verdict.PASS, f"{number} on the cluster, but not declared")


_CHECK = DriftCheck[QuotaEntity, Mapping[str, float]](
    PART, by_name(quota_clients), lambda entity: dict(entity).get("user"), _others
)
applies, judge = _CHECK.applies, _CHECK.judge
