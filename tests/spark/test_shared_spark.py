"""Test that the audits of several stacks share one Spark session, and that a killed JVM costs one of them only."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support.command import project
from tests.support.projects import own_cache

# A process of its own: PySpark has one JVM for a process, and this one is killed.
_PROGRAM = """
import json, os, signal, sys
from contextlib import ExitStack
from pathlib import Path
from pyspark import SparkContext
from topicwarden.audit.scan.spark_session import session_on_demand
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.audit.scan.lasting_session import shared_spark

project, seen = Project(Path.cwd()), []

def audit(kill=False, refuse=False):
    def run(keep):
        with ExitStack() as own:
            spark = session_on_demand(keep, project, "local[1]", print)
            seen.append((spark().sparkContext.applicationId, spark().range(3).count()))
            if refuse:
                raise Refusal("no cluster answers")
            if kill:
                os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)
                spark().range(3).count()
    return run

with shared_spark() as spark:
    for arguments in ({}, {"refuse": True}, {"kill": True}, {}, {}):
        try:
            spark.audit(audit(**arguments))
        except Refusal as refusal:
            seen.append(str(refusal))
print("RESULT", json.dumps(seen))
"""


def test_audits_share_a_session_until_its_jvm_is_killed(tmp_path: Path) -> None:
    with own_cache(tmp_path) as folder:
        root = project(folder / "project", {"topics/a.yaml": "partitions: 1\n"})
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM], cwd=root, capture_output=True, text=True, check=False, timeout=300
        )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.partition("RESULT ")[2])
    sessions = [each for each in seen if isinstance(each, list)]
    messages = [each for each in seen if isinstance(each, str)]
    assert [count for _, count in sessions] == [3] * 5
    assert sessions[0] == sessions[1] == sessions[2] != sessions[3] == sessions[4]
    assert messages[0] == "no cluster answers"
    assert "Spark's JVM ended before the audit did" in messages[1]
