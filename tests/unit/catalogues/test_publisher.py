"""Test deliveries to catalogues: against stand-ins for servers, with failures, restarts and full queues."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import reports
from tests.support.catalogue_audits import SECRET, audit, target
from tests.support.catalogue_servers import DataHubStandIn, datahub_stand_in, openlineage_stand_in
from tests.support.http_answers import Request, http
from topicwarden.catalogues import datahub_sender
from topicwarden.catalogues.publisher import Publisher, publishing
from topicwarden.deliveries import delivery_thread
from topicwarden.model.finding import OF_CLUSTER, Finding
from topicwarden.model.verdict import Verdict
from topicwarden.stacks.catalogue_settings import CatalogueKind

DAY_MS = 24 * 3_600_000
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:kafka,orders,PROD)"


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_thread, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(delivery_thread, "LONGEST_PAUSE_S", 0.05)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.005)


def delivered(catalogues: Publisher, number: int) -> None:
    until(lambda: catalogues.status()["hub"].delivered >= number)


@pytest.fixture
def datahub() -> Iterator[DataHubStandIn]:
    with datahub_stand_in() as stand_in:
        yield stand_in
    assert stand_in.errors == []


def test_events_reach_a_server_with_the_token_in_order(tmp_path: Path) -> None:
    with openlineage_stand_in() as stand_in:
        with publishing([target(CatalogueKind.OPENLINEAGE, stand_in.server.url)], tmp_path) as catalogues:
            for number in range(3):
                catalogues.take(audit(number))
            delivered(catalogues, 3)
            assert catalogues.status()["hub"].pending == 0
        assert [event["eventType"] for event in stand_in.events] == ["START", "COMPLETE"] * 3
        times = [event["eventTime"] for event in stand_in.events]
        assert times == sorted(times) and stand_in.errors == []
        assert {request.headers["authorization"] for request in stand_in.server.requests} == {f"Bearer {SECRET}"}


def test_events_are_appended_to_a_file_one_per_line(tmp_path: Path) -> None:
    file = tmp_path / "lineage" / "events.ndjson"
    for number in range(2):
        with publishing([target(CatalogueKind.OPENLINEAGE, file=file)], tmp_path / "state") as catalogues:
            catalogues.take(audit(number))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["eventType"] for line in lines] == ["START", "COMPLETE"] * 2


def test_a_server_that_is_down_delays_nothing_and_gets_everything_after_a_restart(tmp_path: Path) -> None:
    with openlineage_stand_in() as stand_in:
        url = stand_in.server.url
    with publishing([target(CatalogueKind.OPENLINEAGE, url)], tmp_path, drain_s=0.5) as catalogues:
        for number in range(3):
            catalogues.take(audit(number))
        until(lambda: catalogues.status()["hub"].last_error is not None)
        status = catalogues.status()["hub"]
    assert (status.pending, status.delivered) == (3, 0)
    assert "the OpenLineage server at http://127.0.0.1" in (status.last_error or "") and "refused the connection" in (
        status.last_error or ""
    )
    with openlineage_stand_in() as stand_in:
        with publishing([target(CatalogueKind.OPENLINEAGE, stand_in.server.url)], tmp_path) as catalogues:
            delivered(catalogues, 3)
        assert len(stand_in.events) == 6


def test_a_busy_server_gets_the_same_event_again(tmp_path: Path) -> None:
    answers = [http(b"", "503 Service Unavailable"), http(b"", "429 Too Many Requests", "Retry-After: 0"), b"", None]
    with openlineage_stand_in() as stand_in:
        stand_in.answer = lambda request: answers.pop(0) if answers else None
        with publishing([target(CatalogueKind.OPENLINEAGE, stand_in.server.url)], tmp_path) as catalogues:
            catalogues.take(audit())
            delivered(catalogues, 1)
            assert catalogues.status()["hub"].last_error is None
        assert [event["eventType"] for event in stand_in.events][-2:] == ["START", "COMPLETE"]


def test_content_that_a_server_rejects_does_not_hold_up_the_queue(tmp_path: Path) -> None:
    def answer(request: Request) -> bytes | None:
        rejected = request.json["eventTime"] < "2025-10-09T08:54"
        return http({"error": f"too old for {SECRET}"}, "422 Unprocessable Entity") if rejected else None

    with openlineage_stand_in() as stand_in:
        stand_in.answer = answer
        with publishing([target(CatalogueKind.OPENLINEAGE, stand_in.server.url)], tmp_path) as catalogues:
            catalogues.take(audit(0))
            until(lambda: catalogues.status()["hub"].rejected == 1)
            error = catalogues.status()["hub"].last_error or ""
            catalogues.take(audit(1))
            delivered(catalogues, 1)
    assert (
        "answered 422" in error
        and "does not accept the content" in error
        and "left out" in error
        and SECRET not in error
    )


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (http({"message": SECRET}, "401 Unauthorized"), "correct its credentials (topicwarden:catalogues.hub: {"),
        (http(b"<html>", "404 Not Found", kind="text/html"), "correct its URL (topicwarden:catalogues.hub)"),
        (
            http(b"", "302 Found", "Location: http://127.0.0.1:1/"),
            "answered 302 Found, a redirect, which is not followed",
        ),
        (http(b"x" * ((1 << 20) + 1)), "answers more than 1048576 bytes"),
    ],
)
def test_a_wrong_setting_is_named_without_the_token_and_the_audit_stays_in_the_queue(
    answer: bytes, expected: str, tmp_path: Path
) -> None:
    with openlineage_stand_in() as stand_in:
        stand_in.answer = lambda request: answer
        here = target(CatalogueKind.OPENLINEAGE, stand_in.server.url)
        with publishing([here], tmp_path, drain_s=1) as catalogues:
            catalogues.take(audit())
            until(lambda: catalogues.status()["hub"].last_error is not None)
            status = catalogues.status()["hub"]
    assert expected in (status.last_error or "") and SECRET not in (status.last_error or "")
    assert status.pending == 1
    assert SECRET not in repr(here)
    assert all(SECRET.encode() not in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_a_server_that_does_not_answer_delays_neither_the_audit_nor_the_end(tmp_path: Path) -> None:
    with openlineage_stand_in() as stand_in:
        stand_in.answer = lambda request: b"" if stand_in.server.stop.wait() else None
        with publishing([target(CatalogueKind.OPENLINEAGE, stand_in.server.url)], tmp_path, drain_s=0.1) as catalogues:
            catalogues.take(audit(0))
            until(lambda: len(stand_in.server.requests) == 1)
            catalogues.take(audit(1))
            assert catalogues.status()["hub"].pending == 2
        assert catalogues.status()["hub"].pending == 2


def test_a_killed_process_loses_no_audit_that_was_taken(tmp_path: Path) -> None:
    with openlineage_stand_in() as stand_in:
        closed = stand_in.server.url
    program = f"""
