"""Test that what waits in the queue of an earlier version is delivered, or named once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.http_answers import answering, http
from tests.support.notices import audit, heard, notifier, old_queue, receiver, waiting_queue
from topicwarden.model.verdict import Verdict
from topicwarden.operations.notices.old_queue import left_queues

FAIL, PASS = Verdict.FAIL, Verdict.PASS
A, B = ("orders", "null-key"), ("bills", "retention")


def test_what_waits_in_an_old_queue_is_delivered_with_its_id(tmp_path: Path) -> None:
    file = tmp_path / "old" / "on-call.sqlite"
    waiting_queue(file)
    with answering(http(b"ok")) as server:
        notifier([receiver(server.url)], tmp_path / "h").take(audit({A: PASS, B: FAIL}, 3))
        notifier([receiver(server.url)], tmp_path / "h").take(audit({A: PASS, B: FAIL}, 4))
    sent = [request.json for request in server.requests]
    assert heard(sent) == {B: "fail"}
    assert [(each["id"] == "id-1", each["sequence"]) for each in sent] == [(True, 1), (False, 4)]
    assert not file.exists()


def test_an_old_queue_stays_until_its_contents_are_in_the_history(tmp_path: Path) -> None:
    file = tmp_path / "old" / "on-call.sqlite"
    waiting_queue(file)
    (tmp_path / "h").write_text("a file, no folder")
    one = notifier([receiver("http://127.0.0.1:1")], tmp_path / "h")
    one.take(audit({A: PASS, B: FAIL}, 3))
    assert file.exists()
    (tmp_path / "h").unlink()
    one.take(audit({A: PASS, B: FAIL}, 4))
    assert one.status()["on-call"].pending == 3 and not file.exists()


def test_a_queue_without_a_receiver_and_a_damaged_one_are_named_once(tmp_path: Path) -> None:
    waiting_queue(tmp_path / "alerts.sqlite")
    waiting_queue(tmp_path / "on-call.sqlite")
    old_queue(tmp_path / "quiet.sqlite", "{}", [])
    (tmp_path / "torn.sqlite").write_text("text")
    lines = list(left_queues(tmp_path, {"on-call", "torn"}))
    assert lines == [
        f'{tmp_path}/alerts.unused: the stack has no receiver "alerts"; not delivered: null-key on orders: fail, '
        "null-key on orders: resolved, retention on bills: fail",
        f"{tmp_path}/torn.unused is a damaged queue of an earlier version; what waited in it is lost",
    ]
    assert list(left_queues(tmp_path, {"on-call", "torn"})) == []
    assert (tmp_path / "on-call.sqlite").exists()


@pytest.mark.parametrize("state", ["", "text", '{"open": 5}'])
def test_an_unreadable_state_of_an_old_queue_counts_as_none(state: str, tmp_path: Path) -> None:
    old_queue(tmp_path / "old" / "on-call.sqlite", state, [])
    with answering(http(b"ok")) as server:
        notifier([receiver(server.url)], tmp_path / "h").take(audit({A: FAIL}))
        assert heard(request.json for request in server.requests) == {A: "fail"}
