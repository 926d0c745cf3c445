"""`topicwarden audit`, and the whole of the PySpark job."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

from topicwarden.audit.run import Request
from topicwarden.audit.run import audit as audit_cluster
from topicwarden.audit.spark import spark_session
from topicwarden.finding import AuditReport, Verdict
from topicwarden.kafka.cluster import open_cluster
from topicwarden.kafka.connection import connect_to
from topicwarden.policies.check import check
from topicwarden.problem import Refusal
from topicwarden.project import Project, find_project
from topicwarden.report import text
from topicwarden.report.files import require_writable, write
from topicwarden.specs.resolve import Declaration

Look: TypeAlias = Callable[[tuple[str, ...]], AuditReport]
"""Takes globs of topic names, none for all, and audits those topics."""


def audit(stack: str, patterns: tuple[str, ...], out: Path | None, master: str | None) -> int:
    """Prints the report, and writes it to ``out``; 1 where anything fails."""
    if out is not None:
        require_writable(out)
    with auditing(find_project(), stack, master) as look:
        report = look(patterns)
    if patterns and not report.topics:
        raise Refusal(f"no topic, declared or on the cluster, is like {' or '.join(patterns)}: look at --topics")
    text.render(report, Console())
    if out is not None:
        for path in write(report, out):
            print(path, file=sys.stderr)
    return 1 if report.counts()[Verdict.FAIL] else 0


@contextmanager
def auditing(project: Project, stack: str, master: str | None = None) -> Iterator[Look]:
    """Gives a function that audits the topics like some globs, as often as one likes, in one Spark session.

    Progress goes to standard error, where that is a terminal. Refuses declarations that do not hold, and a
    cluster that does not answer, before Spark is started.
    """
    connection = connect_to(project, stack)
    declarations = _declarations(project, stack)
    with open_cluster(connection):
        pass
    label = TextColumn("{task.description}")
    columns = (SpinnerColumn(), label, BarColumn(), TaskProgressColumn(), TimeElapsedColumn())

    def shown() -> Progress:
        console = Console(stderr=True)
        return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)

    with ExitStack() as opened:
        with shown() as progress:
            progress.add_task("starting Spark", total=None)
            spark = opened.enter_context(spark_session(project, master))

        def look(patterns: tuple[str, ...]) -> AuditReport:
            with shown() as progress:
                task = progress.add_task("reading the topics", total=1.0)
                request = Request(stack, connection, declarations, patterns)
                return audit_cluster(spark, request, lambda share: progress.update(task, completed=share))

        yield look


def _declarations(project: Project, stack: str) -> tuple[Declaration, ...]:
    checked = check(project, [stack])
    if errors := checked.errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise Refusal(f"what is declared cannot be audited: {errors[0]}{more}; see `topicwarden check --stack {stack}`")
    return checked.declarations[stack]
