"""The files of the history, and those on this machine."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

VERSION: Final = "v4"
"""The folder of this version of the history's format. Another version neither reads nor changes it."""

LOCAL: Final = "file"
"""The scheme of addresses on this machine."""


class HistoryFiles(Protocol):
    """The operations on files that the history needs; each one takes a URL, and may raise OSError."""

    def exists(self, url: str) -> bool:
        """Return whether there is a file or a folder."""

    def names(self, url: str) -> list[tuple[str, int]]:
        """Return the names in a folder and their modification times (ms); empty if there is no such folder."""

    def delete(self, url: str) -> None:
        """Delete a file or a folder with its contents, if there is any."""

    def read(self, url: str) -> bytes | None:
        """Return the content of a file; None if there is no such file."""

    def write(self, url: str, content: bytes) -> None:
        """Write a file, over an earlier one, with its folders."""


def history_root(location: str) -> str:
    """Return the URL of a history: a path on this machine gets the scheme ``file``."""
    return location if ":" in location.partition("/")[0] else Path(location).absolute().as_uri()


def is_local(url: str) -> bool:
    """Return whether this machine can open the files at ``url`` without Spark."""
    return url.startswith(f"{LOCAL}:")


class LocalFiles:
    """Files on this machine. Raises OSError."""

    def exists(self, url: str) -> bool:
        return local_path(url).exists()

    def names(self, url: str) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        with suppress(FileNotFoundError):
            for file in local_path(url).iterdir():
                with suppress(FileNotFoundError):  # another audit has deleted it
                    found.append((file.name, int(file.stat().st_mtime * 1000)))
        return found

    def delete(self, url: str) -> None:
        path = local_path(url)
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)

    def read(self, url: str) -> bytes | None:
        try:
            return local_path(url).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, url: str, content: bytes) -> None:
        path = local_path(url)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def local_path(url: str) -> Path:
    """Return the path as Hadoop reads it: an address has no percent-encoding."""
    rest = url.removeprefix(f"{LOCAL}:")
    return Path("/" + rest.removeprefix("//").partition("/")[2]) if rest.startswith("//") else Path(rest)
