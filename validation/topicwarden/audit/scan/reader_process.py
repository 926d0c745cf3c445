"""Read offset ranges with the reader in a Java process without a Spark session, which would take most of the time."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.offset_ranges import READ_COMMITTED, OffsetRange, pack, read_options
from topicwarden.audit.scan.reader_notes import RangeTotals
from topicwarden.child_processes import run
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.problem import MissingExtra, Refusal
from topicwarden.model.project import Project
from topicwarden.scratch_folder import scratch_folder
from topicwarden.toolchain import spark_reader
from topicwarden.toolchain.prerequisites import require_java

_MAIN: Final = "io.topicwarden.reader.source.TotalsProcess"
_TOTALS: Final = "totals "
_FAILED: Final = "failed "
_OPTIONS: Final = (
    "-Xmx2g",
    "-XX:+UseParallelGC",
    "-Xlog:disable",
    "-Dslf4j.provider=org.slf4j.helpers.NOP_FallbackServiceProvider",
    "-Dslf4j.internal.verbosity=ERROR",
)


def read_totals(
    project: Project, connection: Connection, ranges: list[OffsetRange], contracts: Contracts, counting: str
) -> list[RangeTotals]:
    """Return the totals of the committed records in ``ranges``, as each task has read them, on all cores.

    ``counting`` is the JSON of ``counting_options``. The options of the process, which have credentials, are in a file
    that only this user can read. Raises Refusal if PySpark, the reader or Java is missing, or with the reason for which
    the ranges cannot be read, and OSError if the process cannot be started.
    """
    class_path = os.pathsep.join(_class_path(project))
    java = require_java()
    cores = os.cpu_count() or 1
    options = read_options(cores, connection, pack(cores, ranges), READ_COMMITTED, contracts, counting=counting)
    with scratch_folder() as folder:
        file = folder / "options.json"
        file.write_text(json.dumps(options), encoding="utf-8")
        scratch = f"-Djava.io.tmpdir={folder}"
        command = [str(java), *_OPTIONS, scratch, "-cp", class_path, _MAIN, str(file)]
        done = run(command, project.root, os.environ)
    lines = done.stdout.splitlines()
    if done.returncode == 0:
        return [RangeTotals.from_json(line.removeprefix(_TOTALS)) for line in lines if line.startswith(_TOTALS)]
    failed = next((line.removeprefix(_FAILED) for line in lines if line.startswith(_FAILED)), None)
    if failed is not None:
        raise Refusal(f"the scan failed: {failed}")
    last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no output")
    raise Refusal(f"the scan ended with exit code {done.returncode}: {last.strip()[:300]}")


def _class_path(project: Project) -> Iterator[str]:
    """Yield the reader, then Spark's jars: its row types, logging API and native decompression.

    PySpark takes the jars of SPARK_HOME first (``find_spark_home.py``). This imports no PySpark, which takes a second.
    """
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise MissingExtra("pyspark", "audit")
    package = Path(found.origin).parent
    version = re.search(r'__version__[^=]*= ["\']([^"\']+)', (package / "version.py").read_text(encoding="utf-8"))
    if reason := spark_reader.problem(project, version and version[1]):
        raise Refusal(reason)
    home = os.environ.get("SPARK_HOME", package)
    yield from map(str, filter(None, [spark_reader.find_jar(project)]))
    yield str(Path(home) / "jars" / "*")
