"""The command line: parse the arguments, call one command, and turn errors into one line and exit code 2."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from topicwarden import __version__
from topicwarden.child_processes import ending_children
from topicwarden.cli import completion
from topicwarden.cli.failure import CODE, details_of, line_for
from topicwarden.model.problem import Refusal
from topicwarden.model.verdict import FailOn, ReadScope
from topicwarden.report.display import printable
from topicwarden.report.terminal_output import VERBOSITY, without_commands

app = typer.Typer(
    name="topicwarden",
    help="Manage Kafka topics declaratively: check the YAML, deploy with Pulumi, audit the records.",
    epilog="Exit codes: 0 success; 1 something is not as declared, or is refused; 2 the command could not run.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
sandbox_app = typer.Typer(help="Run a Kafka cluster on this machine, for tests and trials.", no_args_is_help=True)
app.add_typer(sandbox_app, name="sandbox")
ci_app = typer.Typer(help="Run topicwarden in GitHub Actions, GitLab CI and other CI systems.", no_args_is_help=True)
app.add_typer(ci_app, name="ci")


def _stack_option(help_text: str) -> Any:
    return typer.Option("--stack", "-s", metavar="STACK", help=help_text, autocompletion=completion.stacks)


Stack = Annotated[str, _stack_option("stacks/Pulumi.STACK.yaml")]
OnlyStack = Annotated[str | None, _stack_option("The stack; optional if the project has only one.")]
Topics = Annotated[
    list[str] | None,
    typer.Option(
        "--topics",
        "-t",
        metavar="GLOB",
        autocompletion=completion.topics,
        help="Only topics that match this glob, or not !GLOB. Can be repeated.",
    ),
]
Broker = Annotated[int, typer.Argument(help="The id of the broker, from 1.", min=1)]


# Each command imports its module when it is called, so that `check` starts no JVM and does not import Pulumi.


@app.command(epilog="Example: topicwarden init orders --ci github")
def init(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="The folder of the project (default: this one).", show_default=False)
    ] = Path(),
    ci: Annotated[
        str | None, typer.Option("--ci", help="Also write CI files: github or gitlab.", show_default=False)
    ] = None,
) -> None:
    """Write a new project: two topics, policies, a stack on the sandbox, Pulumi's files. Overwrites nothing."""
    from topicwarden.cli.init import init

    raise typer.Exit(init(folder, ci))


@app.command(epilog="Example: topicwarden check --stack prod --format sarif > topicwarden.sarif")
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
    stack: Annotated[str | None, _stack_option("Only this stack (default: all).")] = None,
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
) -> None:
    """Check specs and policies without a cluster, and print each problem as file:line:col: message [rule]."""
    from topicwarden.cli.check import check

    raise typer.Exit(check(stack, form, paths or (), fix=fix, diff=diff, out=out))


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


@app.command("import", epilog="Example: `topicwarden import --stack prod 'orders.*' '!*-changelog'`")
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
            help="asyncapi, odcs, strimzi, jikkou, redpanda, topicctl, kdef, kafka-gitops, julie, terraform (a state), "
            "describe (output of kafka-topics) or create-topics (KAFKA_CREATE_TOPICS). "
            "Default: detected from the file.",
            show_default=False,
        ),
    ] = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the files that would be written.")] = False,
    files_only: Annotated[
        bool, typer.Option("--files-only", help="Only write YAML; adopt no topic. Needs no Pulumi.")
    ] = False,
) -> None:
    """Write YAML for live topics and adopt them into the stack. Changes nothing on the cluster."""
    from topicwarden.cli.import_ import import_

    raise typer.Exit(import_(stack, patterns or (), sources or (), form, dry_run=dry_run, files_only=files_only))


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


@app.command(epilog="Example: topicwarden plan --stack prod --topics 'orders.*' --format markdown > comment.md")
def plan(
    stack: Stack,
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
) -> None:
    """Show the changes of a deploy and their consequences for live data. Runs `pulumi preview`; changes nothing."""
    from topicwarden.cli.plan import plan

    raise typer.Exit(plan(stack, form, detailed_exitcode, topics or (), out))


