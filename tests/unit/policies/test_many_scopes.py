"""Test that a declared topic is matched with the scope of each stack once, and not for each pair of stacks."""

from __future__ import annotations

from collections import Counter

import pytest

from topicwarden.model.problem import Location
from topicwarden.policies.scope_problems import overlapping_scopes
from topicwarden.specs.stacks.stack_file import StackFile
from topicwarden.specs.stacks.stack_scope import StackScope


def test_each_topic_is_matched_with_the_scope_of_a_stack_once(monkeypatch: pytest.MonkeyPatch) -> None:
    matched: Counter[str] = Counter()
    owns = StackScope.owns

    def counted(scope: StackScope, topic: str) -> bool:
        matched[topic] += 1
        return owns(scope, topic)

    monkeypatch.setattr(StackScope, "owns", counted)
    files = {
        f"s{number:02}": StackFile(
            scope=StackScope((f"team{number}.*", "shared.b") if number < 2 else (f"team{number}.*",)),
            scope_location=Location("s"),
            addresses=frozenset({"k:9092"}),
        )
        for number in range(12)
    }
    (problem,) = overlapping_scopes(files, list(files), ["shared.c", "shared.b", *(f"team{n}.e" for n in range(12))])
    assert "s01 and s00" in problem.message
    assert "the topic shared.b" in problem.message
    assert matched["shared.c"] == len(files)
