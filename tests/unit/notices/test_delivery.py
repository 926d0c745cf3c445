"""Test deliveries to servers on loopback: refusals, outages, restarts, secrets, and what a receiver must know."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.captured_logs import without_kafka_clients
from tests.support.http_answers import SLOW, Answer, Request, answering, http
from tests.support.notices import (
    EXCERPT,
    SECRET_PATH,
    audit,
    deliver_random_history,
    eventually,
    heard,
    notifier,
    receiver,
)
from topicwarden.model.verdict import Verdict
from topicwarden.operations.notices import notifier as notifier_module
from topicwarden.operations.notices import webhook
from topicwarden.operations.notices.notifier import Notifier, ReceiverStatus
from topicwarden.usage.history_files import LocalFiles, local_path

PASS, FAIL, UNDECIDABLE = Verdict.PASS, Verdict.FAIL, Verdict.UNDECIDABLE
A, B = ("orders", "null-key"), ("bills", "retention")
OK, BUSY = http(b"ok"), http(b"", "503 Service Unavailable")


@pytest.fixture
def output(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[Callable[[], str]]:
    """Return everything that was logged and printed; without the Kafka clients of earlier tests."""
    with without_kafka_clients(caplog, capfd) as output:
        yield output


def in_turn(*answers: Answer) -> Callable[[Request], bytes | None]:
    """Return the answers one after the other, and then the last one again."""
    rest = list(answers)

    def answer(request: Request) -> bytes | None:
        now = rest.pop(0) if len(rest) > 1 else rest[0]
        return now(request) if callable(now) else now

    return answer


def files(folder: Path) -> str:
    return "".join(path.read_bytes().decode(errors="replace") for path in folder.rglob("*") if path.is_file())


def memory_file(history: Path, name: str = "on-call") -> Path:
    return history / "v4" / "receivers" / f"{name}.json"


def status(of: Notifier) -> ReceiverStatus:
    return of.status()["on-call"]


def test_a_notification_arrives_with_its_id_and_no_excerpt(tmp_path: Path) -> None:
    with answering(OK) as server:
        one = notifier([receiver(server.url + SECRET_PATH)], tmp_path / "h", "https://r")
        one.take(audit({A: FAIL, B: PASS}))
        (request,) = server.requests
    assert (request.method, request.path) == ("POST", SECRET_PATH)
    assert request.headers["content-type"] == "application/json"
    assert request.headers["idempotency-key"] == request.json["id"]
    assert request.json["report_url"] == "https://r"
    assert [(each["topic"], each["change"]) for each in request.json["changes"]] == [("orders", "fail")]
    assert [(each["topic"], each["verdict"]) for each in request.json["open"]] == [("orders", "fail")]
    assert EXCERPT not in request.body.decode() + files(tmp_path)
    assert status(one) == ReceiverStatus(delivered=1)


def test_what_is_open_is_sent_with_each_change(tmp_path: Path) -> None:
    with answering(OK) as server:
        one = notifier([receiver(server.url)], tmp_path / "h")
        one.take(audit({A: FAIL}))
        one.take(audit({A: FAIL, B: FAIL}, 1))
        one.take(audit({A: PASS, B: FAIL}, 2))
        one.take(audit({A: PASS, B: FAIL}, 3))
    sent = [[(each["topic"], each["check"]) for each in request.json["open"]] for request in server.requests]
    assert sent == [[A], [B, A], [B]]
    assert [request.json["open_total"] for request in server.requests] == [1, 2, 1]


@pytest.mark.parametrize("answer", [BUSY, b"", b"HTTP/1.1 2", b"SSH-2.0-OpenSSH\r\n(end)", None, http(b"", "599 Odd")])
def test_an_unclear_failure_is_repeated_after_the_next_audit_with_the_same_body_and_id(
    answer: Answer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: Callable[[], str]
) -> None:
    monkeypatch.setattr(webhook, "TIMEOUT_S", 0.2)
    with answering(in_turn(answer, OK)) as server:
        one = notifier([receiver(server.url + SECRET_PATH, token="t0ken")], tmp_path / "h")
        one.take(audit({A: FAIL}))
        assert (status(one).pending, status(one).delivered, bool(status(one).last_error)) == (1, 0, True)
        shown = output() + files(tmp_path) + repr(one.status())
        one.take(audit({A: PASS}, 1))
        assert status(one) == ReceiverStatus(delivered=2)
        first, again, last = server.requests
    assert (first.body, first.headers["idempotency-key"]) == (again.body, again.headers["idempotency-key"])
    assert [change["change"] for change in last.json["changes"]] == ["resolved"]
    assert SECRET_PATH not in shown and "127.0.0.1" not in shown and "SECRET" not in shown and "t0ken" not in shown


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (http(b"", "302 Found", "Location: http://127.0.0.1:1/"), "answered 302 Found, a redirect, which is not"),
        (http(b"", "400 Bad Request"), "answered 400 Bad Request: it does not accept the content"),
        (http(b"", "401 Unauthorized"), "answered 401 Unauthorized; correct its credentials"),
        (http(b"", "404 Not Found"), "answered 404 Not Found; correct its URL"),
        (http(b"", "408 Request Timeout"), "answered 408 Request Timeout"),
        (http(b"", "413 Large"), "answered 413 Request Entity Too Large: it does not accept the content"),
        (http(b"", "429 Too Many Requests", "Retry-After: soon"), "answered 429 Too Many Requests"),
    ],
)
def test_after_a_refusal_the_difference_is_derived_again(answer: bytes, message: str, tmp_path: Path) -> None:
    with answering(in_turn(answer, OK)) as server:
        one = notifier([receiver(server.url)], tmp_path / "h")
        one.take(audit({A: FAIL}))
        assert str(status(one).last_error).startswith(message) and status(one).pending == 1
        one.take(audit({A: PASS, B: FAIL}, 1))
    assert [change["topic"] for change in server.requests[-1].json["changes"]] == ["bills"]
    assert len(server.requests) == 2 and status(one) == ReceiverStatus(delivered=1)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://127.0.0.1/SECRET", "has an invalid URL; correct it"),
        ("http://receiver.invalid/SECRET", "has an unknown host name"),
        (f"http://{'a' * 70}.invalid/SECRET", "has an invalid URL; correct it"),
        ("http://127.0.0.1:1/SECRET", "refused the connection"),
    ],
)
def test_a_receiver_that_cannot_be_reached_is_named_by_its_fault(
    url: str, message: str, tmp_path: Path, output: Callable[[], str]
) -> None:
    one = notifier([receiver(url)], tmp_path / "h")
    one.take(audit({A: FAIL}))
    assert status(one) == ReceiverStatus(pending=1, last_error=message)
    one.take(audit({A: PASS}, 1))
    assert status(one) == ReceiverStatus()
    assert "SECRET" not in output() + files(tmp_path)


def test_a_receiver_that_does_not_speak_tls_is_named_by_its_fault(tmp_path: Path) -> None:
    with answering(OK) as plain:
        one = notifier([receiver(plain.url.replace("http:", "https:"))], tmp_path / "h")
        one.take(audit({A: FAIL}))
    assert "could not agree on TLS" in str(status(one).last_error)


def test_a_changed_secret_delivers_what_was_denied_with_the_old_one(tmp_path: Path) -> None:
    def answer(request: Request) -> bytes:
        return OK if request.headers["authorization"] == "Bearer new" else http(b"", "401 Unauthorized")

    with answering(answer) as server:
        one = notifier([receiver(server.url, token="old")], tmp_path / "h")
        one.take(audit({A: FAIL}))
        one.use([receiver(server.url, token="new"), receiver(server.url, token="new", name="other")])
        one.take(audit({A: FAIL, B: FAIL}, 2))
        assert (status(one).delivered, one.status()["other"].delivered) == (1, 1)
    accepted = [each for each in server.requests if each.headers["authorization"] == "Bearer new"]
    assert [len(each.json["changes"]) for each in accepted] == [2, 2]


def test_a_receiver_that_is_removed_keeps_what_it_knows_until_it_returns(tmp_path: Path) -> None:
    with answering(OK) as server:
        one = notifier([receiver(server.url)], tmp_path / "h")
        one.take(audit({A: FAIL}))
        one.use([])
        one.take(audit({B: FAIL}, 1))
        assert one.status() == {}
        one.use([receiver(server.url)])
        one.take(audit({A: FAIL, B: FAIL}, 2))
    assert heard(request.json for request in server.requests) == {A: "fail", B: "fail"}


@pytest.mark.parametrize("answer", [None, b"HTTP/1.1 " + SLOW, b"HTTP/1.1 503 Busy\r\nX: " + SLOW])
def test_a_receiver_that_hangs_delays_neither_audits_beyond_the_deadline_nor_other_receivers(
    answer: Answer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifier_module, "DEADLINE_S", 0.3)
    monkeypatch.setattr(webhook, "TIMEOUT_S", 1.0)
    threads = threading.active_count()
    with answering(answer) as hangs, answering(OK) as works:
        one = notifier([receiver(hangs.url), receiver(works.url, name="other")], tmp_path / "h")
        for hour in range(4):
            began = time.monotonic()
            one.take(audit({A: PASS if hour % 2 else FAIL}, hour))
            assert time.monotonic() - began < 1.0
            assert status(one).last_error and status(one).delivered == 0
            assert one.status()["other"].delivered == hour + 1
        assert len({request.body for request in hangs.requests}) == 1
        assert heard(request.json for request in works.requests) == {}
        eventually(lambda: not [each for each in threading.enumerate() if each.name.startswith(webhook.THREAD)])
    eventually(lambda: threading.active_count() <= threads)


@pytest.mark.parametrize(
    ("header", "pause"),
    [
        ("77", 77),
        ("0", 0),
        ("-5", 0),
        ("99999999", 3600),
        ("9" * 400, 3600),
        ("9" * 5_000, 0),
        ("soon", 0),
        ("", 0),
        ("²", 0),
        ("Sat, 99 Foo 2026 99:99:99", 0),
        (f"Wed, 21 Oct 2099 {'9' * 20}:28:00 GMT", 3600),
        ("Wed, 21 Oct 2099 07:28:00 GMT", 3600),
    ],
)
def test_retry_after_may_be_a_number_or_a_date_and_has_a_limit(header: str, pause: float, tmp_path: Path) -> None:
    with answering(in_turn(http(b"", "429 Too Many Requests", f"Retry-After: {header}"), OK)) as server:
        one = notifier([receiver(server.url)], tmp_path / "h")
        now = time.monotonic()
        one.take(audit({A: FAIL}))
        assert status(one).last_error == "answered 429 Too Many Requests"
        assert one._known["on-call"]._not_before - now == pytest.approx(pause, abs=2)
        one.take(audit({A: FAIL}, 1))
        assert len(server.requests) == (1 if pause else 2)


def test_taking_a_report_never_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(OK) as server:
        one = notifier([receiver(server.url)], tmp_path / "h")
        (tmp_path / "h").write_text("a file, no folder")
        one.take(audit({A: FAIL}))
        assert str(status(one).last_error).startswith("the history cannot remember what the receiver knows: ")
        assert server.requests == [], "a notification that is not remembered might never be resolved"
        (tmp_path / "h").unlink()
        one.take(audit({A: FAIL}, 1))
        assert len(server.requests) == 1
        monkeypatch.setattr(notifier_module, "compare_report", lambda *_: 1 / 0)
        one.take(audit({B: FAIL}, 2))
        assert "ZeroDivisionError" in str(status(one).last_error)


def test_the_memory_is_private_and_has_no_url(tmp_path: Path) -> None:
    one = notifier([receiver("http://127.0.0.1:1" + SECRET_PATH, password="p4ss", username="me")], tmp_path / "h")
    one.take(audit({A: FAIL}))
    file = memory_file(tmp_path / "h")
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert "SECRET" not in files(tmp_path) and "p4ss" not in files(tmp_path)
    assert "SECRET" not in repr(receiver("http://127.0.0.1:1" + SECRET_PATH))


def test_credentials_are_sent(tmp_path: Path) -> None:
    with answering(OK) as server:
        basic = receiver(server.url, username="me", password="p4ss")
        one = notifier([basic, receiver(server.url, name="other", token="t0ken")], tmp_path / "h")
        one.take(audit({A: FAIL}))
        assert {each.headers["authorization"] for each in server.requests} == {"Basic bWU6cDRzcw==", "Bearer t0ken"}


def test_without_receivers_there_is_no_file(tmp_path: Path) -> None:
    one = notifier([], tmp_path / "h")
    one.take(audit({A: FAIL}))
    assert one.status() == {} and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["", "text", '{"open": 5}', "{}", None])
def test_after_the_loss_of_what_a_receiver_knows_open_findings_are_reported_again(
    damage: str | None, tmp_path: Path
) -> None:
    with answering(OK) as server:
        notifier([receiver(server.url)], tmp_path / "h").take(audit({A: FAIL}))
        file = memory_file(tmp_path / "h")
        file.unlink() if damage is None else file.write_text(damage)
        notifier([receiver(server.url)], tmp_path / "h").take(audit({A: FAIL}, 1))
        assert [request.json["changes"][0]["topic"] for request in server.requests] == ["orders", "orders"]
        assert len({request.json["id"] for request in server.requests}) == 2


def test_what_is_pending_is_delivered_after_a_restart(tmp_path: Path) -> None:
    with answering(in_turn(BUSY, BUSY, OK)) as server:
        one = notifier([receiver(server.url)], tmp_path / "h")
        one.take(audit({A: FAIL}))
        one.take(audit({A: FAIL, B: FAIL}, 1))
        two = notifier([receiver(server.url)], tmp_path / "h")
        two.take(audit({A: PASS, B: FAIL}, 2))
        assert heard(request.json for request in server.requests[1:]) == {B: "fail"}
        assert [request.json["sequence"] for request in server.requests] == [1, 1, 1, 2]


def test_many_changes_become_several_notifications(tmp_path: Path) -> None:
    with answering(OK) as server:
        one = notifier([receiver(server.url)], tmp_path / "h")
        one.take(audit({(f"t{n:03}", "null-key"): FAIL for n in range(250)}))
        assert [len(request.json["changes"]) for request in server.requests] == [100, 100, 50]
        assert [request.json["open_total"] for request in server.requests] == [100, 200, 250]
        assert [len(request.json["open"]) for request in server.requests] == [100] * 3


def test_large_changes_become_notifications_of_a_limited_size(tmp_path: Path) -> None:
    report = audit({(f"t{n:03}", "null-key"): FAIL for n in range(100)})
    report.findings[:] = [each.model_copy(update={"message": "é" * 5_000}) for each in report.findings]
    with answering(OK) as server:
        one = notifier([receiver(server.url)], tmp_path / "h")
        one.take(report)
    assert sum(len(request.json["changes"]) for request in server.requests) == 100
    assert max(len(request.body) for request in server.requests) <= notifier_module.MOST_BYTES


def test_a_malformed_header_logs_no_url(tmp_path: Path, output: Callable[[], str]) -> None:
    odd = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n: no name\r\nbroken\r\n\r\n(end)"
    with answering(odd) as server:
        one = notifier([receiver(server.url + SECRET_PATH)], tmp_path / "h")
        one.take(audit({A: FAIL}))
        assert server.requests
    assert "SECRET" not in output()
    logging.getLogger("urllib3.connection").warning("still logged elsewhere")
    assert "still logged elsewhere" in output()


def test_text_that_is_not_unicode_does_not_stop_the_deliveries(tmp_path: Path) -> None:
    with answering(OK) as server:
        one = notifier([receiver(server.url)], tmp_path / "h")
        one.take(audit({("a\ud800", "null-key"): FAIL}))
        one.take(audit({A: FAIL}, 1))
        assert heard(request.json for request in server.requests) == {A: "fail"}


def test_names_with_control_characters_are_spelled_out(tmp_path: Path) -> None:
    with answering(OK) as server:
        one = notifier([receiver(server.url)], tmp_path / "h")
        one.take(audit({("a\u202eb", "null-key"): FAIL}))
        assert json.loads(server.requests[0].body)["changes"][0]["topic"] == "a\\u202eb"


class RemoteFiles(LocalFiles):
    """Stands in for files at another address."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, url: str) -> bytes | None:
        return super().read(f"file:{self.folder}{url.removeprefix('s3a:/')}")

    def write(self, url: str, content: bytes) -> None:
        local_path(f"file:{self.folder}{url.removeprefix('s3a:/')}").parent.mkdir(parents=True, exist_ok=True)
        super().write(f"file:{self.folder}{url.removeprefix('s3a:/')}", content)


def test_a_history_at_another_address_remembers_what_a_receiver_knows(tmp_path: Path) -> None:
    with answering(OK) as server:
        for hour, verdict in enumerate((FAIL, FAIL, PASS)):
            one = Notifier(RemoteFiles(tmp_path), "s3a://bucket/history", tmp_path / "old", None)
            one.use([receiver(server.url)])
            one.take(audit({A: verdict}, hour))
    assert [request.json["changes"][0]["change"] for request in server.requests] == ["fail", "resolved"]
    assert (tmp_path / "bucket" / "history" / "v4" / "receivers" / "on-call.json").is_file()


@pytest.mark.parametrize("seed", range(8))
def test_random_histories_with_outages_and_restarts_tell_what_must_be_known(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver_random_history(seed, 6, tmp_path, monkeypatch)
