"""The history as files, on this machine or elsewhere: its parts, which every run adds to and reads.

::

    v4/<folder>/<started>-<uuid>/            a part: the files of one run
    v4/<folder>/<started>-<uuid>/_complete   written last: only then the part is valid

Names of parts are unique. So two runs at the same time do not interfere, and a run that is killed leaves no valid part.
Another version of this format has its own folder, which this version neither reads nor changes.
"""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from topicwarden.specs.stacks.history_address import local_address

VERSION: Final = "v4"
"""The folder of this version of the history's format."""

LOCAL: Final = "file"
"""The scheme of addresses on this machine."""

COMPLETE: Final = "_complete"
ABANDONED_MS: Final = 86_400_000
"""Incomplete and unreferenced parts are deleted after this time."""


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
    return location if ":" in location.partition("/")[0] else local_address(Path(location))


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


@dataclass(frozen=True)
class HistoryPart:
    """The name of a part, and the start of its run in milliseconds."""

    name: str
    started: int


def part_name(started: int | None = None) -> str:
    """Return a unique name that sorts by ``started`` (ms), which is now by default."""
    return f"{int(time.time() * 1000) if started is None else started:013d}-{uuid.uuid4().hex}"


class HistoryParts:
    """The parts of the history at ``location``, a path or a URL. Each method may raise what ``files`` raises."""

    def __init__(self, location: str, files: HistoryFiles) -> None:
        self.files = files
        self._root = history_root(location)
        self._url = f"{self._root.rstrip('/')}/{VERSION}"

    def other_versions(self) -> list[str]:
        """Return the other versions of the format at this address, such as one of a newer topicwarden."""
        return [name for name, _ in self.files.names(self._root) if name != VERSION and name.startswith("v")]

    def path(self, folder: str, name: str) -> str:
        return f"{self._url}/{folder}/{name}"

    def all_parts(self, folder: str) -> list[HistoryPart]:
        """Return the parts that are complete, being written or abandoned, the oldest first."""
        names = sorted(name for name, _ in self.files.names(f"{self._url}/{folder}"))
        return [HistoryPart(name, int(start)) for name in names if (start := name.partition("-")[0]).isdigit()]

    def parts(self, folder: str) -> list[HistoryPart]:
        """Return the complete parts, the oldest first."""
        return [part for part in self.all_parts(folder) if self.is_complete(folder, part.name)]

    def is_complete(self, folder: str, name: str) -> bool:
        return self.files.exists(f"{self.path(folder, name)}/{COMPLETE}")

    def complete(self, folder: str, name: str, marker: bytes = b"") -> None:
        """Mark a part as valid."""
        self.write_bytes(folder, name, COMPLETE, marker)

    def write_bytes(self, folder: str, name: str, file: str, content: bytes) -> None:
        """Add a file to a part."""
        self.files.write(f"{self.path(folder, name)}/{file}", content)

    def read_bytes(self, folder: str, name: str, file: str) -> bytes | None:
        """Return a file of a part; None if there is none, or if another run has deleted it in the meantime."""
        return self.files.read(f"{self.path(folder, name)}/{file}")

    def delete(self, folder: str, names: Iterable[str]) -> None:
        """Delete parts. If some cannot be deleted, all others are, and the first of these errors is raised."""
        errors = list[Exception]()
        for name in names:
            try:
                # The marker is deleted first, so that no run reads a partly deleted part.
                self.files.delete(f"{self.path(folder, name)}/{COMPLETE}")
                self.files.delete(self.path(folder, name))
            except OSError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def abandoned(self, folder: str, now: int) -> list[str]:
        """Return the parts that have not been completed for a day, at ``now`` (ms)."""
        return [name for name in self.old_names(folder, now) if not self.is_complete(folder, name)]

    def old_names(self, folder: str, now: int) -> list[str]:
        """Return the names in a folder that were last written more than a day before ``now`` (ms)."""
        return [name for name, written in self.files.names(f"{self._url}/{folder}") if written < now - ABANDONED_MS]
