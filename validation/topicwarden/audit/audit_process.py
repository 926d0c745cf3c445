"""Run an audit in a process of its own, for a program that is no place for a JVM: Pulumi's engine calls into it.

Spark's JVM starts with a fork, and gRPC does not support a fork while its threads run.
"""

from __future__ import annotations

import os
import pickle
import sys
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from topicwarden.audit.request import AuditRequest
from topicwarden.child_processes import run
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import MissingExtra, Refusal
from topicwarden.model.project import Project
from topicwarden.scratch_folder import scratch_folder


def audit_in_process(project: Project, request: AuditRequest) -> AuditReport:
    """Return the report of an audit with Spark's default master.

    The request, which has credentials, is in a folder that only this user can read. Raises Refusal if PySpark is not
    installed or the audit is refused, and OSError if the process cannot be started.
    """
    if find_spec("pyspark") is None:
        raise MissingExtra("pyspark", "audit")
    with scratch_folder() as folder:
        (folder / "request").write_bytes(pickle.dumps((project, request)))
        command = [sys.executable, "-P", "-m", __name__, str(folder)]
        done = run(command, project.root, os.environ)
        report, refusal = folder / "report", folder / "refusal"
        if report.is_file():
            return AuditReport.model_validate_json(report.read_bytes())
        if refusal.is_file():
            raise Refusal(refusal.read_text(encoding="utf-8"))
    last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no output")
    raise Refusal(f"the audit ended with exit code {done.returncode}: {last.strip()[:300]}")


def _main(folder: Path) -> None:
    # The parent process needs no Spark.
    from topicwarden.audit.run import audit  # noqa: PLC0415
    from topicwarden.audit.scan.spark_session import session_on_demand  # noqa: PLC0415

    project, request = pickle.loads((folder / "request").read_bytes())
    try:
        with ExitStack() as resources:
            spark = session_on_demand(resources, project, None, lambda _: None)
            report = audit(spark, request, lambda _: None)
    except Refusal as refusal:
        (folder / "refusal").write_text(str(refusal), encoding="utf-8")
        return
    written = folder / "report.partial"
    written.write_text(report.model_dump_json(), encoding="utf-8")
    written.rename(folder / "report")


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
