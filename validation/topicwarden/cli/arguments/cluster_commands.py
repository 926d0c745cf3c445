"""Arguments of the commands that use a cluster, such as plan, up, audit, watch, redrive and usage."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from topicwarden.audit.inference.inferred_rule import LEAST_RECORDS
from topicwarden.cli.arguments.cluster_choice import BootstrapServer, CommandConfig, cluster_address
from topicwarden.cli.arguments.shared_options import (
    AllStacks,
    MaxRecords,
    MinRecords,
    OnlyStack,
    ShowValues,
    Stack,
    Stacks,
    Topics,
    project_option,
    stack_option,
)
from topicwarden.cli.arguments.stack_choice import several_stacks, single_stack
from topicwarden.cli.garbage_collection import without_garbage_collection
from topicwarden.model.problem import Refusal
from topicwarden.model.verdict import FailOn, ReadScope

app = typer.Typer()


@app.command(
    epilog="Example: topicwarden plan --stack prod --topics 'orders.*' --format markdown > comment.md. "
    "All stacks in one report: `topicwarden plan --all-stacks`."
)
def plan(
    context: typer.Context,
    stack: Stacks = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="text, json, markdown or github (default: github under GitHub Actions, else text).",
            show_default=False,
        ),
    ] = None,
    topics: Topics = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="The folder for plan.json, .md and .txt.")
    ] = None,
    *,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit code 3 if changes are pending and none is refused.")
    ] = False,
    all_stacks: AllStacks = False,
) -> None:
    """Show the changes of a deploy and their consequences for live data. Runs `pulumi preview`; changes nothing."""
    several = several_stacks(stack, all_stacks)
    one = single_stack(stack, context) if several is None else ""
    with without_garbage_collection():
        from topicwarden.cli.plan import plan, plan_stacks

    if several is not None:
        raise typer.Exit(plan_stacks(several, form, detailed_exitcode, topics or (), out))
    raise typer.Exit(plan(one, form, detailed_exitcode, topics or (), out))


@app.command(epilog="Example: topicwarden up --stack dev --yes. Plain `pulumi up` works, too.")
def up(
    stack: Stack,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Deploy without showing the plan and asking.")] = False,
    *,
    refresh: Annotated[
        bool,
        typer.Option(
            "--refresh",
            help="Read the topics into Pulumi's state first: revert changes made by hand, unless that loses records, "
            "and create topics again that were deleted by hand.",
        ),
    ] = False,
) -> None:
    """Deploy the topics: run `pulumi up` with the options that fit the backend and the number of topics."""
    with without_garbage_collection():
        from topicwarden.cli.deploy import up

        raise typer.Exit(up(stack, yes, refresh))


@app.command(epilog="Example: topicwarden destroy --stack dev")
def destroy(
    stack: Stack,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")] = False,
) -> None:
    """Delete the topics of a stack, if the deployed YAML of each allows that: runs `pulumi destroy`."""
    with without_garbage_collection():
        from topicwarden.cli.deploy import destroy

        raise typer.Exit(destroy(stack, yes))


@app.command(epilog="Example: topicwarden refresh --stack prod. It changes no topic.")
def refresh(
    stack: Stack,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Accepted, as by pulumi; it asks nothing.")] = False,
) -> None:
    """Read the topics as they are on the cluster into Pulumi's state: runs `pulumi refresh`."""
    with without_garbage_collection():
        from topicwarden.cli.deploy import refresh

        raise typer.Exit(refresh(stack))


