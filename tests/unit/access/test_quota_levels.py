"""Test which quota brokers enforce for a client, against the order of ``ClientQuotaManager``."""

from __future__ import annotations

import pytest

from topicwarden.kinds.quota.levels import QuotaClient, QuotaEntity, enforced, enforced_limit

KEY = "producer_byte_rate"
ORDER: tuple[QuotaEntity, ...] = (
    (("client-id", "c"), ("user", "u")),
    (("client-id", None), ("user", "u")),
    (("user", "u"),),
    (("client-id", "c"), ("user", None)),
    (("client-id", None), ("user", None)),
    (("user", None),),
    (("client-id", "c"),),
    (("client-id", None),),
)


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_the_first_level_with_the_key_applies(first: int) -> None:
    quotas = {entity: {KEY: float(number)} for number, entity in enumerate(ORDER) if number >= first}
    quotas |= {entity: {"request_percentage": 1.0} for entity in ORDER[:first]}
    found = enforced(quotas, QuotaClient("u", "c"), KEY)
    assert (found.limit, found.entity) == (float(first), ORDER[first])


@pytest.mark.parametrize(("number", "entity"), list(enumerate(ORDER)))
def test_an_entity_without_its_own_quota_has_that_of_the_next_level(number: int, entity: QuotaEntity) -> None:
    last = ORDER[-1]
    assert enforced_limit({last: {KEY: 9.0}}, entity, KEY).entity == last
    assert enforced_limit({entity: {KEY: 5.0}, last: {KEY: 9.0}}, entity, KEY).entity == entity
    assert enforced_limit({ORDER[0]: {KEY: 5.0}}, entity, KEY).limit == (5.0 if number == 0 else None)


def test_an_address_has_its_own_limit_or_the_default() -> None:
    key, own, default = "connection_creation_rate", (("ip", "10.0.0.7"),), (("ip", None),)
    assert enforced({default: {key: 3.0}}, QuotaClient(ip="10.0.0.7"), key, ip=True).entity == default
    assert enforced({own: {key: 1.0}, default: {key: 3.0}}, QuotaClient(ip="10.0.0.7"), key, ip=True).entity == own
