"""The command line: parses, calls one verb, and turns what the outside world refuses into one line and exit code 2."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from topicwarden import __version__
from topicwarden.child_processes import ending_children
from topicwarden.cli.failure import CODE, line_for
from topicwarden.model.problem import Refusal
from topicwarden.model.verdict import FailOn, ReadScope
from topicwarden.report.display import printable
from topicwarden.report.terminal_output import inert

app = typer.Typer(
    name="topicwarden",
    help="Kafka topics as their owners declared them: check the YAML, deploy with Pulumi, audit the records.",
    epilog="Exit codes: 0 all is well; 1 something declared is not so, or may not be done; 2 it could not run.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
sandbox_app = typer.Typer(
    help="A real Kafka cluster on this machine, for trying out and for tests.", no_args_is_help=True
)
app.add_typer(sandbox_app, name="sandbox")


Stack = Annotated[str, typer.Option("--stack", "-s", help="The stack: stacks/Pulumi.<stack>.yaml.")]
Broker = Annotated[int, typer.Argument(help="The broker's id, from 1.", min=1)]


# A command is imported when it is called: a check of a pull request starts no JVM and imports no Pulumi.


@app.command(epilog="Example: topicwarden check --stack prod --format sarif > topicwarden.sarif")
def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PATH]...",
            help="Only these files and folders, with all that they inherit; a _defaults.yaml stands for its folder. "
            "What takes every file to see is not seen then: a topic that another file declares, too, names that "
            "collide, totals of a stack.",
            show_default=False,
        ),
    ] = None,
    stack: Annotated[str | None, typer.Option("--stack", "-s", help="Only this stack (default: every one).")] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            help="text, github, sarif, junit or json (default: github under GitHub Actions, else text).",
            show_default=False,
        ),
    ] = None,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix",
            help="Mend what has one right answer in topics/, then check: units, misspelt keys, the order of keys. "
            "Prints what it changes.",
        ),
    ] = False,
    diff: Annotated[
        bool,
        typer.Option("--diff", help="Only show what --fix would change; exit code 1 where that is something."),
    ] = False,
) -> None:
    """Judge specs and policies, without a cluster: every problem as file:line:col: message [rule]."""
    from topicwarden.cli.check import check

    raise typer.Exit(check(stack, form, paths or (), fix, diff))


@app.command(epilog="Example: topicwarden show orders.placed.v1 --stack prod")
def show(
    topic: Annotated[str | None, typer.Argument(help="The topic (default: list all).", show_default=False)] = None,
    stack: Annotated[
        str | None, typer.Option("--stack", "-s", help="The stack; may be left out where there is one.")
    ] = None,
    form: Annotated[str, typer.Option("--format", "-f", help="text or json.")] = "text",
) -> None:
    """Show a topic as a stack declares it, and where each value comes from."""
    from topicwarden.cli.show import show

    raise typer.Exit(show(topic, stack, form))


@app.command("import", epilog="Example: topicwarden import --stack prod 'orders.*' '!*-changelog'")
def import_(
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATTERN]...",
            help="Only topics like one of these globs, and none like a !glob (default: all).",
            show_default=False,
        ),
    ] = None,
    stack: Annotated[
        str | None, typer.Option("--stack", "-s", help="The stack; may be left out where there is one.")
    ] = None,
    sources: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            help="Read topics from this file instead of the cluster: of Strimzi, Jikkou, topicctl, Terraform's state, "
            "KAFKA_CREATE_TOPICS, or kafka-topics --describe; may be given again.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--from-format",
            help="strimzi, jikkou, topicctl, terraform, describe or create-topics (default: by the content).",
            show_default=False,
        ),
    ] = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the files as they would be.")] = False,
    files_only: Annotated[
        bool, typer.Option("--files-only", help="Only write YAML; adopt nothing, and need no Pulumi.")
    ] = False,
) -> None:
    """Write YAML for live topics and adopt them into the stack, touching nothing on the cluster."""
    from topicwarden.cli.import_ import import_

    raise typer.Exit(import_(stack, patterns or (), sources or (), form, dry_run=dry_run, files_only=files_only))


@app.command(epilog="Example: topicwarden plan --stack prod --format markdown > comment.md")
def plan(
    stack: Stack,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            help="text, json, markdown or github (default: github under GitHub Actions, else text).",
            show_default=False,
        ),
    ] = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit code 3 where changes are pending and none is refused.")
    ] = False,
) -> None:
    """Show what a deploy would change and what would follow for live data. Runs `pulumi preview`; changes nothing."""
    from topicwarden.cli.plan import plan

    raise typer.Exit(plan(stack, form, detailed_exitcode))


@app.command(epilog="Example: topicwarden audit --stack dev --topics 'flights.*' --out reports/")
def audit(
    stack: Stack,
    topics: Annotated[
        list[str] | None, typer.Option("--topics", "-t", help="Only topics like this glob; may be given again.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A folder for report.html, .md, .json, .sarif and .xml (JUnit).")
    ] = None,
    master: Annotated[
        str | None, typer.Option("--master", help="Spark's master (default: this machine, or spark-submit's).")
    ] = None,
    *,
    since: Annotated[
        ReadScope,
        typer.Option("--since", help="all: read everything. last: read what was written since the last audit."),
    ] = ReadScope.ALL,
    history: Annotated[
        str | None,
        typer.Option(
            "--history",
            help="Where audits remember: a path, an address such as s3a://bucket/history, or none "
            "(default: topicwarden:history of the stack, else .cache/history/<stack>).",
            show_default=False,
        ),
    ] = None,
    max_records: Annotated[
        int | None,
        typer.Option("--max-records", help="Read no more offsets than this: the newest of each partition."),
    ] = None,
    sample: Annotated[
        float | None, typer.Option("--sample", help="Read this share of each partition: the newest, such as 0.1.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option("--rate", help="Read no more than this a second, over all tasks, such as 50MiB.")
    ] = None,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="The mildest verdict that ends in exit code 1; or never.")
    ] = FailOn.FAIL,
    form: Annotated[
        str, typer.Option("--format", "-f", help="Of standard output: text, json, markdown, sarif or junit.")
    ] = "text",
) -> None:
    """Read the topics' live contents and judge them against what is declared. Only reads; needs Java and a cluster."""
    from topicwarden.cli.audit import AuditOptions, audit, bounds

    if since is ReadScope.LAST and (max_records or sample):
        raise Refusal("--since last reads what is new, all of it: leave out --max-records and --sample")
    options = AuditOptions(history, since, bounds(max_records, sample, rate))
    raise typer.Exit(audit(stack, tuple(topics or ()), out, master, options=options, fail_on=fail_on, form=form))


