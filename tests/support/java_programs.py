"""Compile the Java programs of tests once: a compiler takes longer than most of the programs."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from filelock import FileLock

from tests.conftest import REPOSITORY
from topicwarden.model.problem import Refusal
from topicwarden.toolchain.prerequisites import require_registry_java

_QUICK = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")


def compiled(java: Path, source: Path, class_path: str) -> Path:
    """Return the folder with the classes of ``source``, in the repository's cache; compile them if they are not there.

    ``java`` is the program of a JDK. ``class_path`` is as after ``-cp``.
    """
    text = "\n".join([str(java.resolve()), *_fingerprints(class_path)]).encode() + source.read_bytes()
    cache = REPOSITORY / ".cache" / "test-classes"
    folder = cache / f"{source.stem}-{hashlib.sha256(text).hexdigest()[:16]}"
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / f".{source.stem}.lock"):  # several workers may need them at the same time
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=cache) as partial:
                classes = Path(partial, "classes")
                javac = str(java.resolve().parent / "javac")
                options = ["-nowarn", "-cp", class_path, "-d", str(classes), str(source)]
                subprocess.run([javac, *_QUICK, *options], check=True)
                classes.rename(folder)
    return folder


def _fingerprints(class_path: str) -> Iterator[str]:
    """Yield a line for each jar of the class path."""
    for entry in class_path.split(os.pathsep):
        for jar in sorted(Path(entry[:-1]).glob("*.jar")) if entry.endswith("*") else [Path(entry)]:
            status = jar.stat()
            yield f"{jar} {status.st_size} {status.st_mtime_ns}"


def registry_java_or_skip() -> Path:
    """Return the ``java`` of the registry. Where there is none, the test is skipped, with what to install."""
    try:
        return require_registry_java()
    except Refusal as refusal:
        pytest.skip(str(refusal))


JAVA_AVRO: Final = {
    "comments": '{"type": "record", /* a // b */ "name": "A", // the name\n "fields": [{"name": "u", "type": "string", '
    '"default": "http://a/*b*/"}]}',
    "a name of another script": '{"type": "record", "name": "Größe", "namespace": "com.åkme", '
    '"fields": [{"name": "straße1", "type": "int"}]}',
    "a symbol of another script": '{"type": "enum", "name": "E", "symbols": ["ÄPFEL", "é_1"]}',
    "null as namespace": '{"type": "record", "name": "A", "namespace": null, "fields": []}',
    "null as namespace inside": '{"type": "record", "name": "A", "namespace": "n", "fields": [{"name": "b", "type": '
    '{"type": "fixed", "name": "B", "namespace": null, "size": 1}}, {"name": "c", "type": "n.B"}]}',
    "use before definition": '{"type": "record", "name": "A", "fields": [{"name": "a", "type": ["null", "B"]}, '
    '{"name": "b", "type": {"type": "fixed", "name": "B", "size": 1}}]}',
    "NaN": '{"type": "record", "name": "A", "fields": [{"name": "a", "type": "double", "default": "NaN"}, '
    '{"name": "b", "type": "float", "default": "-Infinity"}, {"name": "c", "type": "float", "default": "1e3"}]}',
    "any text as the alias of a field": '{"type": "record", "name": "A", "aliases": ["B", "B", ".C"], "fields": '
    '[{"name": "a", "type": "int", "aliases": ["a-b", "a-b", ""]}]}',
    "null as the default of an enum": '{"type": "enum", "name": "E", "symbols": ["a"], "default": null}',
    "an order in capitals": '{"type": "record", "name": "A", "fields": [{"name": "a", "type": "int", '
    '"order": "Ignore"}]}',
    "kinds of types as names": '{"type": "record", "name": "record", "fields": [{"name": "a", "type": ["null", "map", '
    '"record"]}, {"name": "b", "type": {"type": "enum", "name": "map", "symbols": ["a"]}}, {"name": "c", "type": '
    '{"type": "map", "values": {"type": "fixed", "name": "union", "size": 1}}}, {"name": "d", "type": '
    '["null", "union"]}]}',
    "the name of a primitive type in a namespace": '{"type": "record", "name": "A", "namespace": "n", "fields": '
    '[{"name": "a", "type": {"type": "fixed", "name": "string", "size": 1}}, {"name": "b", "type": "string", '
    '"default": "xyz"}]}',
}
