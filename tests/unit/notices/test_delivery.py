"""Test deliveries to servers on loopback: refusals, outages, restarts, secrets, and what a receiver must know."""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_answers import SLOW, Answer, Request, answering, http
from tests.support.notices import EXCERPT, SECRET_PATH, KnownFindings, audit, eventually, heard, receiver
from topicwarden.deliveries import delivery_thread, post_client
from topicwarden.deliveries.delivery_thread import DeliveryStatus, DeliveryThread
from topicwarden.model.problem import Refusal
from topicwarden.model.verdict import Verdict
from topicwarden.notices import notifier as notifier_module
from topicwarden.notices.notifier import Notifier, notifying
from topicwarden.stacks.receiver_settings import Receiver

PASS, FAIL, UNDECIDABLE = Verdict.PASS, Verdict.FAIL, Verdict.UNDECIDABLE
A, B = ("orders", "null-key"), ("bills", "retention")
OK, BUSY = http(b"ok"), http(b"", "503 Service Unavailable")
ANY_TIME = 60.0


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_thread, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(delivery_thread, "LONGEST_PAUSE_S", 0.05)


@pytest.fixture
def output(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[Callable[[], str]]:
    """Return everything that was logged and printed; without the Kafka clients of earlier tests."""
    caplog.set_level(logging.DEBUG)
    caplog.handler.addFilter(lambda record: not record.name.startswith("kafka."))
    yield lambda: caplog.text + "".join(capfd.readouterr())


def settled(notifier: Notifier, *, pending: int = 0) -> None:
    eventually(lambda: all(each.pending == pending for each in notifier.status().values()))


def in_turn(*answers: Answer) -> Callable[[Request], bytes | None]:
    """Return the answers one after the other, and then the last one again."""
    rest = list(answers)

    def answer(request: Request) -> bytes | None:
        now = rest.pop(0) if len(rest) > 1 else rest[0]
        return now(request) if callable(now) else now

    return answer


def files(folder: Path) -> str:
    return "".join(path.read_bytes().decode(errors="replace") for path in folder.rglob("*") if path.is_file())


def thread_of(notifier: Notifier, name: str = "on-call") -> DeliveryThread:
    return next(thread for target, thread in notifier._threads if target.name == name)


def suspend(notifier: Notifier) -> None:
    """Deliver nothing until `resume`, as after a failure."""
    thread = thread_of(notifier)
    eventually(lambda: thread._due > time.monotonic())
    thread._failures, thread._due = 1, time.monotonic() + ANY_TIME


def resume(notifier: Notifier) -> None:
    thread = thread_of(notifier)
    with thread._changed:
        thread._failures = 0
        thread._wake()


def test_a_notification_arrives_with_its_id_and_no_excerpt(tmp_path: Path) -> None:
    with answering(OK) as server, notifying([receiver(server.url + SECRET_PATH)], tmp_path / "s", "https://r") as one:
        one.take(audit({A: FAIL, B: PASS}))
        settled(one)
        (request,) = server.requests
        assert (request.method, request.path) == ("POST", SECRET_PATH)
        assert request.headers["idempotency-key"] == request.json["id"]
        assert request.json["report_url"] == "https://r"
        assert [(each["topic"], each["change"]) for each in request.json["changes"]] == [("orders", "fail")]
        assert EXCERPT not in request.body.decode() + files(tmp_path)
        assert one.status()["on-call"] == DeliveryStatus(delivered=1)


def test_a_failed_delivery_is_repeated_with_the_same_body_and_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: Callable[[], str]
) -> None:
    monkeypatch.setattr(post_client, "TIMEOUT_S", 0.3)
    answers = (BUSY, b"", None, http(b"", "302 Found", "Location: http://127.0.0.1:1/"), OK)
    with answering(in_turn(*answers)) as server:
        with notifying([receiver(server.url + SECRET_PATH)], tmp_path / "s", None) as one:
            one.take(audit({A: FAIL}))
            settled(one)
            assert one.status()["on-call"] == DeliveryStatus(delivered=1)
        assert len({request.body for request in server.requests}) == 1 and len(server.requests) >= len(answers)
        assert len({request.headers["idempotency-key"] for request in server.requests}) == 1
        shown = output() + files(tmp_path) + repr(one.status())
        assert SECRET_PATH not in shown and "127.0.0.1" not in shown and "SECRET" not in shown


