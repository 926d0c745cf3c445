"""`topicwarden show`: show the declared topics of a stack with their access, and the origin of each value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from topicwarden.cli import completion
from topicwarden.cli.options import OnlyStack
from topicwarden.model.message_text import counted, did_you_mean
from topicwarden.model.problem import Level, Refusal
from topicwarden.model.project import find_project
from topicwarden.report import terminal_output
from topicwarden.specs.stacks.stack_selection import selected_stacks

if TYPE_CHECKING:
    from topicwarden.specs.resolve import Declaration

app = typer.Typer()

FORMATS = ("text", "json")


@app.command(epilog="Example: topicwarden show orders.placed.v1 --stack prod")
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
    from topicwarden.report.declared_topics import access_to, list_json, list_text, topic_json, topic_text, values
    from topicwarden.specs.access_files import load_access, resolve_access
    from topicwarden.specs.declared_subjects import registered_subjects
    from topicwarden.specs.load import load
    from topicwarden.specs.resolve import resolve
    from topicwarden.specs.schema_files import ProjectSchemas
    from topicwarden.specs.stacks.stack_file import read_stack_file

    if form not in FORMATS:
        raise Refusal(f"there is no format {form!r}: expected one of {', '.join(FORMATS)}")
    project = find_project()
    stacks = selected_stacks(project, stack)
    if len(stacks) > 1:
        raise Refusal(f"a topic can differ by stack; select one with --stack: {', '.join(stacks)}")
    resolved = resolve(load(project.topics, project.root, project.stack_names()), stacks[0])
    loaded_access = load_access(project.access, project.root, project.stack_names())
    brokers = read_stack_file(project, stacks[0]).brokers
    errors = sum(problem.level is Level.ERROR for problem in (*resolved.problems, *loaded_access.problems))
    warning = f"; {counted(errors, 'error')} may hide topics and access: see `topicwarden check`" if errors else ""
    if topic is not None:
        access = access_to(topic, resolve_access(loaded_access, resolved.declarations, stacks[0]).access)
        declaration = _named(topic, stacks[0], resolved.declarations, warning)
        topic_values = values(declaration, brokers, registered_subjects(declaration, ProjectSchemas(project.root)))
        if form == "json":
            terminal_output.write(topic_json(topic_values, access, stacks[0], brokers))
        else:
            text = topic_text(topic_values, access, stacks[0], brokers, terminal_output.width())
            terminal_output.write_text(text)
        return 0
    if form == "json":
        terminal_output.write(list_json(resolved.declarations, stacks[0], brokers))
    else:
        terminal_output.write_text(list_text(resolved.declarations, brokers, terminal_output.width()))
    terminal_output.note(f"{counted(len(resolved.declarations), 'topic')} on stack {stacks[0]}{warning}")
    return 0


def _named(topic: str, stack: str, declarations: Sequence[Declaration], warning: str) -> Declaration:
    by_name = {declaration.topic.name: declaration for declaration in declarations}
    if topic not in by_name:
        raise Refusal(f"no topic {topic!r} is declared for stack {stack}{did_you_mean(topic, by_name)}{warning}")
    return by_name[topic]
