"""Test which subjects count as the remains of a killed deploy."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from datetime import date
from types import SimpleNamespace

import pytest

from topicwarden.kinds.announced_writes import Intent
from topicwarden.kinds.subject import before
from topicwarden.kinds.subject.before import SchemaCheckers, SubjectsBefore, subjects_before
from topicwarden.model.problem import Location
from topicwarden.model.subject import (
    NO_SUBJECTS,
    DeclaredSubject,
    DeclaredSubjects,
    DeployedSubject,
    LiveRegistry,
    LiveSubject,
    RegisteredSchema,
    SubjectVersion,
)
from topicwarden.specs.stacks.registry_settings import RegistrySettings

SCHEMA = RegisteredSchema("avro", '{"type": "string"}')
DECLARED = DeclaredSubjects({"s": DeclaredSubject("s", SCHEMA, "s.avsc", Location("topics/s.yaml", 1, 1))})
DEPLOYED = {"s": DeployedSubject("s", SCHEMA)}
REGISTRY = RegistrySettings("http://registry:8081")
INTENTS = {"s": Intent.CREATE, "deleted": Intent.DELETE}


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the subjects that the registry has; it knows no others."""
    live: set[str] = set()

    def read(client: object, names: Iterable[str]) -> LiveRegistry:
        version = SubjectVersion(1, 7, SCHEMA)
        return LiveRegistry({name: LiveSubject(name, version if name in live else None) for name in names})

    monkeypatch.setattr(before, "RegistryClient", lambda settings: nullcontext(SimpleNamespace(connections=1)))
    monkeypatch.setattr(before, "read_registry", read)
    return live


def found(
    declared: DeclaredSubjects = NO_SUBJECTS,
    deployed: dict[str, DeployedSubject] | None = None,
    settings: RegistrySettings | None = REGISTRY,
) -> SubjectsBefore:
    checkers = SchemaCheckers(lambda: [])
    return subjects_before(settings, declared, deployed or {}, date(2027, 1, 1), checkers=checkers, intents=INTENTS)


def test_a_subject_that_nobody_declares_any_more_is_named(live: set[str]) -> None:
    live.add("s")
    (problem,) = found().unfinished.orphans
    assert problem.message.startswith("subject s: a deploy that was killed created this")


def test_a_subject_that_was_never_written_or_is_in_the_state_is_not_named(live: set[str]) -> None:
    assert (found().unfinished.intents, found().unfinished.orphans) == ({}, ())
    live.add("s")
    assert found(deployed=DEPLOYED).unfinished.intents == {}


def test_a_subject_that_is_declared_again_is_adopted_and_stays_announced(live: set[str]) -> None:
    live.add("s")
    again = found(DECLARED)
    assert (again.unfinished.intents, again.unfinished.orphans) == ({"s": Intent.CREATE}, ())
    assert again.created == []


def test_a_new_subject_is_announced_before_it_is_registered(live: set[str]) -> None:
    assert found(DECLARED).created == ["s"]


def test_a_subject_that_no_registry_shows_may_exist() -> None:
    (problem,) = found(settings=None).unfinished.orphans
    assert "subject s" in problem.message