@pytest.mark.parametrize("status", ["400 Bad Request", "413 Large", "422 Odd"])
def test_a_rejected_notification_is_left_out_with_a_note(
    status: str, tmp_path: Path, output: Callable[[], str]
) -> None:
    refused = http(f"no_service {SECRET_PATH}".encode(), status)
    with (
        answering(in_turn(refused, OK)) as server,
        notifying([receiver(server.url + SECRET_PATH, token="t0ken")], tmp_path / "s", None) as one,
    ):
        one.take(audit({A: FAIL}))
        settled(one)
        now = one.status()["on-call"]
        assert (now.delivered, now.rejected) == (0, 1)
        assert str(now.last_error).endswith(": it does not accept the content; the notification was left out")
        one.take(audit({A: FAIL, B: FAIL}, 1))
        settled(one)
        assert [change["topic"] for change in server.requests[-1].json["changes"]] == ["bills"]
        after = one.status()["on-call"]
        assert (after.delivered, after.rejected, after.last_error) == (1, 1, None)
        shown = output() + files(tmp_path) + str(now)
        assert SECRET_PATH not in shown and "t0ken" not in shown


def test_a_changed_secret_delivers_what_was_denied_with_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_thread, "FIRST_PAUSE_S", ANY_TIME)
    monkeypatch.setattr(delivery_thread, "LONGEST_PAUSE_S", ANY_TIME)

    def answer(request: Request) -> bytes:
        return OK if request.headers["authorization"] == "Bearer new" else http(b"", "401 Unauthorized")

    with answering(answer) as server, notifying([receiver(server.url, token="old")], tmp_path / "s", None) as one:
        one.take(audit({A: FAIL}))
        eventually(lambda: one.status()["on-call"].last_error)
        assert one.status()["on-call"].last_error == "answered 401 Unauthorized; correct its credentials"
        one.take(audit({A: PASS}, 1))
        assert one.status()["on-call"].pending == 2
        one.use([receiver(server.url, token="new"), receiver(server.url, token="new", name="other")])
        settled(one)
        one.take(audit({A: PASS, B: FAIL}, 2))
        settled(one)
        assert (one.status()["on-call"].delivered, one.status()["other"].delivered) == (3, 1)
        assert [each.json["sequence"] for each in server.requests][:4] == [1, 1, 2, 3]


def test_a_receiver_that_is_removed_keeps_its_queue_until_it_returns(tmp_path: Path) -> None:
    to = [receiver("http://127.0.0.1:1")]
    with answering(OK) as server, notifying(to, tmp_path / "s", None) as one:
        one.take(audit({A: FAIL}))
        one.use([])
        one.take(audit({B: FAIL}, 1))
        assert one.status() == {}
        one.use([receiver(server.url)])
        settled(one)
        one.take(audit({A: FAIL, B: FAIL}, 2))
        settled(one)
    assert heard(request.json for request in server.requests) == {A: "fail", B: "fail"}


def test_taking_a_report_does_not_wait_for_a_receiver_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifier_module, "GRACE_S", 0.05)
    with answering(None) as hangs, answering(OK) as works:
        receivers = [receiver(hangs.url), receiver(works.url, name="other")]
        with notifying(receivers, tmp_path / "s", None) as one:
            one.take(audit({A: FAIL}))
            eventually(lambda: hangs.requests)
            one.take(audit({A: PASS}, 1))
            eventually(lambda: one.status()["other"].delivered == 2)
            assert (one.status()["on-call"].pending, one.status()["on-call"].delivered) == (2, 0)
        assert len(works.requests) == 2
        hangs.stop.set()


