"""`topicwarden show`: show the declared topics of a stack with their access, and the origin of each value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from topicwarden.cli import completion
from topicwarden.cli.options import OnlyStack, require_format
from topicwarden.model.message_text import counted
from topicwarden.model.project import find_project
from topicwarden.report import terminal_output
from topicwarden.specs.stacks.stack_selection import only_stack

if TYPE_CHECKING:
    from pydantic import BaseModel

    from topicwarden.report.document import Document

app = typer.Typer()

FORMATS = ("text", "json")


@app.command(epilog="Example: topicwarden show orders.placed.v1 --stack dev")
def show(
    topic: Annotated[
        str | None,
        typer.Argument(
            metavar="TOPIC",
            help="The topic (default: list all).",
            show_default=False,
            autocompletion=completion.topics,
        ),
    ] = None,
    stack: OnlyStack = None,
    form: Annotated[str, typer.Option("--format", "-f", metavar="FORMAT", help="text or json.")] = "text",
) -> int:
    """Show a topic as a stack declares it, and where each value comes from."""
    from topicwarden.operations.show import hidden_by, show_topic, show_topics
    from topicwarden.report.shown_topics import list_document, topic_document

    require_format(form, FORMATS)
    project = find_project()
    selected = only_stack(project, stack)
    if topic is not None:
        shown = show_topic(project, selected, topic)
        _print(shown, topic_document(shown), form)
        return 0
    listed = show_topics(project, selected)
    _print(listed, list_document(listed), form)
    terminal_output.note(f"{counted(len(listed.topics), 'topic')} on stack {selected}{hidden_by(listed.errors)}")
    return 0


def _print(report: BaseModel, document: Document, form: str) -> None:
    from topicwarden.report.published_json import json_text

    if form == "json":
        terminal_output.write(json_text(report, ascii_only=True))
    else:
        terminal_output.write_text(terminal_output.document_text(document, whole_lines=True))
