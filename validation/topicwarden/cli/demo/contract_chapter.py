"""The contract of the flights, inferred from the flights, finds the fault of a new producer.

The new producer writes to a topic of its own, which the chapter deletes at the end. So the flights stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from topicwarden.audit.inference.inferred_contents import InferredContents
from topicwarden.cli.demo.demo_run import (
    STACK,
    DemoResult,
    DemoRun,
    copy_of,
    finding_lines,
    findings,
    print_lines,
    shared_cache,
)
from topicwarden.cli.infer import contract_lines
from topicwarden.cli.terminal import TERMINAL
from topicwarden.extensions.sandbox.scenarios import flights, new_producer
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import auditing
from topicwarden.operations.infer import infer_stack
from topicwarden.operations.operation_options import AuditOptions
from topicwarden.scratch_folder import scratch_folder

_TOPIC = new_producer.TOPIC


def run(demo: DemoRun) -> Iterator[DemoResult]:
    _ = demo.audit  # starts the Spark session of the whole demo
    yield from infer_and_audit(demo.project, demo.servers, demo.heading)


def infer_and_audit(project: Project, servers: Sequence[str], heading: Callable[[str], object]) -> Iterator[DemoResult]:
    """Infer the contract of the flights, declare it for the topic of the new producer, and audit that topic.

    ``project`` stays as it is: the topic is declared in a copy.
    """
    heading(f"topicwarden infer: the contract of the flights, from {flights.RECORDS:,} records")
    inferred = _inferred(project)
    contract = list(contract_lines(_TOPIC, inferred))
    print(*contract, sep="\n", flush=True)
    heading(f"topicwarden audit: {_TOPIC}, of a new producer, by this contract")
    with scratch_folder() as folder, shared_cache(project), new_producer.producing(servers):
        copied = copy_of(project, folder / "project")
        _declare(copied, contract, inferred.schema_text("value"))
        options = AuditOptions(history=str(folder / "history"))
        with auditing(copied, STACK, options=options, listener=TERMINAL) as audit:
            report = audit((_TOPIC,))
    for finding in report.findings:
        if finding.verdict is Verdict.FAIL:
            print_lines(*finding_lines(finding), indent=2)
    yield "records that the contract rests on", flights.RECORDS, inferred.records
    yield "the fault of the new producer", [(_TOPIC, "value-schema")], findings(report, Verdict.FAIL)


def _inferred(project: Project) -> InferredContents:
    (topic,) = infer_stack(project, STACK, [flights.EVENTS], listener=TERMINAL).topics
    assert topic.inference.inferred is not None, topic.inference.unread
    return topic.inference.inferred


def _declare(project: Project, contract: list[str], schema: str) -> None:
    """Declare the topic of the new producer in the folder of the flights, with the settings that it has."""
    settings = [f"  {name}: {value}" for name, value in new_producer.SETTINGS.items()]
    lines = ["description: The flights of a new producer.", "config:", *settings, *contract]
    folder = project.topics / "flights"
    (folder / "schemas").mkdir(exist_ok=True)
    (folder / "schemas" / f"{_TOPIC}-value.json").write_text(schema, encoding="utf-8")
    (folder / f"{_TOPIC}.yaml").write_text("\n".join([*lines, ""]), encoding="utf-8")