def test_taking_a_report_never_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(OK) as server, notifying([receiver(server.url)], tmp_path / "s", None) as one:
        (tmp_path / "s").rename(tmp_path / "gone")
        one.take(audit({A: FAIL}))
        settled(one)
        assert len(server.requests) == 1
        monkeypatch.setattr(notifier_module, "compare_report", lambda *_: 1 / 0)
        one.take(audit({B: FAIL}))
        assert "ZeroDivisionError" in str(one.status()["on-call"].last_error)


def test_a_folder_that_exists_keeps_its_permissions(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o755)
    (tmp_path / "link").symlink_to(folder)
    for state in (folder, tmp_path / "link"):
        with notifying([receiver("http://127.0.0.1:1")], state, None) as one:
            one.take(audit({A: FAIL}))
        assert folder.stat().st_mode & 0o777 == 0o755
        assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_state_is_private_and_has_no_url(tmp_path: Path) -> None:
    state = tmp_path / "a" / "s"
    state.parent.mkdir()
    with notifying([receiver("http://127.0.0.1:1" + SECRET_PATH, password="p4ss", username="me")], state, None) as one:
        one.take(audit({A: FAIL}))
        eventually(lambda: one.status()["on-call"].last_error)
        assert one.status()["on-call"].last_error == "refused the connection"
        assert state.stat().st_mode & 0o777 == 0o700
        assert {path.stat().st_mode & 0o777 for path in state.iterdir()} == {0o600}
        assert "SECRET" not in files(state) and "p4ss" not in files(state)
    assert "SECRET" not in repr(receiver("http://127.0.0.1:1" + SECRET_PATH))


def test_credentials_are_sent(tmp_path: Path) -> None:
    with answering(OK) as server:
        receivers = [
            receiver(server.url, username="me", password="p4ss"),
            receiver(server.url, name="other", token="t0ken"),
        ]
        with notifying(receivers, tmp_path / "s", None) as one:
            one.take(audit({A: FAIL}))
            settled(one)
        assert {each.headers["authorization"] for each in server.requests} == {"Basic bWU6cDRzcw==", "Bearer t0ken"}


def test_one_process_at_a_time_uses_a_folder(tmp_path: Path) -> None:
    to = [receiver("http://127.0.0.1:1")]
    with notifying(to, tmp_path / "s", None), pytest.raises(Refusal, match="another process sends notifications"):  # noqa: SIM117
        with notifying(to, tmp_path / "s", None):
            pass
    with notifying(to, tmp_path / "s", None):
        pass
    (tmp_path / "file").write_text("")
    with pytest.raises(Refusal, match="cannot be written"), notifying(to, tmp_path / "file" / "s", None):
        pass


def test_without_receivers_there_is_no_folder(tmp_path: Path) -> None:
    with notifying([], tmp_path / "s", None) as one:
        one.take(audit({A: FAIL}))
    assert one.status() == {} and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["", "text", '{"open": 5}', "{}"])
def test_after_the_loss_of_what_a_receiver_knows_open_findings_are_reported_again(damage: str, tmp_path: Path) -> None:
    state = tmp_path / "s"
    with notifying([receiver("http://127.0.0.1:1")], state, None) as one:
        one.take(audit({A: PASS}))
        with thread_of(one).queue.transaction() as queue:
            queue.state = damage
    if damage == "text":
        (state / "on-call.sqlite").write_text(damage)
    with answering(OK) as server, notifying([receiver(server.url)], state, None) as one:
        one.take(audit({A: FAIL}))
        settled(one)
        assert [change["topic"] for change in server.requests[0].json["changes"]] == ["orders"]
        assert (damage == "text") == (state / "on-call.damaged").exists()


