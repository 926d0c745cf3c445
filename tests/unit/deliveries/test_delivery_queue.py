"""Test the queue on disk: order, bounds, damage, and processes that are killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from topicwarden.deliveries.delivery_queue import DeliveryQueue, QueuedPayload


def test_payloads_keep_their_order_and_numbers_never_return(tmp_path: Path) -> None:
    queue = DeliveryQueue(tmp_path / "new" / "q.sqlite")
    assert (len(queue), queue.oldest(), queue.state(), list(tmp_path.iterdir())) == (0, None, "", [])
    with queue.transaction() as change:
        assert change.next_number == 1
        change.append(b"a")
        change.append(b"b")
        change.remove(2)
        assert change.next_number == 3
        change.append(b"c")
    assert queue.oldest() == (1, b"a")
    with DeliveryQueue(queue.file).transaction() as change:
        assert change.payloads() == [QueuedPayload(1, b"a"), QueuedPayload(3, b"c")]
        assert change.size == (2, 2)


def test_a_transaction_that_fails_changes_nothing(tmp_path: Path) -> None:
    queue = DeliveryQueue(tmp_path / "q.sqlite")
    with queue.transaction() as change:
        change.state = "before"
    with pytest.raises(ZeroDivisionError), queue.transaction() as change:
        change.append(b"a")
        change.state = "after"
        1 / 0  # noqa: B018
    assert (len(queue), queue.state()) == (0, "before")


def test_the_oldest_payloads_give_room_to_new_ones(tmp_path: Path) -> None:
    with DeliveryQueue(tmp_path / "q.sqlite").transaction() as queue:
        for number in range(5):
            queue.append(b"%d" % number)
        assert queue.drop_oldest(3, 100) == 2
        assert [each.content for each in queue.payloads()] == [b"2", b"3", b"4"]
        queue.append(b"12345")
        assert queue.drop_oldest(3, 4) == 3
        assert [each.content for each in queue.payloads()] == [b"12345"]


def test_an_emptied_queue_gives_back_its_space(tmp_path: Path) -> None:
    queue = DeliveryQueue(tmp_path / "q.sqlite")
    with queue.transaction() as change:
        change.append(bytes(1 << 20))
    large = queue.file.stat().st_size
    with queue.transaction() as change:
        change.remove(1)
    assert queue.file.stat().st_size < large / 10


@pytest.mark.parametrize("damage", [b"{" * 600, b"SQLite format 3\0" + bytes(90), b"x" * 10_000])
def test_a_damaged_file_is_renamed_and_the_queue_begins_empty(damage: bytes, tmp_path: Path) -> None:
    file = tmp_path / "q.sqlite"
    file.write_bytes(damage)
    queue = DeliveryQueue(file)
    with queue.transaction() as change:
        change.append(b"a")
    assert queue.damaged and len(queue) == 1 and not DeliveryQueue(file).damaged
    assert file.with_suffix(".damaged").read_bytes() == damage


def test_a_cut_file_and_one_of_another_version_are_damaged(tmp_path: Path) -> None:
    queue = DeliveryQueue(tmp_path / "q.sqlite")
    with queue.transaction() as change:
        change.append(bytes(100_000))
    whole = queue.file.read_bytes()
    queue.file.write_bytes(whole[:50_000])
    assert DeliveryQueue(queue.file).damaged
    queue.file.write_bytes(whole[:60] + b"\0\0\0\x07" + whole[64:])
    assert DeliveryQueue(queue.file).damaged
    queue.file.write_bytes(whole)
    assert not DeliveryQueue(queue.file).damaged and len(DeliveryQueue(queue.file)) == 1


def test_a_file_that_cannot_be_used_is_an_error_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="exists"), DeliveryQueue(tmp_path / "file" / "q").transaction():
        pass
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="unable to open database file"), DeliveryQueue(tmp_path / "folder").transaction():
        pass


def test_a_killed_process_leaves_whole_transactions(tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from topicwarden.deliveries.delivery_queue import DeliveryQueue
queue = DeliveryQueue(Path({str(tmp_path / "q.sqlite")!r}))
while True:
    with queue.transaction() as change:
        change.state = str(change.next_number)
        change.append(change.state.encode() * 2_000)
    print(flush=True)
"""
    queue, written = DeliveryQueue(tmp_path / "q.sqlite"), 0
    for number in range(3):
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            for _ in range(10 * number + 1):
                process.stdout.readline()
            process.kill()
            rest = process.stdout.read()
        assert process.returncode == -signal.SIGKILL
        written += 10 * number + 1 + rest.count("\n")
        with queue.transaction() as change:
            payloads = change.payloads()
            assert [each.number for each in payloads] == list(range(1, len(payloads) + 1))
            assert all(each.content == str(each.number).encode() * 2_000 for each in payloads)
            assert int(change.state) == len(payloads)
            assert written <= len(payloads) <= written + 1
            written = len(payloads)
