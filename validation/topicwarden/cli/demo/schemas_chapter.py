"""The schemas of `examples/payments`: two versions are in use, and two pull requests change them.

The example is a project of its own, because its Schema Registry needs a newer Java than everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from topicwarden.cli.demo.demo_run import STACK, DemoResult, DemoRun, shared_cache
from topicwarden.cli.sandbox import start_registry
from topicwarden.cli.terminal import TERMINAL, engine_output
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.pulumi_stacks import select_stack
from topicwarden.extensions.sandbox.scenarios import schema_versions
from topicwarden.kafka.connect.stack_connection import registry_of
from topicwarden.kafka.registry.client import RegistryClient
from topicwarden.kafka.registry.read import find_version
from topicwarden.kafka.write.config_admin import delete_topic, has_records
from topicwarden.model.planned_change import Consequence, PlanReport, Severity
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.subject import RegisteredSchema, SubjectVersion
from topicwarden.operations.declared_topics import checked_stack
from topicwarden.operations.deploy import deploy_topics
from topicwarden.operations.plan import planned
from topicwarden.policies.check_specs import CheckedStacks
from topicwarden.report import terminal
from topicwarden.report.document import Medium
from topicwarden.report.plan.document import document as plan_document
from topicwarden.specs.stacks.registry_settings import RegistrySettings
from topicwarden.toolchain import environment


def run(demo: DemoRun) -> Iterator[DemoResult]:
    project = example_of(demo.project)
    with shared_cache(demo.project):
        demo.heading("topicwarden up: examples/payments, whose schema a deploy registers")
        start_registry(project)
        select_stack(project, STACK)
        engine = PulumiEngine(project, STACK, environment(project, STACK))
        checked = checked_stack(project, STACK, "deployed")
        first = _register_first(project, checked)
        try:
            if not deploy_topics(engine, checked, engine_output(), refreshing=True, listener=TERMINAL):
                raise Refusal("examples/payments was not deployed")
            _fill(project, demo.servers, checked, first)
            yield from _plans(demo, engine, checked)
        finally:
            delete_topic(demo.servers, schema_versions.TOPIC)  # the next audit would report it


def example_of(project: Project) -> Project:
    example = Project(project.root / "examples" / "payments")
    if not example.topics.is_dir():
        raise Refusal(f"there is no example in {example.root}: run the demo in a clone of the topicwarden repository")
    return example


def _plans(demo: DemoRun, engine: PulumiEngine, checked: CheckedStacks) -> Iterator[DemoResult]:
    demo.heading("topicwarden plan: a pull request adds a field to payments without a default")
    plan = planned(engine, checked=_with_schema(checked, schema_versions.with_required_field), listener=TERMINAL)
    terminal.write(plan_document(plan, Medium.TERMINAL), demo.console)
    both = ["incompatible", "break-readers"]
    yield "a schema that the registry refuses is refused, and by the records, too", both, _refused(_consequences(plan))
    demo.heading("topicwarden plan: a schema that the registry accepts cannot read all records")
    unreadable = planned(engine, checked=_with_schema(checked, schema_versions.without_default), listener=TERMINAL)
    terminal.write(plan_document(unreadable, Medium.TERMINAL), demo.console)
    refused = _refused(_consequences(unreadable))
    yield "a schema that cannot read retained records is refused", ["break-readers"], refused
    counts = [sum(each.records or 0 for each in found.partitions) for found in _consequences(unreadable)]
    yield "records that it cannot read", [schema_versions.OLD], counts


def _consequences(plan: PlanReport) -> list[Consequence]:
    return [each for subject in plan.registry.subjects for each in subject.consequences] if plan.registry else []


def _refused(consequences: Iterable[Consequence]) -> list[str]:
    return [each.kind for each in consequences if each.severity is Severity.REFUSED]


def _register_first(project: Project, checked: CheckedStacks) -> SubjectVersion:
    """Register the first version of the schema of payments, as an earlier deploy did, and return it."""
    with RegistryClient(_registry(project)) as client:
        return schema_versions.register_first(client, _schema(checked))


def _fill(project: Project, servers: Sequence[str], checked: CheckedStacks, first: SubjectVersion) -> None:
    """Write payments of both versions, unless there are some."""
    if has_records(servers, schema_versions.TOPIC):
        return
    with RegistryClient(_registry(project)) as client:
        declared = find_version(client, schema_versions.SUBJECT, _schema(checked))
    if declared is None:
        raise Refusal(f"the deploy did not register the schema of {schema_versions.SUBJECT}")
    schema_versions.fill(servers, first, declared)


def _registry(project: Project) -> RegistrySettings:
    registry = registry_of(project, STACK)
    if registry is None:
        raise Refusal(f"stacks/Pulumi.{STACK}.yaml has no topicwarden:schemaRegistry: run the demo in a clone")
    return registry


def _schema(checked: CheckedStacks) -> RegisteredSchema:
    return checked.subjects[STACK].subjects[schema_versions.SUBJECT].schema


def _with_schema(checked: CheckedStacks, change: Callable[[RegisteredSchema], RegisteredSchema]) -> CheckedStacks:
    declared = checked.subjects[STACK]
    changed = replace(declared.subjects[schema_versions.SUBJECT], schema=change(_schema(checked)))
    subjects = {**declared.subjects, schema_versions.SUBJECT: changed}
    return replace(checked, subjects={STACK: replace(declared, subjects=subjects)})
