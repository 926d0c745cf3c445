"""Read the YAML files below ``topics/``, and report files that are misnamed or must not be read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from topicwarden.model.files import MAX_BYTES
from topicwarden.model.message_text import counted
from topicwarden.model.problem import Level, Location, Problem
from topicwarden.model.units import SIZE

DEFAULTS: Final = "_defaults.yaml"

_Selection: TypeAlias = Mapping[str, Any] | None
"""The selected entries of a folder by name, each with its own selection; None selects everything below."""


@dataclass(frozen=True)
class SpecFile:
    """A file that was read: its printable path, its folders below ``topics/``, its name without suffix, its bytes."""

    file: str
    folder: tuple[str, ...]
    stem: str
    data: bytes

    @property
    def defaults(self) -> bool:
        """True for a ``_defaults.yaml``."""
        return self.stem == DEFAULTS.removesuffix(".yaml")


def read_files(topics: Path, root: Path, paths: Sequence[Path] = ()) -> Iterator[SpecFile | Problem]:
    """Yield each ``*.yaml`` file below ``topics``, sorted by name, or the problem why it was not read.

    ``paths`` restricts this to these files and folders, with the ``_defaults.yaml`` files above them. The path of a
    ``_defaults.yaml`` selects its whole folder. Names that begin with a dot are skipped, with a warning for YAML files.
    A missing folder is empty. Locations are relative to ``root``.
    """
    if topics.is_dir():
        yield from _read_folder(topics, (), topics.resolve(), root, _select(topics, paths) if paths else None)


def _select(topics: Path, paths: Sequence[Path]) -> _Selection:
    selection: dict[str, Any] = {}
    for path in paths:
        parts = path.relative_to(topics).parts
        parts = parts[:-1] if parts and parts[-1] == DEFAULTS else parts
        if not parts:
            return None
        level = selection
        for part in parts[:-1]:
            level = level.setdefault(part, {})
            if level is None:
                break
        else:
            level[parts[-1]] = None
    return selection


def _read_folder(
    path: Path, folder: tuple[str, ...], topics_root: Path, root: Path, selection: _Selection
) -> Iterator[SpecFile | Problem]:
    parent = printable_path(os.path.relpath(path, root))
    try:
        with os.scandir(path) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
            if selection is not None:
                ordered = [entry for entry in ordered if entry.name == DEFAULTS or entry.name in selection]
    except OSError as error:
        yield _unreadable(error, parent)
        return
    for entry in ordered:
        stem, dot, extension = entry.name.rpartition(".")
        suffix = dot + extension
        is_yaml = suffix.lower() in (".yaml", ".yml")
        file = f"{parent}/{printable_path(entry.name)}"
        if entry.name.startswith("."):
            if is_yaml and entry.is_file():
                message = "a file whose name begins with a dot is not read; rename it, or delete it"
                yield Problem(Location(file), message, "file-hidden", Level.WARNING)
        elif (
            entry.is_symlink()
            and (is_yaml or _is_folder(entry))
            and (problem := _link_problem(entry, file, topics_root))
        ):
            yield problem
        elif _is_folder(entry):
            if is_yaml:
                yield _problem(file, f"expected a file, got a folder; rename it without {suffix}", "file-kind")
            else:
                nested = None if selection is None else selection[entry.name]
                yield from _read_folder(path / entry.name, (*folder, entry.name), topics_root, root, nested)
        elif is_yaml and suffix != ".yaml":
            yield _problem(file, f"expected a name that ends in .yaml, got {suffix}; rename the file", "file-name")
        elif is_yaml:
            yield _read_file(entry, SpecFile(file, folder, stem, b""))


def _read_file(entry: os.DirEntry[str], spec: SpecFile) -> SpecFile | Problem:
    if not entry.is_file():
        return _problem(spec.file, "expected a regular file, got a device, pipe or socket; delete it", "file-kind")
    try:
        if (size := entry.stat().st_size) > MAX_BYTES:
            message = f"expected a file of at most {SIZE.text(MAX_BYTES)}, got {counted(size, 'byte')}; split it"
            return _problem(spec.file, message, "file-size")
        with open(entry.path, "rb", buffering=0) as stream:  # noqa: PTH123 - Path objects are slow
            return SpecFile(spec.file, spec.folder, spec.stem, stream.read(MAX_BYTES))
    except OSError as error:
        return _unreadable(error, spec.file)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _link_problem(entry: os.DirEntry[str], file: str, topics_root: Path) -> Problem | None:
    if _is_folder(entry):
        return _problem(file, "symbolic links to folders are not followed; put the files here instead", "file-link")
    try:
        target = Path(entry.path).resolve(strict=True)
    except (OSError, RuntimeError):  # Python before 3.13 raises RuntimeError for a link to itself
        return _problem(file, "this symbolic link is broken; delete it or put the file here", "file-link")
    if target.is_relative_to(topics_root):
        return None
    message = f"this symbolic link points outside {topics_root.name}/ and is not read; put the file here instead"
    return _problem(file, message, "file-link")


def _unreadable(error: OSError, file: str) -> Problem:
    return _problem(file, f"cannot be read: {error.strerror}; check its permissions", "file-unreadable")


def _problem(file: str, message: str, rule: str) -> Problem:
    return Problem(Location(file), message, rule)


def printable_path(path: str) -> str:
    """Return a relative path for messages: with slashes, on one line, unprintable characters escaped."""
    path = path.replace(os.sep, "/")
    return path if path.isprintable() else path.encode("unicode_escape").decode("ascii")
