"""Test that audits reach catalogues, and that no catalogue stops or delays an audit."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support import reports
from tests.support.captured_logs import without_kafka_clients
from tests.support.http_answers import SLOW, Answer, answering, http, openlineage_stand_in
from tests.support.notices import eventually
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.verdict import Verdict
from topicwarden.operations.catalogues import publisher as module
from topicwarden.operations.catalogues.publisher import CatalogueTarget, Publisher
from topicwarden.operations.notices import webhook
from topicwarden.specs.stacks.certificate_settings import Certificates
from topicwarden.specs.stacks.delivery_settings import CatalogueSettings

SECRET: Final = "hunter2-token"


def target(url: str | None = None, **settings: Any) -> CatalogueTarget:
    return CatalogueTarget(CatalogueSettings("hub", url=url, token=SECRET, **settings), "kafka://b:9092")


def audit(number: int = 0, verdict: Verdict = Verdict.PASS, check: str = "retention-time") -> AuditReport:
    finding = Finding(check=check, verdict=verdict, topic="orders", message="" if verdict is Verdict.PASS else "why")
    report = reports.report([reports.topic("orders", [5])], [finding])
    return report.model_copy(
        update={"started": report.started + 60_000 * number, "finished": report.finished + 60_000 * number}
    )


@pytest.fixture
def output(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[Callable[[], str]]:
    """Return everything that was logged and printed; without the Kafka clients of earlier tests."""
    with without_kafka_clients(caplog, capfd) as output:
        yield output


def publisher(*targets: CatalogueTarget) -> Publisher:
    made = Publisher()
    made.use(targets)
    return made


def test_events_reach_a_server_with_the_token_in_order() -> None:
    with openlineage_stand_in() as server:
        one = publisher(target(server.server.url))
        for number in range(2):
            one.take(audit(number))
    assert (server.errors, one.errors()) == ([], {"hub": None})
    assert [event["eventType"] for event in server.events] == ["START", "COMPLETE"] * 2
    assert {request.headers["authorization"] for request in server.server.requests} == {f"Bearer {SECRET}"}


@pytest.mark.parametrize("base", ["", "/base", "/base/api/v1/lineage"])
def test_the_endpoint_is_below_the_url(base: str) -> None:
    with answering(http({}, "201 Created")) as server:
        publisher(target(server.url + base)).take(audit())
    assert {request.path for request in server.requests} == {f"{base.removesuffix(module.PATH)}{module.PATH}"}


def test_events_are_appended_to_a_file_one_per_line(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "events.ndjson"
    one = publisher(target(file=file))
    for number in range(2):
        one.take(audit(number))
    events = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [event["eventType"] for event in events] == ["START", "COMPLETE"] * 2


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (http(b"", "503 Service Unavailable"), "answered 503 Service Unavailable"),
        (http(b"", "401 Unauthorized"), "answered 401 Unauthorized; correct its credentials"),
        (http(b"", "404 Not Found"), "answered 404 Not Found; correct its URL"),
        (http(b"", "307 Moved", "Location: http://127.0.0.1:1/"), "answered 307 Temporary Redirect, a redirect, which"),
        (http(b"", "422 Odd"), "answered 422 Unprocessable"),
        (b"", "closed the connection without an answer"),
    ],
)
def test_a_failure_is_named_without_the_token_and_the_next_audit_arrives(
    answer: bytes, message: str, output: Callable[[], str]
) -> None:
    answers = [answer]
    with answering(lambda _: answers.pop() if answers else http({}, "201 Created")) as server:
        one = publisher(target(server.url))
        one.take(audit())
        error = str(one.errors()["hub"])
        one.take(audit(1))
    assert error.startswith(f"the OpenLineage server at {server.url} {message}")
    assert error.endswith(" (topicwarden:catalogues.hub)") and SECRET not in error + output()
    assert one.errors() == {"hub": None} and len(server.requests) == 3


def test_a_server_that_is_down_is_named() -> None:
    with answering(b"") as gone:
        closed = gone.url
    one = publisher(target(closed))
    one.take(audit())
    assert one.errors() == {
        "hub": f"the OpenLineage server at {closed} refused the connection (topicwarden:catalogues.hub)"
    }


@pytest.mark.parametrize("answer", [None, b"HTTP/1.1 " + SLOW])
def test_a_server_that_hangs_delays_no_audit_beyond_the_deadline(
    answer: Answer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "DEADLINE_S", 0.3)
    monkeypatch.setattr(webhook, "TIMEOUT_S", 1.0)
    with answering(answer) as server:
        one = publisher(target(server.url))
        for number in range(3):
            began = time.monotonic()
            one.take(audit(number))
            assert time.monotonic() - began < 1.0
            assert one.errors() == {"hub": "did not answer in time"}
        assert len(server.requests) <= 1
        eventually(lambda: not [each for each in threading.enumerate() if each.name.startswith(webhook.THREAD)])


def test_certificates_that_cannot_be_used_are_a_failure() -> None:
    one = publisher(target("https://127.0.0.1:1", certificates=Certificates(ca_cert="no certificate")))
    one.take(audit())
    assert "cannot be used: OpenSSL refuses the certificates" in str(one.errors()["hub"])


def test_a_missing_client_of_openlineage_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "topicwarden.operations.catalogues.openlineage_events", None)
    one = publisher(target(file=tmp_path / "events"))
    one.take(audit())
    assert one.errors() == {"hub": "needs OpenLineage's client: pip install 'topicwarden[openlineage]'"}
