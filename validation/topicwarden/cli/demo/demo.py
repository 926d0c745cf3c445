"""Run the story of the demo, or chapters of it, and compare the results with the expected ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from topicwarden.cli.demo import (
    access_chapter,
    broker_loss_chapter,
    compaction_chapter,
    contract_chapter,
    schemas_chapter,
    story,
    usage_chapter,
    watch_chapter,
)
from topicwarden.cli.demo.demo_run import STACK, DemoResult, DemoRun, heading
from topicwarden.kafka.connect.stack_connection import on_sandbox
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.report import terminal_output
from topicwarden.report.display import duration
from topicwarden.toolchain.prerequisites import require_registry_java

Run: TypeAlias = Callable[[DemoRun], Iterator[DemoResult]]


@dataclass(frozen=True)
class Chapter:
    """A text about a chapter, and its function. ``needs`` raises Refusal if this machine cannot run it."""

    shows: str
    run: Run
    needs: Callable[[], object] | None = None


CHAPTERS: Final[Mapping[str, Chapter]] = {
    "contract": Chapter("a contract that the flights write finds the fault of a new producer", contract_chapter.run),
    "access": Chapter("a pull request that revokes access in use", access_chapter.run),
    "schemas": Chapter(
        "pull requests that change a schema (needs Java 21)", schemas_chapter.run, require_registry_java
    ),
    "usage": Chapter("an undeclared reader, and a topic that nobody uses", usage_chapter.run),
    "compaction": Chapter("a cache before and after the log cleaner", compaction_chapter.run),
    "broker-loss": Chapter("an audit while a broker is lost", broker_loss_chapter.run),
    "watch": Chapter("a fault that fires an alert while `topicwarden watch` runs", watch_chapter.run),
}
"""The chapters, in the order in which `--all` runs them."""


def demo(out: Path, names: Sequence[str] = (), *, every: bool = False) -> int:
    """Run the story, or the chapters ``names``, or both with ``every``; return 1 if a result is not as expected.

    ``out`` is the folder for the report files.
    """
    runs = _selected(names, every=every)
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
    print(
        f"\nThe demo took {duration(1000 * round(time.monotonic() - started))}.", *_rest(names, every=every), sep="\n"
    )
    print(
        'The cluster is still running. Use it with `eval "$(topicwarden sandbox env)"`, then '
        "`pulumi preview --stack dev`. Stop it with `topicwarden sandbox down`."
    )
    return 0 if all(as_expected) else 1


def _selected(names: Sequence[str], *, every: bool) -> list[Run]:
    """Return what to run. Raises Refusal for an unknown chapter, and for one that this machine cannot run."""
    for name in names:
        if name not in CHAPTERS:
            raise Refusal(f"there is no chapter {name!r}: expected one of {', '.join(CHAPTERS)}")
    chapters = [chapter for name, chapter in CHAPTERS.items() if every or name in names]
    for chapter in chapters:
        if chapter.needs is not None:
            chapter.needs()
    first = [] if names and not every else [story.run]
    return [*first, *(chapter.run for chapter in chapters)]


def _rest(names: Sequence[str], *, every: bool) -> Iterable[str]:
    """Yield a line for each chapter that has not run."""
    rest = [] if every else [name for name in CHAPTERS if name not in names]
    if rest:
        yield "More chapters, with `topicwarden demo --chapter NAME`:"
        yield from (f"  {name:12} {CHAPTERS[name].shows}" for name in rest)


def _compare(subject: str, expected: object, actual: object) -> bool:
    """Print the comparison, and return True if ``actual`` is as expected."""
    print(f"{'as expected' if expected == actual else 'NOT AS EXPECTED'}  {subject}: {actual}")
    if expected != actual:
        print(f"                 expected {expected}")
    return expected == actual
