"""Arguments of the commands that print documentation: help, schema and rules."""

from __future__ import annotations

from typing import Annotated

import typer

from topicwarden.cli import completion

app = typer.Typer()


@app.command("help", epilog="Example: topicwarden help exit-codes")
def help_(
    concept: Annotated[
        str | None,
        typer.Argument(
            metavar="CONCEPT",
            help="A concept, such as topics, stacks, verdicts or exit-codes (default: list all).",
            show_default=False,
            autocompletion=completion.concepts,
        ),
    ] = None,
) -> None:
    """Explain a concept: topic files, policies, stacks, verdicts, exit codes, environment variables."""
    from topicwarden.cli.help import help_page

    raise typer.Exit(help_page(concept))


@app.command(epilog="Example: topicwarden schema topic > topic.schema.json")
def schema(
    name: Annotated[
        str,
        typer.Argument(
            metavar="WHAT", help="topic, access, policy, stack, report, check, plan, doctor, usage or fleet."
        ),
    ] = "topic",
) -> None:
    """Print the JSON Schema of topic, policy or stack files, of report.json, or of the JSON output of a command."""
    from topicwarden.cli.schema import schema

    raise typer.Exit(schema(name))


@app.command(epilog="Example: topicwarden rules checks > docs/checks.md")
def rules(
    page_name: Annotated[
        str | None,
        typer.Argument(
            metavar="WHAT",
            help="rules (of the YAML), checks (of the audit), runbook (for its findings), guards (of the plan), "
            "permissions (in Kafka), services, alerts (for Prometheus), dashboard (for Grafana), or the id of a rule "
            "or check, or all; default: a list of these.",
            show_default=False,
            autocompletion=completion.documented,
        ),
    ] = None,
) -> None:
    """Print the documentation of every rule, check, guard, permission and managed service, or files for monitoring."""
    from topicwarden.cli.rules import rules

    raise typer.Exit(rules(page_name))
