"""Test which subjects a new schema is compared with."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.subject_changes import change
from topicwarden.kinds.subject import before
from topicwarden.kinds.subject.before import SchemaCheckers, _RegistryReader
from topicwarden.kinds.subject.evidence import RegistryVerdict
from topicwarden.model.subject import RegisteredSchema


def _no_checkers() -> list[str]:
    raise AssertionError("no checker is needed")


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the subjects that the registry, which refuses each schema, is asked about."""
    names: list[str] = []

    def refusal(client: Any, subject: str, schema: RegisteredSchema, level: Any) -> tuple[str, ...]:
        names.append(subject)
        return ("/fields/0: no default",)

    monkeypatch.setattr(before, "refusal", refusal)
    return names


def verdict(name: str, deployed: list[str], live: list[str]) -> RegistryVerdict:
    reader = _RegistryReader(SimpleNamespace(connections=1), SchemaCheckers(_no_checkers))  # type: ignore[arg-type]
    return reader.evidence(change(name, deployed, live)).verdicts[name]


@pytest.mark.parametrize(
    ("name", "deployed", "live", "with_"),
    [
        ("orders-value", ["orders-value"], ["orders-value"], "orders-value"),
        ("renamed", ["old"], ["old"], "old"),
        ("R", [], ["orders-value"], "orders-value"),
        ("orders-value", [], ["orders-R"], "orders-R"),
    ],
)
def test_a_renamed_subject_is_compared_with_the_one_that_readers_use(
    compared: list[str], name: str, deployed: list[str], live: list[str], with_: str
) -> None:
    found = verdict(name, deployed, live)
    assert (compared, found.reasons) == ([with_], ("/fields/0: no default",))
    assert found.subject is not None and found.subject.name == with_


def test_the_first_subject_of_a_topic_is_compared_with_none(compared: list[str]) -> None:
    assert verdict("orders-value", [], []) == RegistryVerdict()
    assert not compared
