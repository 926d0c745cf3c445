"""The requests of a probe, on a plain socket: Kafka's clients retry them, and do not tell why they fail."""

from __future__ import annotations

import socket
import struct
from typing import Final

TIMEOUT_S: Final = 5.0
"""How long a broker may take for one answer."""

_METADATA, _SASL_HANDSHAKE, _API_VERSIONS, _SASL_AUTHENTICATE = 3, 17, 18, 36
_LARGEST_RESPONSE: Final = 1 << 20


class OfController(ValueError):
    """Raised for a controller of KRaft, which does not answer Metadata requests."""

    def __str__(self) -> str:
        return "this is the listener of a KRaft controller, which serves no clients; use the port of a broker"


def request_api_versions(channel: socket.socket) -> None:
    """Send ApiVersions (KIP-35). Raises OSError without an answer, and ValueError if it is not that of a broker."""
    body = _exchange(channel, _API_VERSIONS, 0, b"")
    error, number = struct.unpack_from(">hi", body)
    if not error and _METADATA not in {key for key, _, _ in struct.iter_unpack(">hhh", body[6 : 6 + 6 * number])}:
        raise OfController


def request_sasl_handshake(channel: socket.socket, mechanism: str) -> tuple[int, list[str]]:
    """Return Kafka's error code for ``mechanism``, and the mechanisms that the listener offers (KIP-43)."""
    name = mechanism.encode()
    body = _exchange(channel, _SASL_HANDSHAKE, 1, struct.pack(">h", len(name)) + name)
    error, number = struct.unpack_from(">hi", body)
    offered, position = [], 6
    for _ in range(number):
        (length,) = struct.unpack_from(">h", body, position)
        offered.append(body[position + 2 : position + 2 + length].decode())
        position += 2 + length
    return error, offered


def request_sasl_authenticate(channel: socket.socket, token: bytes) -> tuple[int, str, bytes]:
    """Return Kafka's error code for ``token``, the broker's message, and its own token (KIP-152)."""
    body = _exchange(channel, _SASL_AUTHENTICATE, 0, struct.pack(">i", len(token)) + token)
    error, length = struct.unpack_from(">hh", body)
    message = body[4 : 4 + max(0, length)]
    return error, message.decode(errors="replace"), body[8 + len(message) :]


def _exchange(channel: socket.socket, api_key: int, version: int, body: bytes) -> bytes:
    """Send a request with the header of version 1 of Kafka's protocol; return the body of the response."""
    client = b"topicwarden"
    request = struct.pack(">hhih", api_key, version, 1, len(client)) + client + body
    channel.settimeout(TIMEOUT_S)
    channel.sendall(struct.pack(">i", len(request)) + request)
    size, correlation = struct.unpack(">ii", _received(channel, 8))
    if correlation != 1 or not 4 <= size <= _LARGEST_RESPONSE:
        protocol = "HTTP" if struct.pack(">i", size) == b"HTTP" else "not Kafka's protocol"
        raise ValueError(f"its answer is {protocol}")
    return _received(channel, size - 4)


def _received(channel: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        part = channel.recv(size - len(received))
        if not part:
            raise ConnectionResetError("it closed the connection")
        received += part
    return received
