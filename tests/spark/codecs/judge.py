"""Run the reader's Java codecs without Spark, in one JVM for all tests."""

from __future__ import annotations

import json
import os
import subprocess
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark

from tests.conftest import REPOSITORY
from tests.support.java_programs import compiled
from topicwarden.audit.scan import reader_jars
from topicwarden.model.project import Project
from topicwarden.specs.record_schemas.protobuf import compile_proto

VALID = "valid"
INVALID = "invalid"
UNDECIDABLE = "undecidable"


@dataclass(frozen=True)
class Verdict:
    """The reader's verdict on one value: ``outcome``, and the reason if the value is not valid."""

    outcome: str
    reason: str = ""


class Judge:
    """A JVM that validates values. It processes one request at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def values(self, contract: Mapping[str, Any], values: Iterable[bytes]) -> list[Verdict]:
        """Return a verdict for each of ``values``, using the ``records`` of a contract."""
        return [_verdict(faults) for faults in self._ask(contract=contract, values=values)["faults"]]

    def faults(self, contract: Mapping[str, Any], value: bytes) -> list[dict[str, Any]]:
        """Return every fault that the reader reports for ``value``."""
        faults: list[dict[str, Any]] = self._ask(contract=contract, values=[value])["faults"][0]
        return faults

    def json_schema(self, schema: str, references: Mapping[str, str], values: Iterable[bytes]) -> list[Verdict] | str:
        """Return a verdict for each of ``values``, or why the schema cannot be used."""
        answer = self._ask(schema=schema, references=dict(references), values=values)
        return str(answer["error"]) if "error" in answer else [_verdict(faults) for faults in answer["faults"]]

    def _ask(self, *, values: Iterable[bytes], **request: Any) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        request["values"] = [b64encode(value).decode() for value in values]
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the JVM has ended"
        answer: dict[str, Any] = json.loads(line)
        return answer


def _verdict(faults: list[dict[str, Any]]) -> Verdict:
    if not faults:
        return Verdict(VALID)
    return Verdict(UNDECIDABLE if faults[0]["undecided"] else INVALID, faults[0]["reason"])


@contextmanager
def judging(java: Path, scratch: Path) -> Iterator[Judge]:
    """Start the JVM with the same thread stack size as Spark's tasks, and stop the JVM at the end."""
    command = [*program(java, "Judge"), "io.topicwarden.reader.codecs.Judge"]
    with (scratch / "judge.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, encoding="utf-8"
        )
        try:
            yield Judge(process)
        finally:
            process.kill()
            process.wait()


def program(java: Path, name: str) -> list[str]:
    """Compile a Java file of this folder; return the command line up to the class name."""
    jars = reader_jars.jars(Project(REPOSITORY))
    path = os.pathsep.join([str(Path(pyspark.__file__).parent / "jars" / "*"), *map(str, jars)])
    classes = compiled(java, Path(__file__).parent / f"{name}.java", path)
    return [str(java), "-Xmx1g", "-cp", f"{classes}{os.pathsep}{path}"]


def protobuf(text: str, **more: Any) -> dict[str, Any]:
    return {"value": {"format": "protobuf", "descriptors": b64encode(compile_proto(text)).decode()}, **more}


def compiles(judge: Judge, kind: str, schema: str, message: str | None = None) -> str:
    """Return why the reader cannot use a schema that the check accepts; nothing if it can."""
    part: dict[str, Any] = {"format": kind, "schema": schema}
    if kind == "protobuf":
        part = {"format": kind, "descriptors": b64encode(compile_proto(schema)).decode(), "message": message}
    (verdict,) = judge.values({"value": part}, [b"{}"])
    return verdict.reason if "cannot be used" in verdict.reason or "cannot be judged" in verdict.reason else ""