def test_pending_notifications_are_delivered_after_a_restart(tmp_path: Path) -> None:
    with answering(in_turn(BUSY, OK)) as server:
        with notifying([receiver(server.url)], tmp_path / "s", None) as one:
            suspend(one)
            one.take(audit({A: FAIL}))
            one.take(audit({A: FAIL, B: FAIL}, 1))
            one.take(audit({A: PASS, B: FAIL}, 2))
        assert server.requests == []
        with notifying([receiver(server.url)], tmp_path / "s", None) as one:
            settled(one)
            one.take(audit({A: PASS, B: FAIL}, 3))
            settled(one)
        assert heard(request.json for request in server.requests) == {B: "fail"}
        assert [request.json["sequence"] for request in server.requests] == [1, 1, 2, 3]


def test_the_end_delivers_what_is_pending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier_module, "GRACE_S", ANY_TIME)
    with answering(OK) as server:
        with notifying([receiver(server.url)], tmp_path / "s", None) as one:
            for index in range(20):
                one.take(audit({A: PASS if index % 2 else FAIL}, index))
        assert len(server.requests) == 20


def test_the_end_does_not_wait_for_a_receiver_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier_module, "GRACE_S", 0.05)
    with answering(None) as server:
        with notifying([receiver(server.url)], tmp_path / "s", None) as one:
            one.take(audit({A: FAIL}))
            eventually(lambda: server.requests)
        assert thread_of(one)._thread.is_alive()
        server.stop.set()
        eventually(lambda: not thread_of(one)._thread.is_alive())
        assert one.status()["on-call"].pending == 1, "the delivery is repeated by the next process"


def test_old_changes_are_combined_into_the_present_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier_module, "MOST_PENDING", 10)
    model = KnownFindings()
    with answering(OK) as server, notifying([receiver(server.url)], tmp_path / "s", None) as one:
        suspend(one)
        for hour in range(60):
            report = audit({(f"t{n}", "null-key"): FAIL if (hour + n) % 3 else PASS for n in range(4)}, hour)
            one.take(report)
            model.audited(report)
            assert one.status()["on-call"].pending <= 12
        resume(one)
        settled(one)
        assert heard(request.json for request in server.requests) == model.known
        assert sum(request.json["combined"] for request in server.requests) == 1
        assert server.requests[0].json["sequence"] == 1, "the first one may have arrived"


def test_many_changes_become_several_notifications(tmp_path: Path) -> None:
    with answering(OK) as server, notifying([receiver(server.url)], tmp_path / "s", None) as one:
        one.take(audit({(f"t{n:03}", "null-key"): FAIL for n in range(250)}))
        settled(one)
        assert [len(request.json["changes"]) for request in server.requests] == [100, 100, 50]


def test_open_alerts_are_sent_again_and_resolved_ones_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_thread, "REPEAT_S", 0.02)
    with answering(OK) as server:
        with notifying([receiver(server.url + "/base/", "alertmanager")], tmp_path / "s", None) as one:
            one.take(audit({A: FAIL, B: FAIL}))
            eventually(lambda: len(server.requests) > 5)
            one.take(audit({A: PASS, B: FAIL}, 1))
            settled(one)
            count = len(server.requests)
            eventually(lambda: len(server.requests) > count + 5)
        assert {request.path for request in server.requests} == {"/base/api/v2/alerts"}
        last = server.requests[-1].json
        assert [alert["labels"]["topic"] for alert in last] == ["bills"]
        count = len(server.requests)
        with notifying([receiver(server.url, "alertmanager")], tmp_path / "s", None):
            eventually(lambda: len(server.requests) > count)
        assert [alert["labels"]["topic"] for alert in server.requests[count].json] == ["bills"]


def test_a_malformed_header_logs_no_url(tmp_path: Path, output: Callable[[], str]) -> None:
    odd = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n: no name\r\nbroken\r\n\r\n(end)"
    with answering(odd) as server, notifying([receiver(server.url + SECRET_PATH)], tmp_path / "s", None) as one:
        one.take(audit({A: FAIL}))
        eventually(lambda: server.requests)
        settled(one)
    assert "SECRET" not in output()
    logging.getLogger("urllib3.connection").warning("still logged elsewhere")
    assert "still logged elsewhere" in output()


