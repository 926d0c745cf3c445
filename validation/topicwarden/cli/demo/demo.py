"""`topicwarden demo`: run the story of the demo, or chapters of it, and compare the results with the expected ones."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.report import terminal_output
from topicwarden.report.display import duration

app = typer.Typer()


@app.command(epilog="Example: topicwarden demo --chapter broker-loss")
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder for the report.")] = Path(
        "reports"
    ),
    chapters: Annotated[
        list[str] | None,
        typer.Option(
            "--chapter",
            metavar="NAME",
            help="Run this chapter in place of the story: contract, access, schemas, usage, compaction, broker-loss, "
            "watch. Can be repeated.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Run the story and all chapters.")] = False,
) -> int:
    """Run the whole workflow on the sandbox: declare, deploy, fill, break, audit.

    Takes about 100 seconds. The chapter `schemas` needs Java 21. The chapter `watch` shows an alert of Prometheus, if
    Prometheus 2.42 or later is on the PATH or in the project's .cache; else a notification.
    """
    from topicwarden.cli.demo import story
    from topicwarden.cli.demo.chapters import rest, selected
    from topicwarden.cli.demo.demo_run import STACK, heading
    from topicwarden.kafka.connect.stack_connection import on_sandbox

    names = chapters or ()
    runs = selected(names, every=every)
    project, console = find_project(), terminal_output.console()
    if not on_sandbox(project, STACK):
        raise Refusal(
            f"the demo deploys stack {STACK} to the sandbox, but stacks/Pulumi.{STACK}.yaml does not have "
            "`topicwarden:cluster: sandbox`; run the demo in a clone of the topicwarden repository"
        )
    started = time.monotonic()
    with ExitStack() as resources:
        prepared = story.prepare(project, console, out, resources)
        outcomes = [outcome for run in runs for outcome in run(prepared)]
    heading(console, "Expected and actual results")
    as_expected = [_compare(*outcome) for outcome in outcomes]
    print(f"\nThe demo took {duration(1000 * round(time.monotonic() - started))}.", *rest(names, every=every), sep="\n")
    print(
        'The cluster is still running. Use it with `eval "$(topicwarden sandbox env)"`, then '
        "`pulumi preview --stack dev`. Stop it with `topicwarden sandbox down`."
    )
    return 0 if all(as_expected) else 1


def _compare(subject: str, expected: object, actual: object) -> bool:
    """Print the comparison, and return True if ``actual`` is as expected."""
    print(f"{'as expected' if expected == actual else 'NOT AS EXPECTED'}  {subject}: {actual}")
    if expected != actual:
        print(f"                 expected {expected}")
    return expected == actual
