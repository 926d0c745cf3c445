"""Share between the story and the chapters of the demo: the sandbox, the deployed topics, and one Spark session."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, TypeAlias

from rich.console import Console

from topicwarden.cli.terminal import TERMINAL
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.project import CACHE, Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import AuditFunction, auditing
from topicwarden.policies.check_specs import CheckedStacks
from topicwarden.report.display import printable

STACK: Final = "dev"
_COLUMNS: Final = 80

DemoResult: TypeAlias = tuple[str, object, object]
"""A comparison: its subject, the expected result, the actual result."""


@dataclass(frozen=True)
class DemoRun:
    """A sandbox with the deployed and filled topics of the example. ``out`` is the folder for reports."""

    project: Project
    sandbox: Sandbox
    engine: PulumiEngine
    checked: CheckedStacks
    console: Console
    out: Path
    resources: ExitStack

    @property
    def servers(self) -> list[str]:
        return self.sandbox.bootstrap_servers

    @cached_property
    def audit(self) -> AuditFunction:
        """The function that audits topics. All audits share one Spark session, which starts with the first one."""
        return self.resources.enter_context(auditing(self.project, STACK, listener=TERMINAL))

    def heading(self, title: str) -> None:
        heading(self.console, title)


def heading(console: Console, title: str) -> None:
    console.print()
    console.rule(f"[bold]{title}", align="left")


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def findings(report: AuditReport, verdict: Verdict) -> list[tuple[str, str]]:
    """Return the topics and the checks of the findings with ``verdict``, sorted."""
    return sorted((finding.topic, finding.check) for finding in report.findings if finding.verdict is verdict)


def finding_lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.verdict.value} {finding.check} {finding.topic}: {finding.message}"
    yield from (f"because {reason}" for reason in finding.because)
    if finding.location:
        yield f"declared in {finding.location.file}:{finding.location.line}"
    yield f"remedy: {finding.remedy}"


def print_lines(*lines: str, indent: int = 0) -> None:
    """Print ``lines``, wrapped at 80 columns; words that are longer, such as URLs, stay whole."""
    margin = " " * indent
    for line in lines:
        wrapped = textwrap.wrap(
            printable(line),
            _COLUMNS,
            initial_indent=margin,
            subsequent_indent=margin,
            break_long_words=False,
            break_on_hyphens=False,
        )
        print("\n".join(wrapped), flush=True)


def copy_of(project: Project, folder: Path) -> Project:
    """Return a copy of ``project`` in the new ``folder``, without its cache. Raises OSError if the folder exists."""
    folder.mkdir()
    for each in (project.topics, project.access, project.subjects, project.policies, project.stacks):
        if each.is_dir():
            shutil.copytree(each, folder / each.name)
    shutil.copy(project.root / "Pulumi.yaml", folder)
    return Project(folder)


@contextmanager
def shared_cache(project: Project) -> Iterator[None]:
    """Let all projects use the cache of ``project``, and so its sandbox, during the block."""
    previous = os.environ.get(CACHE)
    os.environ[CACHE] = str(project.cache)
    try:
        yield
    finally:
        if previous is None:
            del os.environ[CACHE]
        else:
            os.environ[CACHE] = previous