@app.command(epilog="Example: topicwarden up --stack dev --yes. Plain `pulumi up` works, too.")
def up(
    stack: Stack,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Deploy without showing the plan and asking.")] = False,
) -> None:
    """Deploy the topics: run `pulumi up` with the options that fit the backend and the number of topics."""
    from topicwarden.cli.up import up

    raise typer.Exit(up(stack, yes))


@app.command(epilog="Example: topicwarden audit --stack dev --topics 'flights.*' --out reports/")
def audit(
    stack: Stack,
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
    project: Annotated[
        Path | None,
        typer.Option(
            "--project",
            metavar="DIR",
            help="The folder of the project (default: this folder, or one above it). For Spark jobs, whose driver runs "
            "in a folder of its own.",
            show_default=False,
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
) -> None:
    """Read the records of live topics and compare them with the declarations. Only reads. Needs Java and a cluster."""
    from topicwarden.audit.scan.spark_platform import refuse_unsupported

    refuse_unsupported(master)
    from topicwarden.cli.audit import AuditOptions, audit, bounds

    if since is ReadScope.LAST and (max_records or sample):
        raise Refusal("--since last reads all new records; remove --max-records and --sample")
    options = AuditOptions(history, since, bounds(max_records, sample, rate))
    raise typer.Exit(
        audit(
            stack,
            tuple(topics or ()),
            out,
            master,
            project_folder=project,
            options=options,
            fail_on=fail_on,
            form=form,
        )
    )


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

    Removes replicas only from topics whose YAML has `allow: [reduce-replicas]`.
    """
    from topicwarden.cli.rebalance import RebalanceOptions, rebalance

    raise typer.Exit(rebalance(stack, tuple(topics or ()), RebalanceOptions(throttle, dry_run, cancel, yes, refresh)))


@app.command(epilog="Example: topicwarden doctor --stack prod --command audit")
def doctor(
    stack: Annotated[str | None, _stack_option("Also ask the cluster of this stack. Changes nothing.")] = None,
    form: Annotated[str, typer.Option("--format", "-f", help="text or json.")] = "text",
    commands: Annotated[
        list[str] | None,
        typer.Option("--command", "-c", help="Only what this command needs (default: all commands). Can be repeated."),
    ] = None,
) -> None:
    """Show what is installed, what the cluster supports, which rights are missing, and what each command can do."""
    from topicwarden.cli.doctor import doctor

    raise typer.Exit(doctor(stack, form, commands or ()))


@app.command(epilog="Example: topicwarden demo")
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder for the report.")] = Path(
        "reports"
    ),
) -> None:
    """Run the whole workflow on the sandbox: check, deploy, write records, plant faults, audit. Takes 1-2 minutes."""
    from topicwarden.cli.demo import demo

    raise typer.Exit(demo(out))


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
        str, typer.Argument(metavar="WHAT", help="topic, policy, stack, report, check, plan or doctor.")
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
            help="rules (of the YAML), checks (of the audit), runbook (for its findings), guards (of the plan), rights "
            "(in Kafka), services, or the id of a rule or check; default: all.",
            show_default=False,
            autocompletion=completion.documented,
        ),
    ] = None,
) -> None:
    """Print the documentation of every rule, check, guard, right and managed service."""
    from topicwarden.cli.rules import rules

    raise typer.Exit(rules(page_name))


@sandbox_app.command("up", epilog="Example: topicwarden sandbox up --brokers 3")
def sandbox_up(
    brokers: Annotated[int, typer.Option("--brokers", help="The number of brokers.", min=1, max=9)] = 3,
    port: Annotated[
        int | None, typer.Option("--port", help="The first broker's port (default: free ones).", min=1024, max=65000)
    ] = None,
) -> None:
    """Start the cluster, or the brokers that are not running. Safe to repeat."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.up(brokers, port))


@sandbox_app.command("down", epilog="Example: topicwarden sandbox down --remove")
def sandbox_down(
    remove: Annotated[bool, typer.Option("--remove", help="Also delete its data and its Pulumi state.")] = False,
) -> None:
    """Stop all brokers. Their data is kept for the next up."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.down(remove))


@sandbox_app.command("status", epilog="Example: topicwarden sandbox status")
def sandbox_status() -> None:
    """Show the state of each broker: running, stopped or killed. Exit code 1 unless all are running."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.status())


@sandbox_app.command("stop", epilog="Example: topicwarden sandbox stop 3")
def sandbox_stop(broker: Broker) -> None:
    """Stop one broker gracefully, as for maintenance."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.change("stop", broker))


@sandbox_app.command("kill", epilog="Example: topicwarden sandbox kill 3")
def sandbox_kill(broker: Broker) -> None:
    """Kill one broker, as in a machine failure."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.change("kill", broker))


@sandbox_app.command("start", epilog="Example: topicwarden sandbox start 3")
def sandbox_start(broker: Broker) -> None:
    """Start one broker again."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.change("start", broker))


@sandbox_app.command("install", epilog="Example: topicwarden sandbox install --from /media/jars")
def sandbox_install(
    jars_from: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FOLDER",
            help="Take Kafka's jars from this folder, instead of downloading them from Maven Central.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Install the tools for deploys and the sandbox: Kafka, and Pulumi if it is not on the PATH. Needed once."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.install(jars_from))


@sandbox_app.command("env", epilog='Example: eval "$(topicwarden sandbox env)"; pulumi preview --stack dev')
def sandbox_env(
    stack: Annotated[
        str | None, _stack_option("For this stack; a stack on the sandbox also gets the sandbox's passphrase.")
    ] = None,
) -> None:
    """Print the environment variables that `pulumi` and `spark-submit` need in this project."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.env(stack))


@ci_app.command("run", epilog="Example: topicwarden ci run plan --stack prod --out plan/")
def ci_run(
    command: Annotated[str, typer.Argument(metavar="COMMAND", help="check, plan, up, rebalance or audit.")],
    stack: OnlyStack = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder for report files.")] = Path(
        "reports"
    ),
    *,
    base: Annotated[
        Path | None,
        typer.Option(
            "--base",
            metavar="DIR",
            help="The project in a checkout of the target branch. If the stack is on the sandbox, a plan compares with "
            "this project.",
            show_default=False,
        ),
    ] = None,
    fail_on: Annotated[
        FailOn,
        typer.Option(
            "--fail-on",
            metavar="WHAT",
            help="never: exit code 0 instead of 1. fail: the command's own exit code. An audit also has suspect and "
            "undecidable.",
        ),
    ] = FailOn.FAIL,
    arguments: Annotated[
        str, typer.Option("--arguments", metavar="TEXT", help="More arguments of the command: '--rate 50MiB'.")
    ] = "",
) -> None:
    """Run a command as a job: start the sandbox if the stack uses it, write report files and the job summary."""
    from topicwarden.cli import ci

    raise typer.Exit(ci.run(command, stack, out, base, fail_on=fail_on, arguments=arguments))


@ci_app.command("comment", epilog="Example: topicwarden ci comment plan/plan.md")
def ci_comment(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="plan.md of `topicwarden plan --out DIR`.")],
) -> None:
    """Write the plan as a comment on the pull request of this run, over the comment of an earlier run.

    The token is in TOPICWARDEN_COMMENT_TOKEN.
    """
    from topicwarden.cli import ci

    raise typer.Exit(ci.comment(file))


@ci_app.command("stacks", epilog="Example: topicwarden ci stacks --sandbox")
def ci_stacks(
    sandbox: Annotated[bool, typer.Option("--sandbox", help="Only stacks whose cluster is the sandbox.")] = False,
) -> None:
    """Print the stacks of the project as a JSON array, for a matrix of jobs."""
    from topicwarden.cli import ci

    raise typer.Exit(ci.stacks(sandbox))


@app.callback(invoke_without_command=True)
def top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print results and errors only, no progress.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="After an error, also print its details, as in the log file.")
    ] = False,
) -> None:
    VERBOSITY.quiet, VERBOSITY.verbose = quiet, verbose
    if version:
        print(__version__)
        raise typer.Exit


def run() -> None:
    """Run the command line; the entry point of the program ``topicwarden``."""
    try:
        with ending_children():
            app()
    except Exception as error:  # noqa: BLE001 -- the one place where every error becomes a line and an exit code
        print(without_commands(f"topicwarden: {printable(line_for(error))}"), file=sys.stderr)
        if VERBOSITY.verbose and (details := details_of(error)):
            print(without_commands(details), file=sys.stderr)
        sys.exit(CODE)
