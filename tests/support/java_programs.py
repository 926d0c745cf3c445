"""Compile the Java programs of tests once: a compiler takes longer than most of the programs."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock

from tests.conftest import REPOSITORY

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
