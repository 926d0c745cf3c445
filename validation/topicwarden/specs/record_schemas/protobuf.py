"""``.proto`` files, compiled by Protocol Buffers' own compiler to what the audit's reader takes."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

from topicwarden.specs.message_text import quoted

_FILE: Final = "record.proto"
_DEADLINE_S: Final = 60


class ProtoError(ValueError):
    """Why a ``.proto`` cannot be used, to be said after the name of the file."""


def schema_error(text: str, message: str | None) -> str | None:
    """Return why ``text`` is no ``.proto`` with ``message``, or with any message, or None."""
    try:
        _require_message(compile_proto(text), message)
    except ProtoError as error:
        return str(error)
    return None


@cache
def compile_proto(text: str) -> bytes:
    """Return the ``FileDescriptorSet`` of a file and what it imports, the file itself last.

    Only ``google/protobuf/*.proto`` can be imported. Raises ProtoError.
    """
    imports = re.findall(r'\bimport\s+(?:public\s+|weak\s+)?"([^"]+)"', _without_comments(text))
    if outside := next((name for name in imports if not name.startswith("google/protobuf/")), None):
        raise ProtoError(f"imports {quoted(outside)}; put its messages here, as nothing else is read")
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / _FILE).write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "grpc_tools.protoc", "-I.", "--include_imports", "--descriptor_set_out=set"]
        try:
            done = subprocess.run(
                [*command, _FILE],
                cwd=scratch,
                capture_output=True,
                text=True,
                encoding="utf-8",
                errors="replace",
                check=False,
                timeout=_DEADLINE_S,
            )
        except subprocess.TimeoutExpired as error:
            raise ProtoError(f"was not compiled within {_DEADLINE_S} s") from error
        if done.returncode:
            raise ProtoError(f"is no .proto: {_first_error(done.stderr)}")
        return (Path(scratch) / "set").read_bytes()


def _without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)


def _first_error(output: str) -> str:
    """The compiler's first error: ``3:5: "strin" is not defined.``"""
    lines = [line for line in output.splitlines() if line and "warning:" not in line]
    return lines[0].removeprefix(f"{_FILE}:") if lines else "the compiler ended without a word"


def _require_message(descriptors: bytes, message: str | None) -> None:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet  # noqa: PLC0415  (only files of this format need it)

    file = FileDescriptorSet.FromString(descriptors).file[-1]
    names = list(_names(file.message_type, ""))
    if not names:
        raise ProtoError("is no .proto: expected a message")
    if message and message.removeprefix(f"{file.package}.") not in names:
        raise ProtoError(f"has no message {quoted(message)}; it has {', '.join(names)}")


def _names(messages: Any, above: str) -> Any:
    for one in messages:
        yield above + one.name
        yield from _names((below for below in one.nested_type if not below.options.map_entry), f"{above}{one.name}.")
