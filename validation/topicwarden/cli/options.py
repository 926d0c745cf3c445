"""Options of several commands, and what they select: a stack or several, a cluster, limits of a read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from topicwarden.audit.scan.read_limits import ReadLimits
from topicwarden.cli import completion
from topicwarden.model.message_text import did_you_mean
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.model.units import SIZE
from topicwarden.operations.operation_options import ClusterAddress
from topicwarden.report.terminal_output import keep_notes_out_of_output
from topicwarden.specs.stacks.stack_selection import selected_stacks


def stack_option(help_text: str) -> Any:
    """Return the option ``--stack``, which shells complete. A stack that does not exist is refused."""
    return typer.Option(
        "--stack", "-s", metavar="STACK", help=help_text, autocompletion=completion.stacks, callback=_require_stacks
    )


def project_option(help_text: str) -> Any:
    """Return the option ``--project``. It is read before ``--stack``, which names a stack of this project."""
    return typer.Option("--project", metavar="DIR", help=help_text, show_default=False, is_eager=True)


def _require_stacks(context: typer.Context, value: Any) -> Any:
    """Return the value of ``--stack``, one name or several. Raises Refusal for one that is no stack of the project."""
    names = [value] if isinstance(value, str) else value or ()
    if names and not context.resilient_parsing:
        folder: Path | None = context.params.get("project")
        try:
            project = find_project(folder)
        except Refusal:  # the command says so, unless it needs no project
            return value
        for name in names:
            selected_stacks(project, name)
    return value


Stack = Annotated[str, stack_option("stacks/Pulumi.STACK.yaml")]
Stacks = Annotated[
    list[str] | None,
    stack_option("The stack; optional if the project has only one. Can be repeated, for one report on several stacks."),
]
AllStacks = Annotated[
    bool, typer.Option("--all-stacks", help="All stacks of the project, one after another, in one report.")
]
OnlyStack = Annotated[str | None, stack_option("The stack; optional if the project has only one.")]
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
MaxRecords = Annotated[
    int | None,
    typer.Option(
        "--max-records",
        metavar="N",
        help="Read at most this number of records, the newest of each partition. Rules are then only suggested.",
    ),
]
Rate = Annotated[
    str | None,
    typer.Option(
        "--rate", metavar="BYTES", help="Read at most this many bytes per second, in all tasks together: 50MiB."
    ),
]
LogTimeZone = Annotated[
    str,
    typer.Option(
        "--log-time-zone",
        metavar="ZONE",
        help="The time zone of the brokers, for lines of authorizer logs that name none: Europe/Berlin, +02:00.",
    ),
]
MinRecords = Annotated[
    int, typer.Option("--min-records", metavar="N", help="A rule rests on at least this number of records.")
]
ShowValues = Annotated[
    bool,
    typer.Option(
        "--show-values", help="Write values of records into contracts: enumerations and bounds, but no personal data."
    ),
]
BootstrapServer = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-server",
        metavar="HOST:PORT",
        help="Read this cluster, in place of that of a stack: no project, no YAML. Several brokers: a:9092,b:9092.",
        show_default=False,
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option(
        "--command-config",
        metavar="FILE",
        help="With --bootstrap-server: the client.properties that Kafka's own tools take, for TLS and SASL.",
        show_default=False,
    ),
]


def cluster_address(server: str | None, config: Path | None, *, stack: bool) -> ClusterAddress | None:
    """Return the cluster that the two options select; None without ``--bootstrap-server``.

    Raises Refusal for ``--command-config`` alone, and if ``stack``, a stack was selected, too.
    """
    if server is None:
        if config is not None:
            raise Refusal(
                "--command-config has the settings of a cluster that no stack declares: add --bootstrap-server"
            )
        return None
    if stack:
        raise Refusal("--bootstrap-server is for a cluster that no stack declares: remove it, or remove --stack")
    return ClusterAddress(server, config)


def several_stacks(stacks: Sequence[str] | None, all_stacks: bool) -> tuple[str, ...] | None:
    """Return the names for a report on several stacks, each once; empty for all. None for a single stack.

    Raises Refusal for both options together.
    """
    if all_stacks and stacks:
        raise Refusal("--all-stacks has every stack: remove --stack, or remove --all-stacks")
    names = tuple(dict.fromkeys(stacks or ()))
    return names if all_stacks or len(names) > 1 else None


def require_format(form: str, formats: Collection[str]) -> None:
    """Raise Refusal if ``form`` is not one of ``formats``."""
    if form not in formats:
        expected = f"expected one of {', '.join(formats)}{did_you_mean(form, formats)}"
        raise Refusal(f"there is no format {form!r}: {expected}")


def require_report_format(form: str, formats: Collection[str]) -> None:
    """Raise Refusal if ``form`` is neither text nor one of ``formats``, which have standard output for themselves."""
    require_format(form, ("text", *formats))
    if form != "text":
        keep_notes_out_of_output()


class MissingStack(typer.BadParameter):
    """The error of a command without ``--stack`` and ``--all-stacks``, in a project with several stacks or none."""

    def format_message(self) -> str:
        """Return the message of an option that is missing, without ``Invalid value``."""
        return self.message


def single_stack(stacks: Sequence[str] | None, context: typer.Context) -> str:
    """Return the only name; without one, the only stack of the project. Else raise the error of a missing option."""
    if stacks:
        return stacks[0]
    folder: Path | None = context.params.get("project")
    known = find_project(folder).stack_names()
    if len(known) != 1:
        several = f"; stacks: {', '.join(known)}" if known else ""
        raise MissingStack(f"Missing option '--stack' / '-s', or '--all-stacks'{several}.", ctx=context)
    return known[0]


def read_limits(max_records: int | None, sample: float | None, rate: str | None) -> ReadLimits:
    """Return the read limits for the options ``--max-records``, ``--sample`` and ``--rate``.

    Raises Refusal if an option has an invalid value.
    """
    if sample is not None and not 0 < sample <= 1:
        raise Refusal(f"--sample {sample:g}: expected a fraction above 0 and up to 1, such as 0.1")
    if max_records is not None and max_records < 1:
        raise Refusal(f"--max-records {max_records}: expected 1 or more")
    try:
        bytes_per_second = None if rate is None else SIZE.parse(rate.removesuffix("/s"))
    except ValueError as error:
        raise Refusal(f"--rate: {error}, in bytes per second") from error
    if bytes_per_second is not None and bytes_per_second <= 0:
        raise Refusal(f"--rate {rate}: expected more than 0 bytes per second, such as 50MiB")
    return ReadLimits(sample, max_records, bytes_per_second)
