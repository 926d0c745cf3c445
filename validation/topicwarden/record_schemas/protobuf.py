"""Compile ``.proto`` files with the Protocol Buffers compiler, for the audit's reader."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from typing import Any, Final

from topicwarden.model.message_text import quoted
from topicwarden.scratch_folder import scratch_folder

_FILE: Final = "record.proto"
_TIMEOUT_S: Final = 60


class ProtoError(ValueError):
    """An error of a ``.proto`` file. The message continues a sentence that begins with the file's name."""


def schema_error(text: str, message: str | None) -> str | None:
    """Return the error if ``text`` is not a ``.proto`` file with ``message`` (None: with any message), else None."""
    try:
        _require_message(compile_proto(text), message)
    except ProtoError as error:
        return str(error)
    return None


@cache
def compile_proto(text: str) -> bytes:
    """Return the serialised ``FileDescriptorSet`` of a file and its imports, the file itself last.

    Raise ProtoError if the file is invalid, or if it imports a file other than ``google/protobuf/*.proto``.
    """
    imports = re.findall(r'\bimport\s+(?:public\s+|weak\s+)?"([^"]+)"', _without_comments(text))
    if unsupported := next((name for name in imports if not name.startswith("google/protobuf/")), None):
        raise ProtoError(
            f"imports {quoted(unsupported)}; only google/protobuf/*.proto is available: copy its messages here"
        )
    with scratch_folder() as scratch:
        (scratch / _FILE).write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "grpc_tools.protoc", "-I.", "--include_imports", "--descriptor_set_out=set"]
        try:
            result = subprocess.run(
                [*command, _FILE],
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
            raise ProtoError(f"is not a valid .proto file: {_first_error(result.stderr)}")
        return (scratch / "set").read_bytes()


def _without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)


def _first_error(output: str) -> str:
    """Return the compiler's first error, such as ``3:5: "strin" is not defined.``"""
    lines = [line for line in output.splitlines() if line and "warning:" not in line]
    return lines[0].removeprefix(f"{_FILE}:") if lines else "the compiler failed without a message"


def _require_message(descriptors: bytes, message: str | None) -> None:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet  # noqa: PLC0415  (only files of this format need it)

    file = FileDescriptorSet.FromString(descriptors).file[-1]
    names = list(_names(file.message_type, ""))
    if not names:
        raise ProtoError("is not a valid .proto file: expected a message")
    if message and message.removeprefix(f"{file.package}.") not in names:
        raise ProtoError(f"has no message {quoted(message)}; it has {', '.join(names)}")


def _names(messages: Any, prefix: str) -> Any:
    for descriptor in messages:
        yield prefix + descriptor.name
        yield from _names(
            (nested for nested in descriptor.nested_type if not nested.options.map_entry), f"{prefix}{descriptor.name}."
        )
