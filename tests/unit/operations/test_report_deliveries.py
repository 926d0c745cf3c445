"""Test that a watch delivers with the settings and secrets of now, and that no change of them loses a delivery."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.support.http_answers import Request, Server, answering, http
from tests.support.notices import audit, heard, waiting_queue
from topicwarden.kafka.connect import stack_connection
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.report_deliveries import ReportDeliveries, old_queues, report_deliveries

FAIL, PASS = Verdict.FAIL, Verdict.PASS
A, B = ("orders", "null-key"), ("bills", "retention")
Declare = Callable[..., None]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "stacks").mkdir()
    return Project(tmp_path)


@pytest.fixture
def declare(project: Project) -> Declare:
    """Return a function that writes the stack's file with these receivers and catalogues; None leaves them out."""

    def written(receivers: Any = None, catalogues: Any = None) -> None:
        settings = {
            "kafka:bootstrapServers": ["127.0.0.1:1"],
            "topicwarden:notifications": receivers,
            "topicwarden:catalogues": catalogues,
        }
        config = {name: value for name, value in settings.items() if value is not None}
        (project.stacks / "Pulumi.prod.yaml").write_text(json.dumps({"config": config}), encoding="utf-8")

    return written


@pytest.fixture
def guarded() -> Iterator[Server]:
    """A server that only accepts the token `new`."""

    def answer(request: Request) -> bytes:
        accepted = request.headers["authorization"] == "Bearer new"
        return http({}) if accepted else http(b"", "401 Unauthorized")

    with answering(answer) as server:
        yield server


def deliveries_of(project: Project, note: Callable[[str], None] = print) -> ReportDeliveries:
    history = (project.root / "history").as_uri()
    return report_deliveries(project, "prod", "https://r", history=history, spark=no_spark, note=note)


def no_spark() -> NoReturn:
    raise AssertionError("a history on this machine needs no Spark")


def take(deliveries: ReportDeliveries, verdicts: dict[tuple[str, str], Verdict], hours: float) -> None:
    for observer in deliveries.observers:
        observer(audit(verdicts, hours))


def pending(deliveries: ReportDeliveries) -> dict[str, object]:
    return {labels["receiver"]: number for labels, number in deliveries.families()["watch_pending_deliveries"][1]}


def failed(deliveries: ReportDeliveries) -> set[str]:
    return {labels["receiver"] for labels, number in deliveries.families()["watch_failed_delivery"][1] if number}


def test_rotated_tokens_count_after_a_reload_and_pending_deliveries_arrive(
    project: Project, declare: Declare, guarded: Server
) -> None:
    def settings(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
        hook = {"url": f"{guarded.url}/hook", "token": token}
        return {"hook": hook}, {"lineage": {"openlineage": guarded.url, "token": token}}

    declare(*settings("old"))
    deliveries = deliveries_of(project)
    take(deliveries, {A: FAIL}, 0)
    take(deliveries, {A: PASS, B: FAIL}, 1)
    assert failed(deliveries) == {"hook", "lineage"}
    assert pending(deliveries) == {"hook": 1}
    deliveries.reload()
    assert pending(deliveries) == {"hook": 1}
    declare(*settings("new"))
    deliveries.reload()
    take(deliveries, {A: PASS, B: FAIL}, 2)
    assert pending(deliveries) == {"hook": 0}
    assert not failed(deliveries)
    accepted = [each for each in guarded.requests if each.headers["authorization"] == "Bearer new"]
    assert heard(each.json for each in accepted if each.path == "/hook") == {B: "fail"}
    events = [each.json for each in accepted if each.path != "/hook"]
    assert [event["eventType"] for event in events] == ["START", "COMPLETE"]


def test_encrypted_secrets_are_decrypted_at_each_reload(
    project: Project, declare: Declare, guarded: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    decrypted: dict[str, Any] = {}
    monkeypatch.setattr(stack_connection, "_decrypted", lambda *_: decrypted)

    def rotate(token: str) -> None:
        declare({"hook": {"url": {"secure": f"v1:{token}"}, "token": {"secure": f"v1:{token}"}}})
        hook = {"url": guarded.url, "token": token}
        decrypted["topicwarden:notifications"] = {"hook": hook}

    rotate("old")
    deliveries = deliveries_of(project)
    take(deliveries, {A: FAIL}, 0)
    assert failed(deliveries)
    rotate("new")
    deliveries.reload()
    take(deliveries, {A: FAIL}, 1)
    assert pending(deliveries) == {"hook": 0}


def test_receivers_and_catalogues_come_and_go(project: Project, declare: Declare, tmp_path: Path) -> None:
    events = tmp_path / "events.ndjson"
    declare()
    with answering(http({})) as server:
        deliveries = deliveries_of(project)
        take(deliveries, {A: FAIL}, 0)
        assert not project.cache.exists()
        hook = {"hook": {"url": server.url}}
        declare(hook, {"file": {"openlineage": str(events)}})
        deliveries.reload()
        take(deliveries, {A: FAIL}, 1)
        assert pending(deliveries) == {"hook": 0} and not failed(deliveries)
        assert len(server.requests) == 1 and len(events.read_text().splitlines()) == 2
        declare(hook)
        deliveries.reload()
        take(deliveries, {A: PASS}, 2)
        assert pending(deliveries) == {"hook": 0}
        assert len(server.requests) == 2 and len(events.read_text().splitlines()) == 2


def test_an_old_queue_without_a_receiver_is_named_once(project: Project, declare: Declare) -> None:
    waiting_queue(old_queues(project, "prod") / "alerts.sqlite")
    declare()
    notes: list[str] = []
    deliveries = deliveries_of(project, notes.append)
    deliveries.reload()
    assert len(notes) == 1 and 'the stack has no receiver "alerts"' in notes[0]


@pytest.mark.parametrize("broken", ["config: {", "config: {'topicwarden:notifications': {hook: SECRET}}"])
def test_settings_that_cannot_be_used_leave_the_last_ones_in_use(
    broken: str, project: Project, declare: Declare
) -> None:
    with answering(http({})) as server:
        declare({"hook": {"url": server.url}})
        deliveries = deliveries_of(project)
        deliveries.reload()
        (project.stacks / "Pulumi.prod.yaml").write_text(broken, encoding="utf-8")
        with pytest.raises(Refusal, match=r"stacks/Pulumi\.prod\.yaml") as refused:
            deliveries.reload()
        assert "SECRET" not in str(refused.value)
        take(deliveries, {A: FAIL}, 0)
        assert pending(deliveries) == {"hook": 0}
        assert len(server.requests) == 1
        with pytest.raises(Refusal):
            deliveries_of(project)
