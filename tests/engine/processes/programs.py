"""Programs that tests start and kill: ``python -m tests.engine.processes.programs PROGRAM PATH``."""

from __future__ import annotations

import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from topicwarden.child_processes import ending_children, run
from topicwarden.model.project import Project

# Each program has its own imports, because other imports could start a process or delay the program.


def child(folder: Path) -> None:
    """Wait in a thread for a child process that sleeps."""
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    with ending_children():
        ThreadPoolExecutor(max_workers=1).submit(run, sleeper, folder, {}).result()


_CLEANUP = """
import signal, sys, time
from pathlib import Path

def clean_up(*_):
    for stream in sys.stdout, sys.stderr:  # more than a pipe can hold
        print("cancelling" * 100_000, file=stream, flush=True)
    Path("state").write_text("complete")
    sys.exit()

signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as Go does for its standard output
signal.signal(signal.SIGINT, clean_up)
Path("started").touch()
time.sleep(600)
"""


def cleanup(folder: Path) -> None:
    """Wait for a child process that, like Pulumi, writes much output and a file after a SIGINT."""
    run([sys.executable, "-c", _CLEANUP], folder, {})


def cleanup_in_lines(folder: Path) -> None:
    """Do the same, with the output line by line."""
    run([sys.executable, "-c", _CLEANUP], folder, {}, on_line=print)


def engine(root: Path) -> None:
    """Wait for a preview."""
    from topicwarden.deploy.program_run import ProgramRun  # noqa: PLC0415
    from topicwarden.deploy.pulumi_commands import pulumi_preview  # noqa: PLC0415
    from topicwarden.deploy.pulumi_engine import PulumiEngine  # noqa: PLC0415

    with ending_children():
        pulumi_preview(lambda: ProgramRun(PulumiEngine(Project(root), "dev")))


def spark(root: Path) -> None:
    """Start a Spark session."""
    from topicwarden.audit.scan.spark_session import spark_session  # noqa: PLC0415

    with ending_children(), spark_session(Project(root), "local[1]"):
        pass


def dying_spark(root: Path) -> None:
    """Run an audit whose JVM is killed while Spark computes."""
    from topicwarden.audit.scan.spark_session import spark_session  # noqa: PLC0415
    from topicwarden.cli import main  # noqa: PLC0415

    def audit() -> None:
        with spark_session(Project(root), "local[1]") as session:
            jvm = session.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
            threading.Timer(2, os.kill, (jvm, signal.SIGKILL)).start()
            session.range(10**12).selectExpr("sum(id % 7)").collect()
            session.range(10).count()
            print("a report")

    main.app = audit  # type: ignore[assignment]
    main.run()


PROGRAMS = {program.__name__: program for program in (child, cleanup, cleanup_in_lines, engine, spark, dying_spark)}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](Path(sys.argv[2]))