def test_text_that_is_not_unicode_does_not_stop_the_deliveries(tmp_path: Path) -> None:
    with answering(OK) as server, notifying([receiver(server.url)], tmp_path / "s", None) as one:
        one.take(audit({("a\ud800", "null-key"): FAIL}))
        settled(one)
        one.take(audit({A: FAIL}, 1))
        settled(one)
        assert heard(request.json for request in server.requests) == {A: "fail"}
        assert thread_of(one)._thread.is_alive()


class FlakyReceiver:
    """A receiver that answers, refuses, hangs and closes at random, and keeps every notification that it accepted.

    Some answers are lost after the notification was accepted.
    """

    def __init__(self, draw: random.Random) -> None:
        self.draw, self.healthy = draw, False
        self.accepted: list[Any] = []
        self.lock = threading.Lock()

    def answer(self, request: Request) -> bytes | None:
        with self.lock:
            choice = 9 if self.healthy else self.draw.randrange(10)
            if choice >= 6:
                self.accepted.append(request.json)
                return OK if choice > 6 else b""
        answers = (BUSY, b"", http(b"", "429 Too Many Requests"), http(b"", "302 Found"), SLOW, BUSY)
        return answers[choice]


def wait_for_progress(one: Notifier, requests: list[Request]) -> None:
    """Wait for another request, or until nothing is pending."""
    arrived = len(requests)
    eventually(lambda: len(requests) > arrived or one.status()["on-call"].pending == 0)


@pytest.mark.parametrize("seed", range(8))
def test_random_histories_with_outages_and_restarts_tell_what_must_be_known(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(post_client, "TIMEOUT_S", 0.15)
    monkeypatch.setattr(notifier_module, "GRACE_S", 0.02)
    monkeypatch.setattr(notifier_module, "MOST_PENDING", 12)
    draw = random.Random(seed)
    flaky, model = FlakyReceiver(random.Random(seed)), KnownFindings()
    keys = [(topic, check) for topic in "abc" for check in ("null-key", "retention")]
    hours = 0.0
    with answering(flaky.answer) as server:
        to: list[Receiver] = [receiver(server.url)]
        for _ in range(6):
            with notifying(to, tmp_path / "s", None) as one:
                for _ in range(draw.randrange(1, 15)):
                    hours += draw.choice((0.2, 0.5, 1, 2))
                    verdicts = {key: draw.choice(list(Verdict)) for key in keys if draw.random() < 0.7}
                    report = audit(verdicts, hours, topics="abc")
                    one.take(report)
                    model.audited(report)
                    if draw.random() < 0.3:
                        wait_for_progress(one, server.requests)
        flaky.healthy = True
        with notifying(to, tmp_path / "s", None) as one:
            settled(one)
    assert heard(flaky.accepted) == model.known


def test_a_host_that_is_unknown_or_does_not_speak_tls_is_named_by_its_fault(tmp_path: Path) -> None:
    with answering(OK) as plain:
        addresses = {
            "unknown": ("https://receiver.invalid/SECRET", "unknown host name"),
            "plain": (plain.url.replace("http:", "https:") + "/SECRET", "could not agree on TLS"),
        }
        to = [receiver(url, name=name) for name, (url, _) in addresses.items()]
        with notifying(to, tmp_path / "s", None) as one:
            one.take(audit({A: FAIL}))
            eventually(lambda: all(each.last_error for each in one.status().values()))
            for name, (_, error) in addresses.items():
                shown = str(one.status()[name].last_error)
                assert error in shown and "SECRET" not in shown and "receiver.invalid" not in shown, shown


def test_names_with_control_characters_are_spelled_out(tmp_path: Path) -> None:
    with answering(OK) as server, notifying([receiver(server.url)], tmp_path / "s", None) as one:
        one.take(audit({("a\u202eb", "null-key"): FAIL}))
        settled(one)
        assert json.loads(server.requests[0].body)["changes"][0]["topic"] == "a\\u202eb"
