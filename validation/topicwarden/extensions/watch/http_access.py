"""Limit who can reach the HTTP server of a watch: by the address on which it listens, and the bearer token of clients.

Addresses are written ``127.0.0.1:9464``, ``[::1]:9464`` or ``0.0.0.0:9464``. The token is in a file that may be rotated
while the watch runs.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from topicwarden.model.files import read_regular_file
from topicwarden.model.message_text import quoted
from topicwarden.model.problem import Refusal

_WRITTEN: Final = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<four>[^:\[\]]+)):(?P<port>[0-9]{1,5})", re.ASCII)
_LARGEST_PORT: Final = 65_535

SHORTEST: Final = 16
"""The fewest characters of a token."""
_MOST_BYTES: Final = 4096
"""The most bytes of the file of a token."""
_TOKEN: Final = re.compile(rb"[\x21-\x7e]+")


@dataclass(frozen=True)
class ListenAddress:
    """An IP address and a port; port 0 is any free port."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Return whether only this machine can reach the address."""
        return ipaddress.ip_address(self.host).is_loopback

    @property
    def ipv6(self) -> bool:
        return ipaddress.ip_address(self.host).version == 6

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if self.ipv6 else f"{self.host}:{self.port}"


def listen_address(text: str, *, with_token: bool) -> ListenAddress:
    """Return the address that ``text`` names; ``localhost`` is ``127.0.0.1``.

    Raises Refusal for a text without an IP address and a port, and for an address that other machines can reach if
    there is no token.
    """
    written = _WRITTEN.fullmatch(text)
    host = (written["six"] or written["four"]) if written else ""
    try:
        ip = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        written = None
    if written is None or int(written["port"]) > _LARGEST_PORT:
        raise Refusal(f"--listen: expected an IP address and a port, such as 127.0.0.1:9464, got {quoted(text)}")
    address = ListenAddress(str(ip), int(written["port"]))
    if not address.loopback and not with_token:
        raise Refusal(
            f"--listen {text}: other machines can reach this address, so a token is needed: pass --token-file, or "
            "listen on 127.0.0.1"
        )
    return address


def token_check(path: Path) -> Callable[[str], bool]:
    """Return a function that tells whether an ``Authorization`` header has the token in the file ``path``.

    The file is read for each request: a new token counts at once. If the file is missing or invalid, no request has
    the token. Raises Refusal if the file is invalid now. No message contains the token.
    """
    _read_token(path)

    def has_token(header: str) -> bool:
        scheme, _, credentials = header.strip().partition(" ")
        try:
            token = _read_token(path)
        except Refusal:
            return False
        same = hmac.compare_digest(_digest(credentials.strip().encode("latin-1", "replace")), _digest(token))
        return scheme.lower() == "bearer" and same

    return has_token


def _digest(text: bytes) -> bytes:
    """Return a digest, whose length does not depend on the token's."""
    return sha256(text).digest()


def _read_token(path: Path) -> bytes:
    try:
        token = read_regular_file(path, _MOST_BYTES).strip()
    except OSError as error:
        raise Refusal(f"--token-file {path} cannot be read: {error.strerror}") from error
    if len(token) < SHORTEST or not _TOKEN.fullmatch(token):
        raise Refusal(
            f"--token-file {path}: expected one token of at least {SHORTEST} printable characters without spaces, such "
            "as the output of `openssl rand -hex 32`"
        )
    return token
