"""Sends what many resources ask for in a few requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable, Mapping
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")
Result = TypeVar("Result")
_QUIET_S: Final = 0.2
"""The engine calls at least this often, in seconds, while a program registers resources one after another."""


class EngineCalls:
    """The calls of the engine, of all resources together: as long as it calls, more resources follow."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def note(self) -> None:
        """Note that the engine calls now."""
        self._last = time.monotonic()

    async def quiet(self) -> bool:
        """Return whether the engine has not called for a while; otherwise wait until then, and return False."""
        remaining = self._last + _QUIET_S - time.monotonic()
        if remaining <= 0:
            return True
        await asyncio.sleep(remaining)
        return False


class Batches(Generic[Key, Item, Result]):
    """Collects items while a request runs, and sends them together with the next one.

    ``send`` runs in a thread, one call at a time. It takes items by key, and returns results and exceptions by key.
    The weights of the items of a batch have a sum of at most ``limit``; a heavier item is sent alone. A batch that is
    not full waits as long as the engine calls; None for ``calls`` if all items arrive at once.
    """

    def __init__(
        self,
        send: Callable[[Mapping[Key, Item]], Mapping[Key, Result | Exception]],
        limit: int,
        weight: Callable[[Item], int] = lambda _: 1,
        *,
        calls: EngineCalls | None,
    ) -> None:
        self._send, self._limit, self._weight, self._calls = send, limit, weight, calls
        self._waiting: list[tuple[Key, Item, asyncio.Future[Result | None]]] = []
        self._running: asyncio.Task[None] | None = None

    async def submit(self, key: Key, item: Item) -> Result | None:
        """Send ``item`` with the next batch and return its result; raises the exception that ``send`` returned.

        Returns None if ``send`` returned neither for ``key``.
        """
        future: asyncio.Future[Result | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((key, item, future))
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        while self._waiting:
            await self._linger()
            batch = self._next_batch()
            try:
                results = await asyncio.to_thread(self._send, {key: item for key, item, _ in batch})
            except Exception as error:  # noqa: BLE001 - each resource of the batch reports it
                results = dict.fromkeys([key for key, _, _ in batch], error)
            for key, _, future in batch:
                if future.cancelled():
                    continue
                result = results.get(key)
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(result)

    async def _linger(self) -> None:
        """Wait until the batch is full, or the engine is quiet.

        A small batch costs more than it saves: brokers show its topics only after they have created the logs of the
        batch before, which takes seconds for a thousand topics.
        """
        await asyncio.sleep(0)  # the items that arrive at once
        if self._calls is None:
            return
        while sum(self._weight(item) for _, item, _ in self._waiting) < self._limit and not await self._calls.quiet():
            pass

    def _next_batch(self) -> list[tuple[Key, Item, asyncio.Future[Result | None]]]:
        """Take the first items that fit together, each key once; the rest stays for the next batch."""
        taken: dict[Key, tuple[Key, Item, asyncio.Future[Result | None]]] = {}
        rest, total = [], 0
        for entry in self._waiting:
            weight = self._weight(entry[1])
            if entry[0] in taken or (taken and total + weight > self._limit):
                rest.append(entry)
                continue
            taken[entry[0]] = entry
            total += weight
        self._waiting = rest
        return list(taken.values())
