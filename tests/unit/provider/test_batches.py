"""Test that requests are sent together, one batch at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping

import pytest

from topicwarden.deploy.provider.batches import Batches
from topicwarden.deploy.provider.engine_calls import EngineCalls


class Recorder:
    """Records each batch; the first one waits until ``release`` is set."""

    def __init__(self) -> None:
        self.sent: list[dict[str, int]] = []
        self.running = 0
        self.release = threading.Event()

    def send(self, items: Mapping[str, int]) -> Mapping[str, int | Exception]:
        self.running += 1
        assert self.running == 1, "two batches at the same time"
        self.sent.append(dict(items))
        assert self.release.wait(10)
        self.running -= 1
        return {key: ValueError(key) if value < 0 else value * 2 for key, value in items.items()}


async def _submitted(batches: Batches[str, int, int], items: list[tuple[str, int]]) -> list[int | BaseException | None]:
    return await asyncio.gather(*(batches.submit(*item) for item in items), return_exceptions=True)


def test_items_that_arrive_together_share_a_batch_and_each_gets_its_result() -> None:
    recorder = Recorder()
    recorder.release.set()
    batches: Batches[str, int, int] = Batches(recorder.send, limit=100, calls=EngineCalls())
    results = asyncio.run(_submitted(batches, [("a", 1), ("b", -1), ("c", 3)]))
    assert recorder.sent == [{"a": 1, "b": -1, "c": 3}]
    assert (results[0], str(results[1]), results[2]) == (2, "b", 6)


def test_items_that_follow_soon_share_a_batch_until_it_is_full() -> None:
    recorder = Recorder()
    recorder.release.set()
    batches: Batches[str, int, int] = Batches(recorder.send, limit=3, calls=EngineCalls())

    async def run() -> None:
        tasks = []
        for name in "abcde":
            tasks.append(asyncio.create_task(batches.submit(name, 1)))
            await asyncio.sleep(0.01)
        await asyncio.gather(*tasks)

    asyncio.run(run())
    assert list(map(sorted, recorder.sent)) == [["a", "b", "c"], ["d", "e"]]


class CallsUntil(EngineCalls):
    """An engine that calls for other resources until ``done``."""

    def __init__(self) -> None:
        super().__init__()
        self.done = False

    async def quiet(self) -> bool:
        await asyncio.sleep(0)
        return self.done


def test_items_wait_as_long_as_the_engine_calls_for_anything() -> None:
    recorder, calls = Recorder(), CallsUntil()
    recorder.release.set()
    batches: Batches[str, int, int] = Batches(recorder.send, limit=100, calls=calls)

    async def run() -> None:
        first = asyncio.create_task(batches.submit("a", 1))
        for _ in range(10):
            await asyncio.sleep(0)
        second = asyncio.create_task(batches.submit("b", 1))
        await asyncio.sleep(0)
        calls.done = True
        await asyncio.gather(first, second)

    asyncio.run(run())
    assert recorder.sent == [{"a": 1, "b": 1}]


def test_items_that_arrive_at_once_need_no_wait() -> None:
    recorder = Recorder()
    recorder.release.set()
    batches: Batches[str, int, int] = Batches(recorder.send, limit=100, calls=None)
    assert asyncio.run(_submitted(batches, [("a", 1), ("b", 2)])) == [2, 4]
    assert recorder.sent == [{"a": 1, "b": 2}]


def test_items_that_arrive_during_a_request_form_the_next_batch() -> None:
    recorder = Recorder()
    batches: Batches[str, int, int] = Batches(recorder.send, limit=100, calls=EngineCalls())

    async def run() -> list[int | None]:
        first = asyncio.create_task(batches.submit("a", 1))
        while not recorder.sent:
            await asyncio.sleep(0.001)
        others = [asyncio.create_task(batches.submit(name, 1)) for name in "bcd"]
        await asyncio.sleep(0)
        recorder.release.set()
        return list(await asyncio.gather(first, *others))

    assert asyncio.run(run()) == [2, 2, 2, 2]
    assert recorder.sent == [{"a": 1}, {"b": 1, "c": 1, "d": 1}]


@pytest.mark.parametrize(
    ("weights", "sent"),
    [
        ([3, 3, 3, 3], [2, 2]),  # two fit into 7, the third does not
        ([9, 1, 1], [1, 2]),  # a heavier item is sent alone
        ([7, 7], [1, 1]),
    ],
)
def test_a_batch_is_not_heavier_than_its_limit(weights: list[int], sent: list[int]) -> None:
    recorder = Recorder()
    recorder.release.set()
    batches: Batches[str, int, int] = Batches(recorder.send, limit=7, weight=lambda item: item, calls=EngineCalls())
    asyncio.run(_submitted(batches, [(f"t{n}", weight) for n, weight in enumerate(weights)]))
    assert [len(batch) for batch in recorder.sent] == sent
    assert all(sum(batch.values()) <= 7 or len(batch) == 1 for batch in recorder.sent)
    assert sum(map(len, recorder.sent)) == len(weights)


def test_the_same_key_is_sent_once_in_a_batch() -> None:
    recorder = Recorder()
    recorder.release.set()
    batches: Batches[str, int, int] = Batches(recorder.send, limit=100, calls=EngineCalls())
    assert asyncio.run(_submitted(batches, [("a", 1), ("a", 2)])) == [2, 4]
    assert recorder.sent == [{"a": 1}, {"a": 2}]


def test_an_exception_of_the_request_is_the_result_of_every_item() -> None:
    def fail(_: Mapping[str, int]) -> Mapping[str, int | Exception]:
        raise OSError("no broker")

    batches: Batches[str, int, int] = Batches(fail, limit=100, calls=EngineCalls())
    assert list(map(str, asyncio.run(_submitted(batches, [("a", 1), ("b", 2)])))) == ["no broker", "no broker"]
