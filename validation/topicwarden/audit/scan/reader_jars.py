"""Compile the Java reader: the Spark source that reads exact offset ranges and judges the records."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from importlib.resources import files
from pathlib import Path

import pyspark

from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project

FORMAT = "topicwarden.KafkaRanges"
"""The name of the source for ``spark.read.format``."""


def jars(project: Project) -> list[Path]:
    """Return the jars that a Spark session needs: Kafka's client, and the reader, which is compiled if necessary.

    Raises ``Refusal`` if the client is not installed or there is no Java compiler.
    """
    fetched = sorted((project.cache / "jars" / "spark").glob("*.jar"))
    if not fetched:
        raise Refusal("Kafka's client for Spark is not installed: run `topicwarden sandbox install`")
    return [*fetched, _reader(project.cache / "jars" / "reader", fetched)]


def _reader(folder: Path, fetched: list[Path]) -> Path:
    sources = {
        file.name: file.read_bytes()
        for file in files("topicwarden.audit").joinpath("reader").iterdir()
        if file.name.endswith(".java")
    }
    content = hashlib.sha256(pyspark.__version__.encode())
    for _, source in sorted(sources.items()):
        content.update(source)
    jar = folder / f"kafka-ranges-{content.hexdigest()[:16]}.jar"
    if not jar.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        _compile(sources, fetched, jar)
    return jar


def _compile(sources: dict[str, bytes], fetched: list[Path], jar: Path) -> None:
    class_path = os.pathsep.join([str(Path(pyspark.__file__).parent / "jars" / "*"), *map(str, fetched)])
    with tempfile.TemporaryDirectory(dir=jar.parent) as scratch:
        for name, source in sources.items():
            (Path(scratch) / name).write_bytes(source)
        classes, done = Path(scratch) / "classes", Path(scratch) / jar.name
        written = sorted(Path(scratch).glob("*.java"))
        _run(_tool("javac"), "--release", "17", "-nowarn", "-cp", class_path, "-d", classes, *written)
        _run(_tool("jar"), "--create", "--file", done, "-C", classes, ".")
        done.replace(jar)  # atomic, because two audits may compile at the same time


def _tool(name: str) -> str:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(name, path=str(Path(home) / "bin")) if home else shutil.which(name)
    if found is None:
        raise Refusal(f"{name} was not found: install a JDK, 17 or later; a JRE is not enough")
    return found


def _run(*command: str | Path) -> None:
    answer = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if answer.returncode:
        message = (answer.stderr.strip() or answer.stdout.strip()).partition("\n")[0]
        raise Refusal(f"{Path(command[0]).name} could not build the reader: {message}; it needs a JDK, 17 or later")
