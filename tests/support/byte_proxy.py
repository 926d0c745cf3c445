"""A network that can be slow, break and go silent: a TCP proxy that passes bytes on and knows no protocol."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

HOST = "127.0.0.1"
_PIECE = 64 * 1024
_POLL_S = 0.05

Result = TypeVar("Result")


class ByteProxy:
    """A proxy with one listening port for each target port. Faults apply to all connections at once.

    Attributes:
        latency_s: the delay of each byte, in each direction, in seconds
        bytes_per_s: the bandwidth of each connection and direction; None is unlimited
        cut_after: the bytes after which a connection is cut; None is never
        silent: whether connections are accepted and no byte is passed on, like in a network that drops packets
        connected: set by each connection
    """

    def __init__(self, routes: Mapping[int, int]) -> None:
        self.latency_s = 0.0
        self.bytes_per_s: float | None = None
        self.cut_after: int | None = None
        self.silent = False
        self.connected = threading.Event()
        self._routes = routes
        self._loop = asyncio.new_event_loop()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Listen on all ports, in a thread of its own."""
        threading.Thread(target=self._loop.run_forever, name="byte-proxy", daemon=True).start()
        for port, target in self._routes.items():
            self._in_loop(self._listen(port, target))

    def stop(self) -> None:
        self.cut()
        self._in_loop(self._cancel())
        self._loop.call_soon_threadsafe(self._loop.stop)

    def cut(self) -> int:
        """Reset every connection; return how many there were."""

        async def reset() -> int:
            writers = list(self._writers)
            for writer in writers:
                _reset(writer)
            return len(writers) // 2

        return self._in_loop(reset())

    def heal(self) -> None:
        """End every fault. Connections of a silent time are cut, because their bytes are lost."""
        was_silent, self.silent = self.silent, False
        self.latency_s, self.bytes_per_s, self.cut_after = 0.0, None, None
        if was_silent:
            self.cut()

    def _in_loop(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _listen(self, port: int, target: int) -> None:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            self.connected.set()
            with suppress(OSError, asyncio.CancelledError):
                await self._connect(reader, writer, target)
            writer.transport.abort()
            self._tasks.discard(task)

        await asyncio.start_server(accept, HOST, port)

    async def _cancel(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: int) -> None:
        while self.silent:
            await asyncio.sleep(_POLL_S)
        there, back = await asyncio.open_connection(HOST, target)
        both = {writer, back}
        self._writers |= both
        try:
            await asyncio.gather(self._pass_on(reader, back), self._pass_on(there, writer))
        finally:
            self._writers -= both
            for each in both:
                each.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass bytes on until one side ends; later bytes are read while earlier ones are still delayed."""
        pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        receiving = asyncio.ensure_future(self._receive(reader, pieces))
        passed = 0
        try:
            while True:
                due, data = await pieces.get()
                await asyncio.sleep(max(0.0, due - self._loop.time()))
                while self.silent:
                    await asyncio.sleep(_POLL_S)
                if not data:
                    break
                if self.bytes_per_s:
                    await asyncio.sleep(len(data) / self.bytes_per_s)
                writer.write(data)
                await writer.drain()
                passed += len(data)
                if self.cut_after is not None and passed >= self.cut_after:
                    break
        finally:
            receiving.cancel()
            _reset(writer) if self.cut_after is not None else writer.close()

    async def _receive(self, reader: asyncio.StreamReader, pieces: asyncio.Queue[tuple[float, bytes]]) -> None:
        data = b"more"
        while data:
            try:
                data = await reader.read(_PIECE)
            except OSError:
                data = b""
            await pieces.put((self._loop.time() + self.latency_s, data))


def _reset(writer: asyncio.StreamWriter) -> None:
    """End a connection at once, with a reset instead of a regular end."""
    with suppress(OSError):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@contextmanager
def byte_proxy(routes: Mapping[int, int]) -> Iterator[ByteProxy]:
    """Yield a proxy that listens on the ports that are the keys of ``routes``, and connects to their values."""
    proxy = ByteProxy(routes)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.stop()