@app.command(
    epilog="Example: topicwarden audit --stack dev --topics 'flights.*' --out reports/. "
    "All stacks in one report: `topicwarden audit --all-stacks`."
)
def audit(
    context: typer.Context,
    stack: Stacks = None,
    topics: Topics = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="The folder for report.html, .md, .json, .sarif, .xml (JUnit) and .prom (OpenMetrics): a path, or a "
            "URI that Spark can write, such as s3a://bucket/reports.",
        ),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="The Spark master (default: local, or the one of spark-submit)."),
    ] = None,
    *,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    project: Annotated[
        Path | None,
        project_option(
            "The folder of the project (default: this folder, or one above it). For Spark jobs, whose driver runs "
            "in a folder of its own."
        ),
    ] = None,
    since: Annotated[
        ReadScope,
        typer.Option(
            "--since",
            metavar="all|last",
            help="all: read all records. last: read records written since the last audit.",
        ),
    ] = ReadScope.ALL,
    history: Annotated[
        str | None,
        typer.Option(
            "--history",
            metavar="WHERE",
            help="The history of audits: a path, a URI such as s3a://bucket/history, or none "
            "(default: topicwarden:history of the stack, else .cache/history/STACK).",
            show_default=False,
        ),
    ] = None,
    max_records: Annotated[
        int | None,
        typer.Option(
            "--max-records", metavar="N", help="Read at most this number of offsets, the newest of each partition."
        ),
    ] = None,
    sample: Annotated[
        float | None,
        typer.Option(
            "--sample", metavar="SHARE", help="Read only this fraction of each partition, the newest records: 0.1."
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate", metavar="BYTES", help="Read at most this many bytes per second, in all tasks together: 50MiB."
        ),
    ] = None,
    authorizer_log: Annotated[
        str | None,
        typer.Option(
            "--authorizer-log",
            metavar="DIR",
            help="The folder of the brokers' authorizer logs, kafka-authorizer.log, with one folder for each broker: a "
            "path, or a URI such as s3a://bucket/logs.",
        ),
    ] = None,
    log_time_zone: Annotated[
        str,
        typer.Option(
            "--log-time-zone",
            metavar="ZONE",
            help="The time zone of the brokers, for lines of authorizer logs that name none: Europe/Berlin, +02:00.",
        ),
    ] = "UTC",
    fail_on: Annotated[
        FailOn,
        typer.Option(
            "--fail-on",
            metavar="VERDICT",
            help="The mildest verdict that leads to exit code 1: fail, suspect or undecidable; or never.",
        ),
    ] = FailOn.FAIL,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="The format on standard output: text, json, markdown, sarif, junit or openmetrics.",
        ),
    ] = "text",
    all_stacks: AllStacks = False,
) -> None:
    """Read the records of live topics and compare them with the declarations. Only reads. Needs Java and a cluster.

    With --bootstrap-server, audit a cluster that nobody has declared: retention, compaction, keys, transactions,
    replication, lag and use are judged, and the report ends with the command that declares its topics.
    """
    address = cluster_address(bootstrap_server, command_config, stack=bool(stack or all_stacks))
    several = several_stacks(stack, all_stacks)
    one = single_stack(stack, context) if several is None and address is None else ""
    from topicwarden.audit.scan.spark_platform import refuse_unsupported

    refuse_unsupported(master)
    from topicwarden.cli.audit import audit, audit_address, audit_stacks, bounds
    from topicwarden.operations.operation_options import AuditOptions

    options = AuditOptions(
        history, since, bounds(max_records, sample, rate), authorizer_log=authorizer_log, log_time_zone=log_time_zone
    )
    patterns = tuple(topics or ())
    if address is not None:
        if project is not None:
            raise Refusal("--project has the declarations of a stack: remove it, or remove --bootstrap-server")
        raise typer.Exit(audit_address(address, patterns, out, master, options=options, fail_on=fail_on, form=form))
    if several is not None:
        code = audit_stacks(
            several, patterns, out, master, project_folder=project, options=options, fail_on=fail_on, form=form
        )
        raise typer.Exit(code)
    raise typer.Exit(
        audit(one, patterns, out, master, project_folder=project, options=options, fail_on=fail_on, form=form)
    )


@app.command(
    epilog="Example: topicwarden infer --stack prod 'orders.*' --out contracts/. "
    "A cluster without a project: `topicwarden infer --bootstrap-server localhost:9092 orders.placed.v1`. "
    "The files of new topics: `topicwarden import --contents`."
)
def infer(
    patterns: Annotated[
        list[str], typer.Argument(metavar="TOPIC", help="Names of topics, or globs, or !GLOB.", show_default=False)
    ],
    stack: OnlyStack = None,
    *,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    max_records: MaxRecords = None,
    min_records: MinRecords = LEAST_RECORDS,
    show_values: ShowValues = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="The folder for the contracts, and their schemas in schemas/."),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="The Spark master (default: local, or the one of spark-submit)."),
    ] = None,
) -> None:
    """Show the contract that the records of topics meet, with the evidence for each rule. Only reads.

    Of an undeclared topic, the contract is printed as YAML. Of a declared one, only the differences: `-` is what the
    records break, with exit code 1, and `+` what they allow to add. Without --show-values, no value of a record is
    shown.
    """
    address = cluster_address(bootstrap_server, command_config, stack=bool(stack))
    from topicwarden.audit.scan.spark_platform import refuse_unsupported

    refuse_unsupported(master)
    from topicwarden.cli.infer import infer
    from topicwarden.operations.operation_options import InferOptions

    options = InferOptions(max_records, min_records, show_values, master)
    raise typer.Exit(infer(stack, patterns, options, out, address))


