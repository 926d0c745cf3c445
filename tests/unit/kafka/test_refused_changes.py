"""Test which answers of brokers to requests with ``validate_only`` count as refusals of a change."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from kafka.errors import ClusterAuthorizationFailedError

from topicwarden.kafka.read import refused_changes
from topicwarden.kafka.read.refused_changes import ValidatedChange


class Admin:
    """A client that records the requests, and answers each with the error of the topic's name: ``t44`` has error 44."""

    def __init__(self) -> None:
        self.created: list[dict[str, Any]] = []

    def create_topics(self, topics: dict[str, Any], *, validate_only: bool, raise_errors: bool) -> Any:
        assert validate_only and not raise_errors
        self.created.append(topics)
        return {"topics": [{"name": name, "error_code": int(name[1:]), "error_message": "Why."} for name in topics]}


@pytest.fixture
def altered(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    requests: list[Any] = []

    def send(_: object, request: Any) -> Any:
        requests.append(request)
        names = [name for _, name, _ in request.resources]
        answers = [SimpleNamespace(resource_name=each, error_code=int(each[1:]), error_message=None) for each in names]
        return SimpleNamespace(responses=answers)

    monkeypatch.setattr(refused_changes, "send_to_any_broker", send)
    return requests


def refused(admin: Admin, changes: dict[str, ValidatedChange]) -> dict[str, str]:
    return refused_changes.refused_changes(cast(Any, admin), changes)


def test_only_refusals_of_the_change_itself_count(altered: list[Any]) -> None:
    """Not: 0 none, 29 and 31 a missing permission, 36 the topic exists, 38 too few brokers, 41 no controller."""
    admin, codes = Admin(), (0, 17, 29, 31, 36, 38, 40, 41, 44)
    new = {f"t{code}": ValidatedChange((("retention.ms", "1"),), 3, 2) for code in codes}
    assert refused(admin, new) == dict.fromkeys(("t17", "t40", "t44"), "Why")
    assert admin.created[0]["t0"] == {
        "num_partitions": 3,
        "replication_factor": 2,
        "configs": {"retention.ms": "1"},
    }
    changed = {f"t{code}": ValidatedChange((("retention.ms", "1"), ("segment.ms", None))) for code in codes}
    assert refused(admin, changed) == dict.fromkeys(("t17", "t40", "t44"), "no reason")
    (request,) = altered
    assert request.validate_only
    assert request.resources[0][2] == [("retention.ms", 0, "1"), ("segment.ms", 1, None)]


def test_a_request_has_no_more_records_than_a_controller_takes() -> None:
    admin = Admin()
    assert refused(admin, {f"t{number}": ValidatedChange((), 3_000, 1) for number in (36, 40, 44)}) == {
        "t40": "Why",
        "t44": "Why",
    }
    assert [list(each) for each in admin.created] == [["t36", "t40"], ["t44"]]


def test_nothing_is_refused_if_the_brokers_do_not_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(*_: object) -> Any:
        raise ClusterAuthorizationFailedError

    monkeypatch.setattr(refused_changes, "send_to_any_broker", deny)
    assert refused(Admin(), {"t40": ValidatedChange((("retention.ms", "1"),))}) == {}
