"""The delivery threads of all receivers of one kind, whose settings may change while they run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from topicwarden.deliveries.delivery_queue import DeliveryQueue
from topicwarden.deliveries.delivery_thread import DeliverySender, DeliveryStatus, DeliveryThread


class NamedTarget(Protocol):
    """The settings of a receiver, with its name."""

    @property
    def name(self) -> str: ...


Target = TypeVar("Target", bound=NamedTarget)


class DeliveryThreads(Generic[Target]):
    """One thread for each target.

    ``file_of`` returns the file of the queue of a target, and ``sender_of`` its sender. ``noun`` names a payload in
    messages.
    """

    def __init__(
        self, noun: str, file_of: Callable[[Target], Path], sender_of: Callable[[Target, DeliveryQueue], DeliverySender]
    ) -> None:
        self._noun, self._file_of, self._sender_of = noun, file_of, sender_of
        self._running: dict[Path, tuple[Target, DeliveryThread]] = {}

    def use(self, targets: Sequence[Target]) -> None:
        """Deliver to ``targets`` from now on.

        Queues stay: a target with other settings gets what was pending, and so does one that was removed and returns.
        """
        running = {}
        for target in targets:
            file = self._file_of(target)
            before, thread = self._running.pop(file, (None, None))
            if thread is None:
                queue = DeliveryQueue(file)
                thread = DeliveryThread(target.name, queue, self._sender_of(target, queue), self._noun)
                thread.start()
            elif before != target:
                thread.use(self._sender_of(target, thread.queue))
            running[file] = target, thread
        removed, self._running = self._running, running
        for _, thread in removed.values():
            thread.close(0)

    def __iter__(self) -> Iterator[tuple[Target, DeliveryThread]]:
        return iter(tuple(self._running.values()))

    def status(self) -> Mapping[str, DeliveryStatus]:
        """Return the state of the deliveries, by the name of the target."""
        return {target.name: thread.status() for target, thread in self}

    def close(self, grace_s: float) -> None:
        """Stop, after at most ``grace_s`` seconds in which pending payloads are still delivered.

        Each thread stops earlier if a delivery fails.
        """
        until = time.monotonic() + grace_s
        for _, thread in self:
            thread.end()
        for _, thread in self:
            thread.close(max(until - time.monotonic(), 0.0))
