"""The bearer token of a watch, from a file that may be rotated while the watch runs."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final

from topicwarden.model.files import read_regular_file
from topicwarden.model.problem import Refusal

SHORTEST: Final = 16
_MOST_BYTES: Final = 4096
_TOKEN: Final = re.compile(rb"[\x21-\x7e]+")


def token_check(path: Path) -> Callable[[str], bool]:
    """Return a function that tells whether an ``Authorization`` header has the token in the file ``path``.

    The file is read for each request: a new token counts at once. If the file is missing or invalid, no request has
    the token. Raises Refusal if the file is invalid now. No message contains the token.
    """
    _read(path)

    def has_token(header: str) -> bool:
        scheme, _, credentials = header.strip().partition(" ")
        try:
            token = _read(path)
        except Refusal:
            return False
        same = hmac.compare_digest(_digest(credentials.strip().encode("latin-1", "replace")), _digest(token))
        return scheme.lower() == "bearer" and same

    return has_token


def _digest(text: bytes) -> bytes:
    """Return a digest, whose length does not depend on the token's."""
    return sha256(text).digest()


def _read(path: Path) -> bytes:
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
