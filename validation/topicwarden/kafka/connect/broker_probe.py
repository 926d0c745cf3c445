"""Finds out which addresses of brokers answer, and why the others do not.

A probe does what every Kafka client does first: it connects, negotiates TLS, and sends ApiVersions (KIP-35), which a
broker answers before authentication. Clients report all of these failures alike, and long after.
"""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, Final

from topicwarden.kafka.connect.connection import Connection, tls_context
from topicwarden.kafka.connect.remedy_settings import RemedySettings

if TYPE_CHECKING:
    from cryptography import x509


TIMEOUT_S: Final = 5.0
"""How long a broker may take for one answer."""

_METADATA, _SASL_HANDSHAKE, _API_VERSIONS, _SASL_AUTHENTICATE = 3, 17, 18, 36
_LARGEST_RESPONSE: Final = 1 << 20
_OTHER_PROTOCOL: Final = "its answer is not Kafka's protocol"


class OfController(ValueError):
    """Raised for a controller of KRaft, which does not answer Metadata requests."""

    def __str__(self) -> str:
        return "this is the listener of a KRaft controller, which serves no clients; use the port of a broker"


def request_api_versions(channel: socket.socket) -> None:
    """Send ApiVersions (KIP-35). Raises OSError without an answer, and ValueError if it is not that of a broker."""
    body = _exchange(channel, _API_VERSIONS, 0, b"")
    try:
        error, number = struct.unpack_from(">hi", body)
        requests = {key for key, _, _ in struct.iter_unpack(">hhh", body[6 : 6 + 6 * number])}
    except struct.error as short:
        raise ValueError(_OTHER_PROTOCOL) from short
    if not error and _METADATA not in requests:
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
        raise ValueError("its answer is HTTP" if struct.pack(">i", size) == b"HTTP" else _OTHER_PROTOCOL)
    return _received(channel, size - 4)


