"""The chapters of the demo, and which of them `topicwarden demo` runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from topicwarden.cli.demo.demo_run import DemoResult, DemoRun
from topicwarden.model.problem import Refusal
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


def selected(names: Sequence[str], *, every: bool) -> list[Run]:
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


def rest(names: Sequence[str], *, every: bool) -> Iterable[str]:
    """Yield a line for each chapter that has not run."""
    left = [] if every else [name for name in CHAPTERS if name not in names]
    if left:
        yield "More chapters, with `topicwarden demo --chapter NAME`:"
        yield from (f"  {name:12} {CHAPTERS[name].shows}" for name in left)