@app.command(
    epilog="Example: topicwarden watch --stack prod --every 5m --listen 0.0.0.0:9464 --token-file /run/secrets/token. "
    "All stacks with one server: `topicwarden watch --all-stacks`. "
    "SIGTERM and Ctrl-C end it within ten seconds, with exit code 0."
)
def watch(
    context: typer.Context,
    stack: Stacks = None,
    *,
    every: Annotated[
        str,
        typer.Option("--every", metavar="TIME", help="The time from the start of an audit to the start of the next."),
    ] = "5m",
    listen: Annotated[
        str,
        typer.Option(
            "--listen",
            metavar="ADDRESS",
            help="The address and port of the last report, /metrics, /report.json, /healthz and /readyz. An address "
            "that other machines can reach needs --token-file.",
        ),
    ] = "127.0.0.1:9464",
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            metavar="FILE",
            help="A file with the bearer token that clients must send. It is read for each request.",
            show_default=False,
        ),
    ] = None,
    history: Annotated[
        str | None,
        typer.Option(
            "--history",
            metavar="WHERE",
            help="The history of audits: a path, or a URI such as s3a://bucket/history "
            "(default: topicwarden:history of the stack, else .cache/history/STACK). Only one watch can use it. Of "
            "several stacks, each has a folder below WHERE.",
            show_default=False,
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            metavar="URL",
            help="The address of this server for people: notifications link to the report there (default: --listen).",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate", metavar="BYTES", help="Read at most this many bytes per second, in all tasks together: 50MiB."
        ),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="The Spark master (default: local)."),
    ] = None,
    project: Annotated[
        Path | None,
        project_option("The folder of the project (default: this folder, or one above it)."),
    ] = None,
    all_stacks: AllStacks = False,
) -> None:
    """Audit what is new again and again, and serve metrics and the last report over HTTP. Only reads from Kafka."""
    several = several_stacks(stack, all_stacks)
    chosen = (single_stack(stack, context),) if several is None else several
    from topicwarden.audit.scan.spark_platform import refuse_unsupported

    refuse_unsupported(master)
    from topicwarden.cli.audit import bounds
    from topicwarden.cli.watch import seconds_of, watch
    from topicwarden.operations.operation_options import WatchOptions

    limits = bounds(None, None, rate)
    options = WatchOptions(seconds_of(every, "--every"), listen, token_file, history, url, master, limits)
    raise typer.Exit(watch(chosen, options, project))


@app.command(
    epilog="Example: topicwarden usage --stack prod --topics 'orders.*' --out reports/. "
    "All stacks in one report: `topicwarden usage --all-stacks`."
)
def usage(
    context: typer.Context,
    stack: Stacks = None,
    topics: Topics = None,
    form: Annotated[
        str,
        typer.Option("--format", "-f", metavar="FORMAT", help="text, json, markdown, html or openmetrics."),
    ] = "text",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="The folder for usage.html, .md, .json and .prom (OpenMetrics)."
        ),
    ] = None,
    *,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    history: Annotated[
        str | None,
        typer.Option(
            "--history",
            metavar="WHERE",
            help="The history of audits and observations: a path, a URI such as s3a://bucket/history, which needs "
            "Spark, or none (default: topicwarden:history of the stack, else .cache/history/STACK).",
            show_default=False,
        ),
    ] = None,
    authorizer_log: Annotated[
        str | None,
        typer.Option(
            "--authorizer-log",
            metavar="DIR",
            help="The folder of the brokers' authorizer logs, kafka-authorizer.log, with one folder for each broker: a "
            "path, or a URI such as s3a://bucket/logs. Needs Spark.",
        ),
    ] = None,
    log_time_zone: Annotated[
        str,
        typer.Option(
            "--log-time-zone",
            metavar="ZONE",
            help="The time zone of the brokers, for lines of authorizer logs that name none: Europe/Berlin, +02:00.",
        ),
    ] = "UTC",
    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="The Spark master, if Spark is needed (default: local)."),
    ] = None,
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            help="Add access: of what is used and not declared to the YAML, if the principal is known exactly. Prints "
            "the changes.",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --write: only show the changes.")] = False,
    all_stacks: AllStacks = False,
) -> None:
    """Show who reads and writes each topic, what nobody uses, and what topics cost. Only reads from Kafka."""
    address = cluster_address(bootstrap_server, command_config, stack=bool(stack or all_stacks))
    several = several_stacks(stack, all_stacks)
    one = single_stack(stack, context) if several is None and address is None else ""
    from topicwarden.cli.usage import usage, usage_of_address, usage_stacks
    from topicwarden.operations.operation_options import UsageOptions

    options = UsageOptions(history, authorizer_log, master, log_time_zone)
    if address is not None:
        if write or dry_run:
            raise Refusal("--write adds access to the YAML of a stack: remove it, or remove --bootstrap-server")
        raise typer.Exit(usage_of_address(address, tuple(topics or ()), options, form, out))
    if several is not None:
        raise typer.Exit(usage_stacks(several, tuple(topics or ()), options, form, out, write=write or dry_run))
    raise typer.Exit(usage(one, tuple(topics or ()), options, form, out, write=write, dry_run=dry_run))


