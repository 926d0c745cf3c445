"""Test what a deletion of a subject does if a registry also counts deleted subjects that refer to it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from topicwarden.kafka.registry.registry_error import REFERENCED, RegistryError
from topicwarden.kinds.announced_writes import Intent
from topicwarden.kinds.subject import resource
from topicwarden.kinds.subject.resource import Subjects
from topicwarden.model.problem import Refusal
from topicwarden.specs.stacks.registry_settings import RegistrySettings

REFERRERS = {"money": ["price"], "price": ["order"], "order": []}


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the subjects of a registry like Apicurio: a subject to which another one ever referred is not deleted."""
    live = set(REFERRERS)

    def delete(client: Any, name: str) -> None:
        if REFERRERS[name]:
            raise RegistryError(422, REFERENCED, "one or more references exist")
        live.remove(name)

    monkeypatch.setattr(resource, "soft_delete", delete)
    monkeypatch.setattr(
        resource, "read_subject", lambda client, name: SimpleNamespace(latest=SimpleNamespace(version=1))
    )
    monkeypatch.setattr(resource, "referrers", lambda client, name: tuple(sorted(set(REFERRERS[name]) & live)))
    return live


def delete(names: list[str], *, allowed: bool = True) -> list[str]:
    """Delete subjects one after the other, which announces each of them; return the warnings."""
    warnings, announced = list[str](), list[str]()

    def announce(intent: Intent, names: Iterable[str]) -> None:
        assert intent is Intent.DELETE
        announced.extend(names)

    subjects = Subjects(lambda: RegistrySettings("http://registry:8081"), warnings.append, announce)

    async def run() -> None:
        for name in names:
            await subjects.delete(name, {"allow": [{"change": "delete-subject"}] if allowed else []})
            assert announced[-1] == name

    asyncio.run(run())
    return warnings


def test_a_subject_that_stays_in_the_registry_is_announced_so_that_no_deploy_names_it_later(live: set[str]) -> None:
    (warning,) = delete(["order"], allowed=False)
    assert "did not allow its deletion" in warning
    assert live == {*REFERRERS}


def test_subjects_that_refer_to_each_other_are_removed_together(live: set[str]) -> None:
    warnings = delete(["order", "price", "money"])
    assert [line.partition(" and only leaves Pulumi's state: ")[2] for line in warnings] == [
        "deleted subjects, which this registry still counts, refer to it",
        "price, which this registry keeps for the same reason, refer to it",
    ]
    assert live == {"price", "money"}


def test_a_subject_to_which_another_one_refers_is_refused(live: set[str]) -> None:
    with pytest.raises(Refusal, match="price refer to it"):
        delete(["money"])
