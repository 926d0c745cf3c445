"""`topicwarden infer`: show the contract that the records of topics meet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from topicwarden.audit.inference.inferred_rule import LEAST_RECORDS
from topicwarden.cli.garbage_collection import without_garbage_collection
from topicwarden.cli.options import (
    BootstrapServer,
    CommandConfig,
    MaxRecords,
    MinRecords,
    OnlyStack,
    ShowValues,
    cluster_address,
)
from topicwarden.cli.terminal import TERMINAL
from topicwarden.model.message_text import counted
from topicwarden.model.project import find_project
from topicwarden.report import terminal_output
from topicwarden.report.display import printable
from topicwarden.report.output_folder import require_writable, write_files
from topicwarden.specs.stacks.stack_selection import only_stack

if TYPE_CHECKING:
    from topicwarden.audit.infer_topics import BrokenContract, TopicInference
    from topicwarden.audit.inference.inferred_contents import ContractDifference, InferredContents
    from topicwarden.operations.infer import InferredTopic, InferReport

app = typer.Typer()

_SCHEMAS: Final = "schemas"


@app.command(
    epilog="Example: topicwarden infer --stack dev 'orders.*' --out contracts/\n\n"
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
) -> int:
    """Show the contract that the records of topics meet, with the evidence for each rule. Only reads.

    Of an undeclared topic, the contract is printed as YAML. Of a declared one, only the differences: `-` is what the
    records break, with exit code 1, and `+` what they allow to add. Without --show-values, no value of a record is
    shown.
    """
    address = cluster_address(bootstrap_server, command_config, stack=bool(stack))
    from topicwarden.audit.scan.spark_platform import refuse_unsupported

    refuse_unsupported(master)
    from topicwarden.operations.operation_options import InferOptions

    options = InferOptions(max_records, min_records, show_values, master)
    if out is not None:
        require_writable(out)
    with without_garbage_collection():
        from topicwarden.operations.infer import infer_cluster, infer_stack

        if address is None:
            project = find_project()
            report = infer_stack(project, only_stack(project, stack), patterns, options, listener=TERMINAL)
        else:
            report = infer_cluster(address, patterns, options, listener=TERMINAL)
    texts = ("".join(f"{line}\n" for line in _lines(each, saved=out is not None)) for each in report.topics)
    terminal_output.write_text("\n".join(texts))
    if out is not None:
        for path in write_files(out, _files(report)):
            terminal_output.note(str(path))
    return 0 if report.complete else 1


def read_from(inference: TopicInference) -> str:
    """Return how many records an inference rests on."""
    records = counted(inference.inferred.records if inference.inferred else 0, "record")
    if inference.read < inference.retained:
        return f"{records}, the newest {inference.read:,} of {inference.retained:,} offsets"
    return f"all {records}" if inference.retained else records


def _lines(topic: InferredTopic, *, saved: bool) -> Iterator[str]:
    """Yield the contract of a topic, or what it adds to the declared one. ``saved``: its schemas are written, too."""
    inference = topic.inference
    if inference.inferred is None:
        yield f"# {inference.topic}: nothing is inferred: {inference.unread}"
        return
    yield f"# {inference.topic}: inferred from {read_from(inference)}"
    if topic.differences is None:
        if inference.inferred.schemas and not saved:
            yield f"# --out FOLDER writes the schemas that it names to FOLDER/{_SCHEMAS}"
        yield from contract_lines(inference.topic, inference.inferred)
        return
    for each in inference.broken:
        yield f"- {_broken(each, inference.inferred.records)}"
    for difference in topic.differences:
        yield f"{'#' if difference.doubt else '+'} {_added(difference)}"
    if not topic.differences and not inference.broken:
        yield "# the records allow nothing to add to what is declared, and break nothing"


def contract_lines(topic: str, inferred: InferredContents) -> Iterator[str]:
    """Yield the YAML of an inferred contract, with its evidence as comments."""
    from topicwarden.specs.write import ContentsComments, contents_lines, explicit_contents

    contents = explicit_contents(inferred.contents)
    for part in inferred.schemas:
        contents[part]["schema"] = f"{_SCHEMAS}/{_schema_file(topic, part)}"
    yield from contents_lines(contents, ContentsComments(inferred.comments, inferred.suggestions))


def _schema_file(topic: str, part: str) -> str:
    return f"{topic}-{part}.json"


def _broken(broken: BrokenContract, records: int) -> str:
    return f"{broken.rule}: {broken.reason} in {broken.records.among(records)}  # the records break what is declared"


def _added(difference: ContractDifference) -> str:
    evidence = "; ".join(filter(None, (difference.doubt, difference.evidence)))
    return printable(f"{difference.path}: {difference.rule}" + (f"  # {evidence}" if evidence else ""))


def _files(report: InferReport) -> dict[str, str]:
    files: dict[str, str] = {}
    for each in report.topics:
        topic, inferred = each.inference.topic, each.inference.inferred
        if inferred is not None:
            broken = (f"# - {_broken(rule, inferred.records)}" for rule in each.inference.broken)
            head = f"# {topic}: inferred from {read_from(each.inference)}"
            lines = [head, *broken, *contract_lines(topic, inferred)]
            files[f"{topic}.yaml"] = "".join(f"{line}\n" for line in lines)
            for part in inferred.all_schemas:
                files[f"{_SCHEMAS}/{_schema_file(topic, part)}"] = inferred.schema_text(part)
    return files