@app.command(
    epilog="Example: topicwarden rebalance --stack prod --topics 'orders.*' --throttle 20MiB. "
    "After Ctrl-C or SIGTERM, the command starts no further moves and ends; Kafka continues the ongoing moves, "
    "throttled. Run the same command again to resume, also after a crash. It removes the throttle at the end."
)
def rebalance(
    stack: Stack,
    topics: Topics = None,
    throttle: Annotated[
        str,
        typer.Option(
            "--throttle",
            metavar="BYTES",
            help="Bytes per second into and out of each broker, or unlimited. Must be above the write rate of the "
            "topics, or the moves never end.",
        ),
    ] = "50MiB",
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the moves.")] = False,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Cancel the ongoing moves, and remove the throttle; start no moves.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Move without confirmation.")] = False,
    refresh: Annotated[bool, typer.Option("--refresh/--no-refresh", help="Refresh Pulumi's state afterwards.")] = True,
) -> None:
    """Move replicas to reach the declared replication factor, on live brokers, across all racks, with few moves.

    Removes replicas only from topics whose YAML has `allow: [{change: reduce-replicas, until: DATE}]`.
    """
    from topicwarden.cli.rebalance import RebalanceOptions, rebalance

    raise typer.Exit(rebalance(stack, tuple(topics or ()), RebalanceOptions(throttle, dry_run, cancel, yes, refresh)))


@app.command(
    epilog="Example: topicwarden redrive --stack prod --finding 4f1f0c2a9d3e --to orders.repaired.v1 "
    "--with repair:fix --execute. Run the same command again to resume, also after a crash."
)
def redrive(
    stack: Stack,
    finding: Annotated[
        str, typer.Option("--finding", metavar="ID", help="The id of the finding in the report.", show_default=False)
    ],
    to: Annotated[str, typer.Option("--to", metavar="TOPIC", help="The declared topic that receives the copies.")],
    *,
    report: Annotated[
        Path, typer.Option("--report", metavar="FILE", help="The report of the audit that has the finding.")
    ] = Path("reports/report.json"),
    function: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="MODULE:FUNCTION",
            help="A Python function of key, value and headers that returns them as they are to be copied, or None.",
        ),
    ] = None,
    max_records: Annotated[
        int, typer.Option("--max-records", min=1, help="Refuse a finding with more records.")
    ] = 10_000,
    master: Annotated[
        str | None, typer.Option("--master", metavar="URL", help="The Spark master (default: all cores).")
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute", help="Copy the records. Without it, only show what would be copied.")
    ] = False,
) -> None:
    """Copy exactly the records of a finding to another topic, exactly once. The topic of the finding is only read."""
    from topicwarden.cli.redrive import redrive
    from topicwarden.operations.operation_options import RedriveOptions

    options = RedriveOptions(finding, to, report, function, max_records, execute, master)
    raise typer.Exit(redrive(stack, options))


@app.command(epilog="Example: topicwarden doctor --stack prod --command audit")
def doctor(
    stack: Annotated[str | None, stack_option("Also ask the cluster of this stack. Changes nothing.")] = None,
    form: Annotated[str, typer.Option("--format", "-f", help="text or json.")] = "text",
    commands: Annotated[
        list[str] | None,
        typer.Option("--command", "-c", help="Only what this command needs (default: all commands). Can be repeated."),
    ] = None,
    *,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Show what is installed, what the cluster supports, the missing permissions, and what each command can do."""
    address = cluster_address(bootstrap_server, command_config, stack=stack is not None)
    from topicwarden.cli.doctor import doctor

    raise typer.Exit(doctor(address or stack, form, commands or ()))


@app.command(epilog="Example: topicwarden demo --chapter broker-loss")
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder for the report.")] = Path(
        "reports"
    ),
    chapters: Annotated[
        list[str] | None,
        typer.Option(
            "--chapter",
            help="Run this chapter in place of the story: access, schemas, usage, compaction, broker-loss, watch. "
            "Can be repeated.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Run the story and all chapters.")] = False,
) -> None:
    """Run the whole workflow on the sandbox: declare, deploy, fill, break, audit.

    Takes about 100 seconds. The chapter `schemas` needs Java 21. The chapter `watch` shows an alert of Prometheus, if
    Prometheus 2.42 or later is on the PATH or in the project's .cache; else a notification.
    """
    from topicwarden.cli.demo.demo import demo

    raise typer.Exit(demo(out, chapters or (), every=every))
