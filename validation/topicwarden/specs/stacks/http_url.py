"""URLs of HTTP and HTTPS in settings and options."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

_PORTS = {"http": 80, "https": 443}


def has_user(url: str) -> bool:
    """Return whether ``url``, which may be incomplete or wrong, has a user name, and so perhaps a password."""
    return "@" in (url.partition("://")[2] or url).partition("/")[0]


def server_of(url: SplitResult) -> tuple[str, str | None, int | None]:
    """Return the scheme, the host and the port of a URL, also if it does not name the port."""
    return url.scheme, url.hostname, url.port or _PORTS.get(url.scheme)


def split_url(url: str) -> SplitResult | None:
    """Return the parts of ``url``; None unless it is a complete URL of HTTP or HTTPS in ASCII without white space."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")  # refuses empty and too long parts of a host's name
    except ValueError:
        return None
    return parts if valid and url.isascii() and url.isprintable() and " " not in url else None
