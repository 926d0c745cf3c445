"""Test the thread that delivers a queue: pauses, rejections, its end, and a queue that cannot be written."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.notices import eventually
from topicwarden.deliveries import delivery_thread
from topicwarden.deliveries.delivery_error import DeliveryError
from topicwarden.deliveries.delivery_queue import DeliveryQueue, QueueTransaction
from topicwarden.deliveries.delivery_thread import DeliverySender, DeliveryThread


class ScriptedSender(DeliverySender):
    """Keeps what arrives, and raises the next error for each attempt, if there is one."""

    def __init__(self, *errors: Exception | None) -> None:
        self.errors = list(errors)
        self.arrived: list[bytes] = []
        self.repeated = 0
        self.closed = False

    def deliver(self, content: bytes) -> None:
        if self.errors and (error := self.errors.pop(0)):
            raise error
        self.arrived.append(content)

    def repeat(self) -> None:
        self.repeated += 1

    def close(self) -> None:
        self.closed = True


Start = Callable[[DeliverySender], DeliveryThread]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    monkeypatch.setattr(delivery_thread, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(delivery_thread, "LONGEST_PAUSE_S", 0.02)
    threads: list[DeliveryThread] = []

    def started(sender: DeliverySender) -> DeliveryThread:
        threads.append(DeliveryThread("one", DeliveryQueue(tmp_path / "q.sqlite"), sender, "audit"))
        threads[-1].start()
        return threads[-1]

    yield started
    for thread in threads:
        thread.close(30)


def adding(*contents: bytes) -> Callable[[QueueTransaction], int]:
    def change(queue: QueueTransaction) -> int:
        for content in contents:
            queue.append(content)
        return 0

    return change


def test_pauses_grow_up_to_a_limit_and_differ(tmp_path: Path) -> None:
    thread = DeliveryThread("one", DeliveryQueue(tmp_path / "q"), ScriptedSender(), "audit")
    for failures in range(40):
        thread._failures = failures
        longest = min(2**failures, 300)
        pauses = {thread._pause() for _ in range(20)}
        assert all(longest / 2 <= pause <= longest for pause in pauses) and len(pauses) > 1


def test_a_requested_pause_is_waited_for(start: Start) -> None:
    thread = start(ScriptedSender(DeliveryError("is busy", retry_after=77)))
    thread.update(adding(b"a"))
    eventually(lambda: thread.status().last_error == "is busy")
    assert 60 < thread._due - time.monotonic() <= 77


def test_payloads_arrive_in_order_despite_failures(start: Start) -> None:
    sender = ScriptedSender(DeliveryError("no"), None, DeliveryError("no"), DeliveryError("no"))
    thread = start(sender)
    thread.update(adding(b"a", b"b"))
    thread.update(adding(b"c"))
    eventually(lambda: thread.status().delivered == 3)
    assert sender.arrived == [b"a", b"b", b"c"]
    assert (thread.status().pending, thread.status().last_error) == (0, None)


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (DeliveryError("refuses", rejected=True), "refuses; the audit was left out"),
        (KeyError("a value"), "the delivery failed (KeyError); the audit was left out"),
    ],
)
def test_a_rejected_payload_and_a_bug_do_not_stop_the_others(error: Exception, shown: str, start: Start) -> None:
    thread = start(ScriptedSender(error))
    thread.update(adding(b"a"))
    eventually(lambda: thread.status().rejected == 1)
    assert thread.status().last_error == shown
    thread.update(adding(b"b"))
    eventually(lambda: thread.status().delivered == 1)


def test_a_limited_error_allows_a_few_attempts_for_each_payload(start: Start) -> None:
    errors: list[Exception | None] = [DeliveryError("odd", limited=True)] * 4
    sender = ScriptedSender(*errors, None, *errors, DeliveryError("odd", limited=True))
    thread = start(sender)
    thread.update(adding(b"a", b"b", b"c"))
    eventually(lambda: thread.status().pending == 0)
    assert (sender.arrived, thread.status().rejected) == ([b"a", b"c"], 1)


def test_a_delivered_payload_that_cannot_be_removed_is_not_sent_again(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [OSError(28, "No space left on device"), OSError(28, "No space left on device")]
    remove = QueueTransaction.remove

    def failing_at_first(queue: QueueTransaction, number: int) -> None:
        if failures:
            raise failures.pop()
        remove(queue, number)

    monkeypatch.setattr(QueueTransaction, "remove", failing_at_first)
    sender = ScriptedSender()
    thread = start(sender)
    thread.update(adding(b"a", b"b"))
    eventually(lambda: thread.status().delivered == 2)
    assert sender.arrived == [b"a", b"b"] and not failures


def test_an_update_that_fails_is_an_error_of_the_status(start: Start, tmp_path: Path) -> None:
    def failing(queue: QueueTransaction) -> int:
        queue.append(b"a")
        raise ValueError("a value")

    thread = start(ScriptedSender())
    thread.update(failing)
    assert thread.status().last_error == "the audit cannot be written for this receiver (ValueError)"
    assert (thread.status().pending, thread.status().dropped) == (0, 1)


def test_a_sender_with_other_settings_takes_over_at_once(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_thread, "FIRST_PAUSE_S", 60.0)
    monkeypatch.setattr(delivery_thread, "LONGEST_PAUSE_S", 60.0)
    old, new = ScriptedSender(DeliveryError("is denied")), ScriptedSender()
    thread = start(old)
    thread.update(adding(b"a"))
    eventually(lambda: thread.status().last_error == "is denied")
    thread.use(new)
    eventually(lambda: thread.status().delivered == 1)
    assert (old.closed, old.arrived, new.arrived) == (True, [], [b"a"])


def test_a_failure_with_old_settings_does_not_delay_the_new_ones(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_thread, "FIRST_PAUSE_S", 60.0)
    monkeypatch.setattr(delivery_thread, "LONGEST_PAUSE_S", 60.0)
    began, answered = threading.Event(), threading.Event()

    class SlowSender(DeliverySender):
        def deliver(self, content: bytes) -> None:
            began.set()
            answered.wait(30)
            raise DeliveryError("is denied")

    thread = start(SlowSender())
    thread.update(adding(b"a"))
    assert began.wait(30)
    thread.use(ScriptedSender())
    answered.set()
    eventually(lambda: thread.status().delivered == 1)


def test_the_state_is_repeated_while_nothing_is_pending(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_thread, "REPEAT_S", 0.01)
    sender = ScriptedSender()
    start(sender)
    eventually(lambda: sender.repeated > 3)


def test_the_end_delivers_what_is_pending_and_closes_the_sender(start: Start) -> None:
    sender = ScriptedSender()
    thread = start(sender)
    thread.update(adding(*(b"%d" % number for number in range(20))))
    thread.close(30)
    assert len(sender.arrived) == 20 and sender.closed


def test_payloads_of_another_process_are_found(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_thread, "POLL_S", 0.01)
    sender = ScriptedSender()
    start(sender)
    with DeliveryQueue(tmp_path / "q.sqlite").transaction() as queue:
        queue.append(b"a")
    eventually(lambda: sender.arrived == [b"a"])