def _received(channel: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        part = channel.recv(size - len(received))
        if not part:
            raise ConnectionResetError("it closed the connection")
        received += part
    return received


_OTHERS_S: Final = 0.5
"""How long further addresses may take once one has answered: a healthy broker answers in milliseconds."""

_LIMIT_S: Final = 3 * TIMEOUT_S
_TOO_LATE: Final = f"no answer within {_LIMIT_S:.0f} s; look for a firewall in between, or correct the address"
_MOST: Final = 32
_NO_TLS: Final = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")
"""OpenSSL's reasons for an answer that is not TLS."""

_WRONG_CA: Final = (18, 19, 20, 21)
_WRONG_NAME: Final = (62, 64)
_EXPIRED: Final = 10
"""Codes of OpenSSL's ``X509_V_ERR``."""


class Unreachable(Exception):
    """The reason why one address does not answer, and the remedy."""


@dataclass(frozen=True)
class Probed:
    """The addresses that answered, and the reasons of those that did not."""

    answering: tuple[str, ...]
    failures: Mapping[str, str]


def probe(connection: Connection, addresses: Collection[str]) -> Probed:
    """Return which ``addresses`` (``host:port``) answer with the TLS settings of ``connection``.

    Addresses that have not answered half a second after the first are left out of both results, as are those after the
    first 32. Without any answer, every address has a reason, after at most 15 seconds. Raises an internal error.
    """
    probed, outcomes = list(addresses)[:_MOST], Queue[tuple[str, str | Exception | None]]()
    for address in probed:
        # A daemon, because an address that does not answer must not delay the end of the command.
        Thread(target=_probe, args=(connection, address, outcomes), name=f"probe {address}", daemon=True).start()
    reasons, deadline = dict[str, str | None](), time.monotonic() + _LIMIT_S
    while len(reasons) < len(probed):
        try:
            address, reason = outcomes.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            break
        if isinstance(reason, Exception):
            raise reason
        reasons[address] = reason
        if reason is None:
            deadline = min(deadline, time.monotonic() + _OTHERS_S)
    answering = tuple(address for address in probed if address in reasons and reasons[address] is None)
    if not answering:
        reasons = {**dict.fromkeys(probed, _TOO_LATE), **reasons}
    return Probed(answering, {address: reason for address, reason in reasons.items() if reason is not None})


def _probe(connection: Connection, address: str, outcomes: Queue[tuple[str, str | Exception | None]]) -> None:
    """Put the address, and the reason why it does not answer, None, or an internal error, into ``outcomes``."""
    try:
        with connected(connection, address):
            outcomes.put((address, None))
    except (Unreachable, OSError, ValueError) as error:
        outcomes.put((address, str(error)))
    except Exception as error:  # noqa: BLE001 -- `probe` raises it, for its thread would only print it
        outcomes.put((address, error))


def connected(connection: Connection, address: str) -> socket.socket:
    """Return a socket on which ``address`` has answered ApiVersions. Raises Unreachable."""
    host, port = _split(address)
    channel = _connect(host, port)
    try:
        if connection.tls:
            channel = _with_tls(connection, channel, host, port)
        request_api_versions(channel)
    except Unreachable:
        channel.close()
        raise
    except (OSError, ValueError) as error:
        channel.close()
        raise Unreachable(_cause(connection, host, port, error)) from error
    return channel


def _cause(connection: Connection, host: str, port: int, error: Exception) -> str:
    """Return why an address that accepts connections does not answer."""
    if isinstance(error, TimeoutError):
        return (
            f"accepts connections, but does not answer within {TIMEOUT_S:.0f} s: the broker hangs, or another service "
            "listens there"
        )
    if isinstance(error, OfController):
        return str(error)
    if isinstance(error, ssl.SSLError):
        return _refused_certificate(connection, error)
    return _without_answer(connection, host, port, error)


def _split(address: str) -> tuple[str, int]:
    """Return the host, without the brackets of IPv6, and the port of ``address``."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def _connect(host: str, port: int) -> socket.socket:
    try:
        return socket.create_connection((host, port), TIMEOUT_S)
    except socket.gaierror:
        raise Unreachable("the host name cannot be resolved; correct it, or the DNS") from None
    except ConnectionRefusedError:
        raise Unreachable("nothing listens on this port; start the broker, or correct the address") from None
    except TimeoutError:
        raise Unreachable(
            f"no connection within {TIMEOUT_S:.0f} s; look for a firewall in between, or correct the address"
        ) from None
    except OSError as error:
        raise Unreachable(f"no connection: {error.strerror or error}; correct the address") from error


def _with_tls(connection: Connection, plain: socket.socket, host: str, port: int) -> socket.socket:
    try:
        return tls_context(connection).wrap_socket(plain, server_hostname=host)
    except ssl.SSLCertVerificationError as error:
        raise Unreachable(_untrusted(connection.names, host, port, error)) from error
    except (ssl.SSLError, OSError) as error:
        if isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or "") and "VERSION" not in error.reason:
            raise
        if isinstance(error, TimeoutError):
            raise
        if _answers_without_tls(host, port):
            raise Unreachable(
                f"the listener speaks no TLS; set {connection.names.no_tls}, or use the port of a TLS listener"
            ) from error
        if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
            raise Unreachable("the listener speaks no TLS, and is no Kafka broker; correct the address") from error
        raise Unreachable(f"the TLS handshake failed: {_reason(error)}; look at the broker's log") from error


def _untrusted(names: RemedySettings, host: str, port: int, error: ssl.SSLCertVerificationError) -> str:
    from topicwarden.specs.stacks.key_material import names as names_of  # noqa: PLC0415 -- only then

    certificate = _certificate(host, port)
    if error.verify_code in _WRONG_NAME:
        valid = (
            f"is valid for {', '.join(names_of(certificate)) or 'no host name'}" if certificate else "has other names"
        )
        return f"the broker's certificate {valid}, not for {host}; use one of its names in {names.servers}"
    if error.verify_code in _WRONG_CA:
        issuer = f" ({certificate.issuer.rfc4514_string()})" if certificate else ""
        return f"the broker's certificate is of an unknown CA{issuer}; set {names.ca}"
    if error.verify_code == _EXPIRED:
        expiry = f" at {certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC" if certificate else ""
        return f"the broker's certificate expired{expiry}; renew it on the broker"
    return f"the broker's certificate is refused: {error.verify_message}; renew it on the broker"


def _certificate(host: str, port: int) -> x509.Certificate | None:
    """Return the certificate that a broker shows, of any CA; None if it shows none."""
    from cryptography import x509  # noqa: PLC0415 -- only a refused certificate is read

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with context.wrap_socket(socket.create_connection((host, port), TIMEOUT_S), server_hostname=host) as channel:
            shown = channel.getpeercert(binary_form=True)
    except OSError:
        return None
    return x509.load_der_x509_certificate(shown) if shown else None


def _refused_certificate(connection: Connection, error: ssl.SSLError) -> str:
    """Return why the broker ended TLS. With TLS 1.3, it judges the client's certificate after the handshake."""
    if connection.client_cert is None:
        return (
            f"the broker asks for a client certificate; set {connection.names.client_certificate} "
            f"(TLS: {_reason(error)})"
        )
    return (
        f"the broker refuses the client certificate (TLS: {_reason(error)}); use one that has not expired, of a CA "
        "that the broker trusts"
    )


def _without_answer(connection: Connection, host: str, port: int, error: Exception) -> str:
    """Return why a listener ends the connection instead of answering ApiVersions, or answers something else."""
    if not connection.tls and _speaks_tls(host, port):
        return f"the listener speaks TLS; set {connection.names.tls}, or use the port of a listener without TLS"
    if connection.tls and connection.client_cert is None and isinstance(error, OSError):
        return (
            "the broker ended the connection after the TLS handshake; if it asks for client certificates, set "
            f"{connection.names.client_certificate}"
        )
    return f"this is no Kafka broker, or it ends connections at once: {_reason(error)}; correct the address"


def _speaks_tls(host: str, port: int) -> bool:
    return _certificate(host, port) is not None


def _answers_without_tls(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), TIMEOUT_S) as channel:
            request_api_versions(channel)
    except (OSError, ValueError):
        return False
    return True


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.lower().replace("_", " ")
    return (error.strerror if isinstance(error, OSError) and error.strerror else None) or str(error)
