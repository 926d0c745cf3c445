"""Test that the sources of an ACL that many topics declare are not compared with each other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from topicwarden.model.access import AccessSource, Grant, TopicAccess
from topicwarden.model.problem import Location
from topicwarden.model.topic import Topic
from topicwarden.specs.access_files import resolve_access
from topicwarden.specs.load import LoadedDocuments
from topicwarden.specs.resolve import Declaration


def test_the_sources_of_one_acl_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[object] = []

    def is_same(one: AccessSource, other: object) -> bool:
        compared.append(other)
        return one is other

    monkeypatch.setattr(AccessSource, "__eq__", is_same)
    access = TopicAccess(consume=(Grant("User:sink", name="sink"),))
    declarations = [
        Declaration(Topic(f"t{number}", 1, 1, {}, access=access), cast("Any", located(number))) for number in range(500)
    ]
    resolved = resolve_access(LoadedDocuments(), declarations, "dev").access
    sources = {acl: sources for acl, sources in resolved.acls.items() if len(sources) > 1}
    assert [len(each) for each in sources.values()] == [500]
    assert len(compared) < 500


def located(number: int) -> SimpleNamespace:
    """Return locations that are all on the line ``number``."""
    return SimpleNamespace(at_item=lambda _key, _index: Location("topics/a.yaml", number + 1))