import os, signal
from pathlib import Path
from tests.support.catalogue_audits import audit, target
from topicwarden.catalogues.publisher import publishing
from topicwarden.stacks.catalogue_settings import CatalogueKind
with publishing([target(CatalogueKind.OPENLINEAGE, {closed!r})], Path({str(tmp_path)!r})) as catalogues:
    for number in range(3):
        catalogues.take(audit(number))
    os.kill(os.getpid(), signal.SIGKILL)
"""
    repository = Path(__file__).parents[3]
    killed = subprocess.run([sys.executable, "-c", program], cwd=repository, timeout=120, check=False)
    assert killed.returncode == -signal.SIGKILL
    with openlineage_stand_in() as stand_in:
        with publishing([target(CatalogueKind.OPENLINEAGE, stand_in.server.url)], tmp_path) as catalogues:
            delivered(catalogues, 3)
        assert [event["eventType"] for event in stand_in.events] == ["START", "COMPLETE"] * 3


def test_a_state_folder_that_is_not_usable_is_an_error_of_the_status(tmp_path: Path) -> None:
    (tmp_path / "hub").write_text("")
    with publishing([target(CatalogueKind.OPENLINEAGE, file=tmp_path / "x")], tmp_path, drain_s=0.5) as catalogues:
        catalogues.take(audit())
        status = catalogues.status()["hub"]
    assert status.dropped == 1 and str(tmp_path / "hub") in (status.last_error or "")


def test_each_result_reaches_datahub_after_its_definition(datahub: DataHubStandIn, tmp_path: Path) -> None:
    report = reports.report(
        [reports.topic("orders", [5])],
        [
            Finding(check="retention-time", verdict=Verdict.PASS, topic="orders"),
            Finding(check="topic-config", verdict=Verdict.FAIL, topic="orders", message="why", remedy="do"),
            Finding(check="duplicates", verdict=Verdict.SUSPECT, topic="orders", message="perhaps"),
            Finding(check="key-schema", verdict=Verdict.UNDECIDABLE, topic="orders", because=["no registry"]),
            Finding(check="unused-access", verdict=Verdict.FAIL, topic=OF_CLUSTER),
        ],
    )
    with publishing([target(CatalogueKind.DATAHUB, datahub.server.url)], tmp_path) as catalogues:
        catalogues.take(report)
        delivered(catalogues, 1)
    assert {each["entityUrn"] for each in datahub.definitions.values()} == {ORDERS}
    found = {
        datahub.definitions[urn]["description"].partition(":")[0]: (each["type"], each.get("error", {}).get("message"))
        for urn, (each,) in datahub.results.items()
    }
    assert found == {
        "retention-time": ("SUCCESS", None),
        "topic-config": ("FAILURE", None),
        "duplicates": ("ERROR", "suspect: perhaps"),
        "key-schema": ("ERROR", "undecidable: no registry"),
    }
    assert all(request.path == "/api/graphql" for request in datahub.server.requests)


def test_many_topics_need_few_requests_and_unchanged_ones_none(datahub: DataHubStandIn, tmp_path: Path) -> None:
    large = reports.thousand()
    report = large.model_copy(update={"findings": [each for each in large.findings if each.topic < "domain11"]})
    here = [target(CatalogueKind.DATAHUB, datahub.server.url)]
    with publishing(here, tmp_path) as catalogues:
        catalogues.take(report)
        delivered(catalogues, 1)
    pairs = {(each.topic, each.check) for each in report.findings}
    assert len(datahub.definitions) == len(datahub.results) == len(pairs)
    requests = len(datahub.server.requests)
    assert requests == 2 * -(-len(pairs) // 50)
    with publishing(here, tmp_path) as catalogues:  # a restart remembers
        catalogues.take(report.model_copy(update={"finished": report.finished + 60_000}))
        delivered(catalogues, 1)
        assert len(datahub.server.requests) == requests
        catalogues.take(report.model_copy(update={"finished": report.finished + DAY_MS}))
        delivered(catalogues, 2)
    assert len(datahub.server.requests) == requests + requests // 2, "results are repeated after a day"


def test_a_process_that_ends_during_a_delivery_continues_it_later(
    datahub: DataHubStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datahub_sender, "REMEMBER_S", 0.0)
    large = reports.thousand()
    report = large.model_copy(update={"findings": large.findings[:500]})
    ended = threading.Event()

    def answer(request: Request) -> bytes | None:
        return b"" if len(datahub.server.requests) > 12 and not ended.is_set() and ended.wait(30) else None

    datahub.answer = answer
    here = [target(CatalogueKind.DATAHUB, datahub.server.url)]
    with publishing(here, tmp_path, drain_s=0) as catalogues:
        catalogues.take(report)
        until(lambda: len(datahub.server.requests) == 13)
    copied = tmp_path / "after"
    shutil.copytree(tmp_path / "hub", copied / "hub", ignore=shutil.ignore_patterns("*.lock"))
    ended.set()
    datahub.answer = lambda request: None
    with publishing(here, copied) as catalogues:
        delivered(catalogues, 1)
    assert len(datahub.definitions) == len(datahub.results) == 500
    assert {len(results) for results in datahub.results.values()} == {1}
    assert len(datahub.server.requests) == 10 + 10 + 1, "each batch once, and the interrupted one twice"


def test_a_changed_verdict_is_reported_and_a_lost_memory_repeats_with_the_same_names(
    datahub: DataHubStandIn, tmp_path: Path
) -> None:
    here = [target(CatalogueKind.DATAHUB, datahub.server.url)]
    with publishing(here, tmp_path) as catalogues:
        for number, verdict in enumerate([Verdict.PASS, Verdict.PASS, Verdict.FAIL, Verdict.PASS]):
            catalogues.take(audit(number, verdict))
        delivered(catalogues, 4)
    ((urn, results),) = datahub.results.items()
    assert [each["type"] for each in results] == ["SUCCESS", "FAILURE", "SUCCESS"]
    (tmp_path / "hub" / "delivered.memory").write_text("{")
    with publishing(here, tmp_path) as catalogues:
        catalogues.take(audit(3))
        delivered(catalogues, 1)
    assert datahub.results.keys() == {urn}
    assert results[-1] == results[-2], "the same result at the same time"


def test_a_platform_instance_and_an_environment_are_in_the_dataset_urn(datahub: DataHubStandIn, tmp_path: Path) -> None:
    here = [target(CatalogueKind.DATAHUB, datahub.server.url, env="DEV", instance="eu")]
    with publishing(here, tmp_path) as catalogues:
        catalogues.take(audit())
        delivered(catalogues, 1)
    assert {each["entityUrn"] for each in datahub.definitions.values()} == {
        "urn:li:dataset:(urn:li:dataPlatform:kafka,eu.orders,DEV)"
    }


@pytest.mark.parametrize(
    ("error", "expected", "pending"),
    [
        ({"message": "no", "extensions": {"code": 403, "type": "UNAUTHORIZED"}}, "privilege to edit assertions", 1),
        (
            {"message": f"bad {SECRET}", "extensions": {"classification": "ValidationError"}},
            "the audit was left out",
            0,
        ),
        ({"message": "An unknown error occurred.", "extensions": {"code": 500}}, "the audit was left out", 0),
        ({}, "an error without a message; the audit was left out", 0),
    ],
)
def test_errors_of_graphql_are_failures(
    error: dict[str, Any], expected: str, pending: int, datahub: DataHubStandIn, tmp_path: Path
) -> None:
    datahub.answer = lambda request: http({"data": None, "errors": [error]})
    with publishing([target(CatalogueKind.DATAHUB, datahub.server.url)], tmp_path, drain_s=1) as catalogues:
        catalogues.take(audit())
        until(lambda: expected in (catalogues.status()["hub"].last_error or ""))
        status = catalogues.status()["hub"]
    assert status.pending == pending and SECRET not in (status.last_error or "")


def test_an_error_that_passes_loses_no_result(datahub: DataHubStandIn, tmp_path: Path) -> None:
    failures = [http({"data": None, "errors": [{"message": "busy"}]})] * 3
    failures += [http(b"<html>"), http({}), http([]), http({"data": None})]
    datahub.answer = lambda request: failures.pop() if failures else None
    with publishing([target(CatalogueKind.DATAHUB, datahub.server.url)], tmp_path) as catalogues:
        catalogues.take(audit())
        delivered(catalogues, 1)
    assert len(datahub.results) == 1 and not failures


def test_two_processes_share_a_queue_and_deliver_each_audit(tmp_path: Path) -> None:
    with openlineage_stand_in() as stand_in:
        here = [target(CatalogueKind.OPENLINEAGE, stand_in.server.url)]
        with publishing(here, tmp_path) as first, publishing(here, tmp_path) as second:
            threads = [
                threading.Thread(target=lambda by=by, n=n: by.take(audit(n)))
                for n, by in enumerate([first, second] * 5)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            until(lambda: first.status()["hub"].delivered + second.status()["hub"].delivered == 10)
        assert len({event["run"]["runId"] for event in stand_in.events}) == 10
        assert len(stand_in.events) == 20
