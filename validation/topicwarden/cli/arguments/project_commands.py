"""Arguments of the commands for the files of a project: init, check, show, import and export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from topicwarden.audit.inference.inferred_rule import LEAST_RECORDS
from topicwarden.cli import completion
from topicwarden.cli.arguments.cluster_choice import BootstrapServer, CommandConfig, cluster_address
from topicwarden.cli.arguments.shared_options import (
    MaxRecords,
    MinRecords,
    OnlyStack,
    ShowValues,
    Topics,
    stack_option,
)
from topicwarden.cli.arguments.stack_choice import several_stacks
from topicwarden.cli.garbage_collection import without_garbage_collection
from topicwarden.model.problem import Refusal

app = typer.Typer()


@app.command(epilog="Example: topicwarden init orders --ci github")
def init(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="The folder of the project (default: this one).", show_default=False)
    ] = Path(),
    ci: Annotated[
        str | None, typer.Option("--ci", help="Also write CI files: github or gitlab.", show_default=False)
    ] = None,
    *,
    empty: Annotated[bool, typer.Option("--empty", help="Write no example topics: for an import.")] = False,
) -> None:
    """Write a new project: two topics, policies, a stack on the sandbox, Pulumi's files. Overwrites nothing."""
    from topicwarden.cli.init import init

    raise typer.Exit(init(folder, ci, empty=empty))


@app.command(
    epilog="Example: topicwarden check --stack prod --format sarif > topicwarden.sarif. "
    "With what differs between the stacks: `topicwarden check --all-stacks`."
)
def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH",
            help="Check only these files and folders, with the defaults that they inherit. A _defaults.yaml selects "
            "its folder. Checks that need all files are skipped: duplicate topics, colliding names, totals of a stack.",
            show_default=False,
        ),
    ] = None,
    stack: Annotated[
        list[str] | None, stack_option("Only this stack (default: all). Can be repeated, as --all-stacks.")
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="text, github, sarif, junit or json (default: github under GitHub Actions, else text).",
            show_default=False,
        ),
    ] = None,
    *,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix",
            help="Correct mistakes in topics/ that have one obvious correction, then check: units, misspelt keys, the "
            "order of keys. Prints the changes.",
        ),
    ] = False,
    diff: Annotated[
        bool,
        typer.Option("--diff", help="Only show what --fix would change; exit code 1 if it would change anything."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="The folder for check.sarif, .xml (JUnit) and .json."),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            "--base",
            metavar="REF",
            help="Compare schemas that a deploy registers with those of a Git commit, such as origin/main, by their "
            "compatibility. Starts a JVM if a schema differs, and downloads the checkers once (151 MiB).",
            show_default=False,
        ),
    ] = None,
    all_stacks: Annotated[
        bool, typer.Option("--all-stacks", help="All stacks, as by default, and what differs between them.")
    ] = False,
) -> None:
    """Check specs and policies without a cluster, and print each problem as file:line:col: message [rule]."""
    several = several_stacks(stack, all_stacks)
    from topicwarden.cli.check import check, check_fleet

    if several is not None:
        raise typer.Exit(check_fleet(several, form, paths or (), changes_files=fix or diff, out=out, base=base))
    raise typer.Exit(check(stack[0] if stack else None, form, paths or (), fix=fix, diff=diff, out=out, base=base))


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
) -> None:
    """Show a topic as a stack declares it, and where each value comes from."""
    from topicwarden.cli.show import show

    raise typer.Exit(show(topic, stack, form))


@app.command(
    "import",
    epilog="Example: topicwarden import --stack prod 'orders.*' '!*-changelog'. "
    "With contracts from the records: `topicwarden import --stack prod --contents --dry-run`.",
)
def import_(
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATTERN",
            help="Only topics that match one of these globs, and no !glob (default: all).",
            show_default=False,
        ),
    ] = None,
    stack: OnlyStack = None,
    sources: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Read topics from this file of another tool instead of the cluster. Can be repeated.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--from-format",
            metavar="FORMAT",
            help="asyncapi, odcs, strimzi, jikkou, redpanda, topicctl, kdef, kafka-gitops, julie, specmesh, terraform "
            "(a state), describe (output of kafka-topics) or create-topics (KAFKA_CREATE_TOPICS). "
            "Default: detected from the file.",
            show_default=False,
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--from-cluster",
            metavar="CLUSTER",
            help="With --from: only read the entries of this cluster, if the files have entries of several.",
            show_default=False,
        ),
    ] = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the files that would be written.")] = False,
    files_only: Annotated[
        bool, typer.Option("--files-only", help="Only write YAML; adopt no topic. Needs no Pulumi.")
    ] = False,
    include_unmanaged: Annotated[
        bool,
        typer.Option(
            "--include-unmanaged",
            help="With --from: also read what the other tool does not apply: unmanaged, ignored, paused or not ready.",
        ),
    ] = False,
    access: Annotated[
        bool,
        typer.Option("--access", help="Also write the access of the cluster: ACLs, quotas, users, settings of groups."),
    ] = False,
    schemas: Annotated[
        bool,
        typer.Option(
            "--schemas",
            help="Also write the subjects of the stack's Schema Registry: schemas, compatibility, references.",
        ),
    ] = False,
    contents: Annotated[
        bool,
        typer.Option(
            "--contents",
            help="Also write contents: what all retained records of new topics meet, with the evidence. Needs Java.",
        ),
    ] = False,
    max_records: MaxRecords = None,
    min_records: MinRecords = LEAST_RECORDS,
    show_values: ShowValues = False,
    waive_until: Annotated[
        str | None,
        typer.Option(
            "--waive-until",
            metavar="DATE",
            help="Also write waivers for what the topics violate, valid through this day: 2027-01-31.",
            show_default=False,
        ),
    ] = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Write YAML for live topics and adopt them into the stack. Changes nothing on the cluster."""
    address = cluster_address(bootstrap_server, command_config, stack=False)
    if not contents and (max_records is not None or show_values or min_records != LEAST_RECORDS):
        raise Refusal("--max-records, --min-records and --show-values are options of --contents: add --contents")
    with without_garbage_collection():
        from topicwarden.cli.import_ import import_
        from topicwarden.operations.operation_options import InferOptions

        raise typer.Exit(
            import_(
                stack,
                patterns or (),
                sources or (),
                form,
                dry_run=dry_run,
                files_only=files_only,
                access=access,
                schemas=schemas,
                include_unmanaged=include_unmanaged,
                address=address,
                cluster=cluster,
                waive_until=waive_until,
                contents=InferOptions(max_records, min_records, show_values) if contents else None,
            )
        )


@app.command(epilog="Example: topicwarden export --to asyncapi --stack prod --out asyncapi.yaml")
def export(
    to: Annotated[str, typer.Option("--to", metavar="STANDARD", help="asyncapi (3.0) or odcs (3.1).")],
    stack: OnlyStack = None,
    topics: Topics = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="PATH",
            help="The file for AsyncAPI, or the folder for ODCS (default: standard output).",
            show_default=False,
        ),
    ] = None,
    *,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")] = False,
) -> None:
    """Write the declared topics as an AsyncAPI document, or as data contracts (ODCS). Needs no cluster."""
    from topicwarden.cli.export import export

    raise typer.Exit(export(to, stack, topics or (), out, overwrite=overwrite))
