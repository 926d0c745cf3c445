"""Arguments of the commands of `topicwarden sandbox`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from topicwarden.cli.arguments.shared_options import Broker, stack_option

app = typer.Typer(help="Run a Kafka cluster on this machine, for tests and trials.", no_args_is_help=True)


@app.command("up", epilog="Example: topicwarden sandbox up --brokers 3")
def up(
    brokers: Annotated[int, typer.Option("--brokers", help="The number of brokers.", min=1, max=9)] = 3,
    port: Annotated[
        int | None, typer.Option("--port", help="The first broker's port (default: free ones).", min=1024, max=65000)
    ] = None,
) -> None:
    """Start the cluster, or the brokers that are not running. Safe to repeat.

    ACLs are enforced for users with a password (SCRAM-SHA-512), who have a listener of their own. All other clients may
    do everything. If a stack has `topicwarden:schemaRegistry: sandbox`, a Schema Registry (Apicurio, on Java 21) is
    started, too.
    """
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.up(brokers, port))


@app.command("down", epilog="Example: topicwarden sandbox down --remove")
def down(
    remove: Annotated[bool, typer.Option("--remove", help="Also delete its data and its Pulumi state.")] = False,
) -> None:
    """Stop all brokers. Their data is kept for the next up."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.down(remove))


@app.command("status", epilog="Example: topicwarden sandbox status")
def status() -> None:
    """Show the state of each broker: running, stopped or killed. Exit code 1 unless all are running."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.status())


@app.command("stop", epilog="Example: topicwarden sandbox stop 3")
def stop(broker: Broker) -> None:
    """Stop one broker gracefully, as for maintenance."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.change("stop", broker))


@app.command("kill", epilog="Example: topicwarden sandbox kill 3")
def kill(broker: Broker) -> None:
    """Kill one broker, as in a machine failure."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.change("kill", broker))


@app.command("start", epilog="Example: topicwarden sandbox start 3")
def start(broker: Broker) -> None:
    """Start one broker again."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.change("start", broker))


@app.command("install", epilog="Example: topicwarden sandbox install --from /media/jars")
def install(
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


@app.command("env", epilog='Example: eval "$(topicwarden sandbox env)"; pulumi preview --stack dev')
def env(
    stack: Annotated[
        str | None, stack_option("For this stack; a stack on the sandbox also gets the sandbox's passphrase.")
    ] = None,
) -> None:
    """Print the environment variables that `pulumi` and `spark-submit` need in this project."""
    from topicwarden.cli import sandbox

    raise typer.Exit(sandbox.env(stack))
