"""`topicwarden import`: write YAML for undeclared topics, from files or from a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from topicwarden.cli.import_text import show
from topicwarden.cli.terminal import TERMINAL, print_wrapped
from topicwarden.interchange.convert import FORMATS
from topicwarden.kafka.connect.stack_connection import settings_file
from topicwarden.model.message_text import counted, did_you_mean
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.operations.import_files import import_files
from topicwarden.stacks.stack_settings import SCOPE

if TYPE_CHECKING:
    from topicwarden.operations.import_ import PendingAdoption


def import_(
    stack: str | None,
    patterns: Sequence[str],
    sources: Sequence[Path] = (),
    form: str | None = None,
    *,
    dry_run: bool = False,
    files_only: bool = False,
) -> int:
    """Write YAML for undeclared topics, adopt topics that are on the cluster as declared, and return the exit code.

    With ``sources``, files of other tools, the topics come from these files, and no cluster is contacted. Returns 1 if
    a topic was not imported, or if an imported topic violates a rule.
    """
    if form is not None and form not in FORMATS:
        raise Refusal(f"there is no format {form!r}{did_you_mean(form, FORMATS) or ': expected ' + ', '.join(FORMATS)}")
    project = find_project()
    if not sources:
        return _from_cluster(project, stack, patterns, dry_run, files_only)
    report = import_files(project, stack, sources, patterns, form, dry_run=dry_run)
    show(report, project.root, dry_run)
    if report.blocked:
        return 1
    if not report.topics:
        print_wrapped("nothing was imported: the files have no topic that a declaration could be written for")
    elif not dry_run:
        command = f"topicwarden import --stack {report.stack}"
        print_wrapped(f"next: `{command}` adopts the topics that are on the cluster as declared")
    return 0 if report.complete else 1


def _from_cluster(project: Project, stack: str | None, patterns: Sequence[str], dry_run: bool, files_only: bool) -> int:
    # An import from files needs neither Pulumi nor a cluster.
    from topicwarden.operations.import_ import importing_topics  # noqa: PLC0415

    with importing_topics(project, stack, patterns, dry_run=dry_run, adopting=not files_only, listener=TERMINAL) as (
        report,
        adoption,
    ):
        show(report, project.root, dry_run)
        adopted = adoption is None or _adopt(adoption)
    return 0 if report.complete and adopted else 1


def _adopt(adoption: PendingAdoption) -> bool:
    """Adopt the topics, and print the result. Return False if the scope of the stack forbids it."""
    stack = adoption.engine.stack
    if adoption.out_of_scope:
        print_wrapped(
            f"nothing was adopted, because these topics are outside of the scope of stack {stack}: "
            f"{', '.join(adoption.out_of_scope)}; add to {SCOPE} in {settings_file(stack)} what the stack takes over, "
            "then run the command again"
        )
        return False
    if not adoption.topics:
        print_wrapped(f"nothing to adopt into stack {stack}")
        return True
    adopted = adoption.run()
    many_topics = counted(len(adopted.topics), "topic")
    print_wrapped(f"{many_topics} adopted into stack {stack}; compared before and after, no setting changed")
    if adopted.pending:
        print_wrapped(f"{counted(adopted.pending, 'other change')} pending, not touched: see `pulumi preview`")
    return True
