"""The YAML files below ``topics/``, and what lies there that is none or must not be read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from topicwarden.model.problem import Location, Problem

MAX_BYTES: Final = 1 << 20
DEFAULTS: Final = "_defaults.yaml"

Wanted: TypeAlias = Mapping[str, Any] | None
"""The names that are wanted of a folder, and of each what is wanted of it; None: all of it."""


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


def read_files(topics: Path, root: Path, paths: Sequence[Path] = ()) -> Iterator[SpecFile | Problem]:
    """Every ``*.yaml`` below ``topics`` in the order of their names, or why it was not read.

    With ``paths``, those of these files and folders alone, and the ``_defaults.yaml`` above them; one that is itself
    a ``_defaults.yaml`` stands for its folder. Names that begin with a dot are passed over. A missing folder holds
    nothing.
    """
    if topics.is_dir():
        yield from _folder(topics, (), topics.resolve(), root, _wanted(topics, paths) if paths else None)


def _wanted(topics: Path, paths: Sequence[Path]) -> Wanted:
    wanted: dict[str, Any] = {}
    for path in paths:
        parts = path.relative_to(topics).parts
        parts = parts[:-1] if parts and parts[-1] == DEFAULTS else parts
        if not parts:
            return None
        level = wanted
        for part in parts[:-1]:
            level = level.setdefault(part, {})
            if level is None:
                break
        else:
            level[parts[-1]] = None
    return wanted


def _folder(
    path: Path, folder: tuple[str, ...], home: Path, root: Path, wanted: Wanted
) -> Iterator[SpecFile | Problem]:
    above = printed(os.path.relpath(path, root))
    try:
        with os.scandir(path) as entries:
            ordered = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda e: e.name)
            if wanted is not None:
                ordered = [entry for entry in ordered if entry.name == DEFAULTS or entry.name in wanted]
    except OSError as error:
        yield _unreadable(error, above)
        return
    for entry in ordered:
        stem, dot, last = entry.name.rpartition(".")
        ending = dot + last
        spec = ending.lower() in (".yaml", ".yml")
        file = f"{above}/{printed(entry.name)}"
        if entry.is_symlink() and (spec or _is_folder(entry)) and (problem := _link_problem(entry, file, home)):
            yield problem
        elif _is_folder(entry):
            if spec:
                yield _problem(file, f"expected a file, seen a folder; rename it without {ending}", "file-kind")
            else:
                below = None if wanted is None else wanted[entry.name]
                yield from _folder(path / entry.name, (*folder, entry.name), home, root, below)
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
        with open(entry.path, "rb", buffering=0) as stream:  # noqa: PTH123 - a Path for each costs more than the rest
            return SpecFile(spec.file, spec.folder, spec.stem, stream.read(MAX_BYTES))
    except OSError as error:
        return _unreadable(error, spec.file)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def _link_problem(entry: os.DirEntry[str], file: str, home: Path) -> Problem | None:
    if _is_folder(entry):
        return _problem(file, "links to folders are not followed; put the files here instead", "file-link")
    try:
        target = Path(entry.path).resolve(strict=True)
    except (OSError, RuntimeError):  # Python before 3.13 raises RuntimeError for a link to itself
        return _problem(file, "this link leads nowhere; delete it or put the file here", "file-link")
    if target.is_relative_to(home):
        return None
    return _problem(file, "this link leads out of topics/ and is not read; put the file here instead", "file-link")


def _unreadable(error: OSError, file: str) -> Problem:
    return _problem(file, f"cannot be read: {error.strerror}; see to its permissions", "file-unreadable")


def _problem(file: str, message: str, rule: str) -> Problem:
    return Problem(Location(file), message, rule)


def printed(path: str) -> str:
    """A relative path as it is printed: with slashes, on one line and in characters that can be printed."""
    path = path.replace(os.sep, "/")
    return path if path.isprintable() else path.encode("unicode_escape").decode("ascii")
