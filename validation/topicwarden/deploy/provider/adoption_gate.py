"""Lets the engine adopt topics only all together, and change nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Lock
from typing import Final

from topicwarden.deploy.provider.errors import reason_of
from topicwarden.kafka.connect.request_errors import RequestError
from topicwarden.kinds.properties import Properties
from topicwarden.kinds.topic.resource import TOPIC
from topicwarden.model.problem import Refusal

NOT_ALL: Final = "nothing is adopted, because not every topic can be"
"""The error of each topic, whatever the reason is."""


class AdoptionGate:
    """Holds the engine's imports of ``topics`` until none can fail any more; then either all succeed, or all fail.

    An import is a read. The engine writes a topic into its state when it gets the answer. So no answer is sent before
    the program has ended well, and the engine has asked for each of the topics, and each is on the cluster as
    declared. ``topics`` has the declared properties of each. ``reason`` says why nothing was adopted, if the program is
    not the reason.
    """

    def __init__(self, topics: Mapping[str, Properties]) -> None:
        self._topics, self._awaited = topics, set(topics)
        self._registered = False
        self._lock = Lock()
        self._outcome: Future[bool] = Future()
        self.reason: str | None = None

    @property
    def adopted(self) -> bool:
        """True if the engine may adopt the topics."""
        return self._outcome.done() and self._outcome.result()

    @contextmanager
    def registering(self) -> Iterator[None]:
        """Wait for the program that runs in the block; nothing is adopted if it raises an exception."""
        try:
            yield
        except BaseException:
            self.close()
            raise
        with self._lock:
            self._registered = True
        self._open_if_complete()

    def close(self, reason: str | None = None) -> None:
        """Let all imports fail, unless all have succeeded."""
        with self._lock:
            if not self._outcome.done():
                self.reason = reason
                self._outcome.set_result(False)

    def refuse_write(self, verb: str, name: str) -> Refusal:
        """Return the error for a write that the engine asks for, and adopt nothing."""
        self.close(f"Pulumi would also {verb} {name}")
        return Refusal(f"an import changes nothing on the cluster, so it does not {verb} this resource")

    async def read(self, topic: str, read: Callable[[], Awaitable[Properties | None]]) -> Properties | None:
        """Return the properties that ``read`` returns, when all topics can be adopted; raise Refusal if they cannot."""
        try:
            found = await read()
        except (RequestError, Refusal, ValueError) as error:
            self.close(f"{topic}: {reason_of(error)}")
            raise
        if topic not in self._topics:
            self.close(f"Pulumi would also import {topic}")
        elif found is None:
            self.close(f"{topic} is not on the cluster any more")
        elif paths := TOPIC.difference(found, self._topics[topic]).paths:
            self.close(f"{topic} is not on the cluster as declared any more: {', '.join(sorted(paths))} differs")
        self._arrive(topic)
        if not await asyncio.shield(asyncio.wrap_future(self._outcome)):
            raise Refusal(NOT_ALL)
        return found

    def _arrive(self, topic: str) -> None:
        with self._lock:
            self._awaited.discard(topic)
        self._open_if_complete()

    def _open_if_complete(self) -> None:
        with self._lock:
            if self._registered and not self._awaited and not self._outcome.done():
                self._outcome.set_result(True)
