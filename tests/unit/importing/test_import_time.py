"""Test that the time of an import grows with what the files of other tools have, and not with its square."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.support.growth import MOST, growth
from topicwarden.extensions.interchange.convert import SourceFile, kafka_gitops, read_all
from topicwarden.extensions.interchange.convert.access_values import limited_by
from topicwarden.extensions.interchange.convert.source_file import UnreadFields, value_at
from topicwarden.model.access import Acl, Operation, PermissionType, ResourceType
from topicwarden.specs.yaml_nodes import KeyPath, ParsedDocument


def taken_fields(number: int) -> Callable[[], object]:
    """Return a call that finds which of as many fields were read: all."""
    source = SourceFile("t.yaml", b"a: 1\n")
    fields = UnreadFields(source, source.documents[0])
    for each in range(number):
        fields.take(("services", each, "type"))
    return lambda: [fields.touched(("services", each)) for each in range(number)]


def limits(number: int) -> Callable[[], object]:
    """Return a call that finds what a DENY for each of as many principals limits."""

    def acl(each: int, permission: PermissionType) -> Acl:
        return Acl(f"User:{each}", "*", Operation.READ, permission, ResourceType.TOPIC, f"t{each}")

    allows = [acl(each, PermissionType.ALLOW) for each in range(number)]
    denies = [acl(each, PermissionType.DENY) for each in range(number)]
    return lambda: limited_by(denies, allows)


def test_each_file_of_an_import_is_looked_at_as_often_if_there_are_more_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[int] = []

    def value(document: ParsedDocument, path: KeyPath) -> tuple[object, object]:
        looked.append(len(path))
        return value_at(document, path)

    def looks(number: int) -> int:
        looked.clear()
        text = "topics: {{t{}: {{partitions: 1, replication: 1}}}}\n"
        result = read_all([SourceFile(f"{each}.yaml", text.format(each).encode()) for each in range(number)])
        assert len(result.topics) == number and not result.problems
        return len(looked)

    monkeypatch.setattr(kafka_gitops, "value_at", value)
    assert looks(20) == 4 * looks(5)


STEPS = {"fields": (taken_fields, 300), "limits": (limits, 300)}


@pytest.mark.parametrize("step", STEPS)
def test_four_times_as_much_takes_about_four_times_as_long(step: str) -> None:
    make, number = STEPS[step]
    assert growth(lambda size: seconds(make(size)), number) < MOST


def seconds(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started