@app.command(
    epilog="Example: topicwarden rebalance --stack prod --topics 'orders.*' --throttle 20MiB. "
    "Ctrl-C and SIGTERM end the watching and begin nothing new; what moves goes on, throttled, in Kafka. The same "
    "command again takes it up, also after a crash, and removes the throttle at the end."
)
def rebalance(
    stack: Stack,
    topics: Annotated[
        list[str] | None, typer.Option("--topics", "-t", help="Only topics like this glob; may be given again.")
    ] = None,
    throttle: Annotated[
        str,
        typer.Option(
            "--throttle",
            help="Bytes a second into each broker and out of each, or unlimited. More than what is written to the "
            "topics meanwhile, or it never ends.",
        ),
    ] = "50MiB",
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would move.")] = False,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Take back what moves now, and remove the throttle; move nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Move without asking.")] = False,
    refresh: Annotated[
        bool, typer.Option("--refresh/--no-refresh", help="Bring Pulumi's state to agree afterwards.")
    ] = True,
) -> None:
    """Move replicas to where they belong: as many as declared, on living brokers, over all racks. Moves the least.

    Drops replicas only of topics whose YAML says `allow: [reduce-replicas]`.
    """
    from topicwarden.cli.rebalance import RebalanceOptions, rebalance

    raise typer.Exit(rebalance(stack, tuple(topics or ()), RebalanceOptions(throttle, dry_run, cancel, yes, refresh)))


@app.command(epilog="Example: topicwarden demo")
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the report goes.")] = Path("reports"),
) -> None:
    """The whole way on the sandbox: declare, deploy, fill, break, audit. Takes a minute or two."""
    from topicwarden.cli.demo import demo

    raise typer.Exit(demo(out))


@app.command(epilog="Example: topicwarden schema topic > topic.schema.json")
def schema(what: Annotated[str, typer.Argument(help="topic, policy, report, check or plan.")] = "topic") -> None:
    """Print the JSON Schema of topic files, of policy files, of report.json, or of what check --format json prints."""
    from topicwarden.cli.schema import schema

    raise typer.Exit(schema(what))


@app.command(epilog="Example: topicwarden rules checks > docs/checks.md")
def rules(
    what: Annotated[
        str | None,
        typer.Argument(help="rules (of the YAML) or checks (of the audit); both without.", show_default=False),
    ] = None,
) -> None:
    """List every rule and every check, with what it says and when."""
    from topicwarden.cli.rules import rules

    raise typer.Exit(rules(what))


@sandbox_app.command("up", epilog="Example: topicwarden sandbox up --brokers 3")
def sandbox_up(
    brokers: Annotated[int, typer.Option("--brokers", help="How many.", min=1, max=9)] = 3,
    port: Annotated[
        int | None, typer.Option("--port", help="The first broker's port (default: free ones).", min=1024, max=65000)
    ] = None,
) -> None:
    """Start the cluster, or what is missing of it; safe to call twice."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.up(brokers, port))


@sandbox_app.command("down")
def sandbox_down(
    remove: Annotated[bool, typer.Option("--remove", help="Delete its data and Pulumi's state of it, too.")] = False,
) -> None:
    """Stop every broker; their data stays for the next up."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.down(remove))


@sandbox_app.command("status")
def sandbox_status() -> None:
    """Show every broker: running, stopped or killed. Exit code 1 unless all run."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.status())


@sandbox_app.command("stop")
def sandbox_stop(broker: Broker) -> None:
    """Stop one broker in order, as for maintenance."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.change("stop", broker))


@sandbox_app.command("kill")
def sandbox_kill(broker: Broker) -> None:
    """Kill one broker, as if its machine were lost."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.change("kill", broker))


@sandbox_app.command("start")
def sandbox_start(broker: Broker) -> None:
    """Start one broker again."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.change("start", broker))


@sandbox_app.command("install")
def sandbox_install() -> None:
    """Fetch, once, what deploy, audit and the sandbox run: Kafka, Spark's connector, Pulumi."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.install())


@sandbox_app.command("env", epilog='Example: eval "$(topicwarden sandbox env)"; pulumi preview --stack dev')
def sandbox_env(
    stack: Annotated[
        str | None,
        typer.Option("--stack", "-s", help="For this stack: one on the sandbox also gets the sandbox's passphrase."),
    ] = None,
) -> None:
    """Print the variables with which `pulumi` and `spark-submit` work in this project's shell."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.env(stack))


@app.callback(invoke_without_command=True)
def top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit


def run() -> None:
    """The entry point."""
    try:
        with ending_children():
            app()
    except Exception as error:  # noqa: BLE001 -- the one place where every error becomes a line and an exit code
        print(inert(f"topicwarden: {printable(line_for(error))}"), file=sys.stderr)
        sys.exit(CODE)
