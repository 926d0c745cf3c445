"""Build Pulumi or the Spark reader before there is any Python package: `python3 -m tools.build_part pulumi|reader`.

Pulumi is only built if it is not on the PATH. Uses those modules of `topicwarden.toolchain` that need the standard
library only.
"""

from __future__ import annotations

import shutil
import sys
import time
import types
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tools.python_environment import REPOSITORY

sys.path[:0] = [str(REPOSITORY / "validation")]
if not TYPE_CHECKING and "topicwarden.toolchain" not in sys.modules:
    # The package imports other packages in its __init__.py. These modules of it do not.
    _toolchain = types.ModuleType("topicwarden.toolchain")
    _toolchain.__path__ = [str(REPOSITORY / "validation" / "topicwarden" / "toolchain")]
    sys.modules["topicwarden.toolchain"] = _toolchain

from topicwarden.model.files import replace_file
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.toolchain import jar_lock, prerequisites, pulumi_cli, spark_reader
from topicwarden.toolchain.pulumi_cli import PulumiSource

__all__ = ["PROJECT", "PulumiSource", "Refusal", "prerequisites", "pulumi_cli", "spark_reader"]

PROJECT = Project(REPOSITORY)


def build_reader(project: Project, say: Callable[[str], None]) -> None:
    """Build the jar. Raises Refusal with Maven's first error."""
    started = time.monotonic()
    say("Spark reader: building with Maven")
    target = spark_reader.jar(project)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".partial")
    jar_lock.run_maven([*_options(spark_reader.LINES[-1]), "package"], spark_reader.MODULE, "build the Spark reader")
    _pack(spark_reader.MODULE / "target" / spark_reader.LINES[-1] / target.name, partial)
    partial.replace(target)
    replace_file(spark_reader.stamp_file(target), spark_reader.fingerprint())  # a cache may be a copy with hard links
    say(f"Spark reader: {target.stat().st_size >> 20} MiB in {time.monotonic() - started:.0f} s")


def _pack(source: Path, target: Path) -> None:
    """Copy a jar without its entries for folders, and compress the others as much as possible: Maven cannot do so."""
    with zipfile.ZipFile(source) as jar, zipfile.ZipFile(target, "w") as packed:
        for entry in (each for each in jar.infolist() if not each.is_dir()):
            packed.writestr(entry, jar.read(entry), zipfile.ZIP_DEFLATED, compresslevel=9)


def compile_classes(line: str) -> Path:
    """Compile the classes for a Spark line, without libraries, and return their folder. Raises Refusal otherwise.

    All are compiled again: Maven would keep those of another JDK, or of a source that is gone.
    """
    for former in ("classes", "maven-status"):
        shutil.rmtree(spark_reader.MODULE / "target" / line / former, ignore_errors=True)
    jar_lock.run_maven([*_options(line), "compile"], spark_reader.MODULE, f"compile the Spark reader for Spark {line}")
    return spark_reader.MODULE / "target" / line / "classes"


def _options(line: str) -> list[str]:
    return [f"-Dspark.line={line}", "-Dquick", "-DskipTests"]


def main(arguments: Sequence[str]) -> int:
    """Build the part. Return 2 if that fails."""
    try:
        match list(arguments):
            case ["pulumi"]:
                cache = PROJECT.tools_cache
                pulumi_cli.install(cache, pulumi_cli.choose(cache, download=False), print)
            case ["reader"]:
                build_reader(PROJECT, print)
            case _:
                raise Refusal(f"expected pulumi or reader, got '{' '.join(arguments)}'")
    except Refusal as refusal:
        print(refusal, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
