"""`topicwarden infer`: show the contract that the records of topics meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from topicwarden.audit.infer_topics import BrokenContract, TopicInference
from topicwarden.audit.inference.differences import ContractDifference
from topicwarden.audit.inference.inferred_contents import InferredContents
from topicwarden.cli.garbage_collection import without_garbage_collection
from topicwarden.cli.terminal import TERMINAL
from topicwarden.model.cluster_address import ClusterAddress
from topicwarden.model.message_text import counted
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.operations.infer import InferredTopic, InferReport, infer_cluster, infer_stack
from topicwarden.operations.operation_options import InferOptions
from topicwarden.report import terminal_output
from topicwarden.report.display import printable
from topicwarden.report.output_folder import require_writable, write_files
from topicwarden.specs.stacks.stack_selection import selected_stacks
from topicwarden.specs.write import ContentsComments, contents_lines, explicit_contents

_SCHEMAS: Final = "schemas"


def infer(
    stack: str | None,
    patterns: Sequence[str],
    options: InferOptions,
    out: Path | None,
    address: ClusterAddress | None = None,
) -> int:
    """Print the inferred contracts of the topics that match ``patterns``, and return the exit code.

    ``stack`` None is the only stack of the project. ``out`` is a folder for the contracts and their schemas.
    ``address`` has the cluster to read in place of that of a stack. Returns 1 if records break what is declared, or if
    a topic could not be read; else 0.
    """
    if out is not None:
        require_writable(out)
    with without_garbage_collection():
        report = _of_stack(stack, patterns, options) if address is None else _of_cluster(address, patterns, options)
    texts = ("".join(f"{line}\n" for line in _lines(each, saved=out is not None)) for each in report.topics)
    terminal_output.write_text("\n".join(texts))
    if out is not None:
        for path in write_files(out, _files(report)):
            terminal_output.note(str(path))
    return 0 if report.complete else 1


def _of_stack(stack: str | None, patterns: Sequence[str], options: InferOptions) -> InferReport:
    project = find_project()
    first, *others = selected_stacks(project, stack)
    if others:
        raise Refusal(f"topics may differ by stack: select one with --stack, one of {', '.join((first, *others))}")
    return infer_stack(project, first, patterns, options, listener=TERMINAL)


def _of_cluster(address: ClusterAddress, patterns: Sequence[str], options: InferOptions) -> InferReport:
    return infer_cluster(address, patterns, options, listener=TERMINAL)


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
            lines = [f"# {topic}: inferred from {read_from(each.inference)}", *contract_lines(topic, inferred)]
            files[f"{topic}.yaml"] = "".join(f"{line}\n" for line in lines)
            for part in inferred.all_schemas:
                files[f"{_SCHEMAS}/{_schema_file(topic, part)}"] = inferred.schema_text(part)
    return files
