"""The address on which a watch listens: ``127.0.0.1:9464``, ``[::1]:9464`` or ``0.0.0.0:9464``."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

from topicwarden.model.message_text import quoted
from topicwarden.model.problem import Refusal

_WRITTEN: Final = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<four>[^:\[\]]+)):(?P<port>[0-9]{1,5})", re.ASCII)
_LARGEST_PORT: Final = 65_535


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
