"""The YAML files below ``topics/``, and what lies there that is none or must not be read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from topicwarden.problem import Location, Problem

MAX_BYTES: Final = 1 << 20
DEFAULTS: Final = "_defaults.yaml"


@dataclass(frozen=True)
class SpecFile:
    """A file that was read: its path as it is printed, and its folders below ``topics/``."""

    file: str
    folder: tuple[str, ...]
    stem: str
    data: bytes

    @property
    def defaults(self) -> bool:
        return self.stem == DEFAULTS.removesuffix(".yaml")


def read_files(topics: Path, root: Path) -> Iterator[SpecFile | Problem]:
    """Every ``*.yaml`` below ``topics`` in the order of their names, or why it was not read.

    Names that begin with a dot are passed over. A missing folder holds nothing.
    """
    if topics.is_dir():
        yield from _folder(topics, (), topics.resolve(), root)


def _folder(path: Path, folder: tuple[str, ...], home: Path, root: Path) -> Iterator[SpecFile | Problem]:
    try:
        with os.scandir(path) as entries:
            ordered = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda e: e.name)
    except OSError as error:
        yield _unreadable(error, _printed(path, root))
        return
    for entry in ordered:
        stem, dot, last = entry.name.rpartition(".")
        ending = dot + last
        spec = ending.lower() in (".yaml", ".yml")
        file = _printed(path / entry.name, root)
        if entry.is_symlink() and (spec or entry.is_dir()) and (problem := _link_problem(entry, file, home)):
            yield problem
        elif entry.is_dir():
            if spec:
                yield _problem(file, f"expected a file, seen a folder; rename it without {ending}", "file-kind")
            else:
                yield from _folder(path / entry.name, (*folder, entry.name), home, root)
        elif spec and ending != ".yaml":
            yield _problem(file, f"expected a name that ends in .yaml, seen {ending}; rename the file", "file-name")
        elif spec:
            yield _read(entry, SpecFile(file, folder, stem, b""))


def _read(entry: os.DirEntry[str], spec: SpecFile) -> SpecFile | Problem:
    if not entry.is_file():
        return _problem(spec.file, "expected a plain file, seen a device, pipe or socket; delete it", "file-kind")
    try:
        if (size := entry.stat().st_size) > MAX_BYTES:
            message = f"expected a file of at most {MAX_BYTES} bytes, seen {size}; split it"
            return _problem(spec.file, message, "file-size")
        with Path(entry.path).open("rb") as stream:
            return SpecFile(spec.file, spec.folder, spec.stem, stream.read(MAX_BYTES))
    except OSError as error:
        return _unreadable(error, spec.file)


def _link_problem(entry: os.DirEntry[str], file: str, home: Path) -> Problem | None:
    if entry.is_dir():
        return _problem(file, "links to folders are not followed; put the files here instead", "file-link")
    try:
        target = Path(entry.path).resolve(strict=True)
    except (OSError, RuntimeError):
        return _problem(file, "this link leads nowhere; delete it or put the file here", "file-link")
    if target.is_relative_to(home):
        return None
    return _problem(file, "this link leads out of topics/ and is not read; put the file here instead", "file-link")


def _unreadable(error: OSError, file: str) -> Problem:
    return _problem(file, f"cannot be read: {error.strerror}; see to its permissions", "file-unreadable")


def _problem(file: str, message: str, rule: str) -> Problem:
    return Problem(Location(file), message, rule)


def _printed(path: Path, root: Path) -> str:
    """The path as it is printed: relative, with slashes, on one line and in characters that can be printed."""
    relative = Path(os.path.relpath(path, root)).as_posix()
    return relative if relative.isprintable() else relative.encode("unicode_escape").decode("ascii")
