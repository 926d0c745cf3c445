"""Verify that the Spark reader serves each supported Spark line: `python3 -m tools.build_wheel`, for `make wheel`.

The wheel has one jar, so its classes must be equal for all lines. The libraries in the jar have other package names
than Spark's, and are the same for each line.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from tools.build_part import Refusal, compile_classes, spark_reader


def differing_classes(folder: Path, other: Path) -> list[str]:
    """Return the paths of the files that differ between two folders, or that only one of them has."""
    contents, others = _checksums(folder), _checksums(other)
    return sorted(path for path in contents.keys() | others.keys() if contents.get(path) != others.get(path))


def _checksums(folder: Path) -> dict[str, str]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def main() -> int:
    """Compile the reader for each line. Return 2 if that fails, or if the classes differ."""
    *older, newest = spark_reader.LINES
    try:
        expected = compile_classes(newest)
        for line in older:
            print(f"Spark reader: compiling for Spark {line}", flush=True)
            if differing := differing_classes(compile_classes(line), expected):
                names = ", ".join(differing[:3])
                raise Refusal(
                    f"the classes for Spark {line} differ from those for Spark {newest}: {names}; ship both jars"
                )
    except Refusal as refusal:
        print(refusal, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
