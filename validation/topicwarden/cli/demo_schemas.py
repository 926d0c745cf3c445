"""The schemas of the demo: two versions are in use, and two pull requests change them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from topicwarden.kafka.connect.schema_registry import registry_of
from topicwarden.kafka.write.config_admin import has_records
from topicwarden.model.planned_change import Consequence, PlanReport, Severity
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.subject import DeclaredSubjects, RegisteredSchema, SubjectVersion
from topicwarden.policies.check_specs import CheckedStacks
from topicwarden.registry.client import RegistryClient
from topicwarden.registry.read import find_version
from topicwarden.sandbox.scenarios import schema_versions
from topicwarden.stacks.registry_settings import RegistrySettings

_STACK: Final = "dev"


def outcomes(plan: PlanReport, unreadable: PlanReport) -> Iterator[tuple[str, object, object]]:
    """Yield each comparison of the plans: what is refused."""
    both = ["incompatible", "break-readers"]
    yield "a schema that the registry refuses is refused, and by the records, too", both, _refused(_consequences(plan))
    yield (
        "a schema that cannot read retained records is refused",
        ["break-readers"],
        _refused(_consequences(unreadable)),
    )
    counts = [sum(each.records or 0 for each in found.partitions) for found in _consequences(unreadable)]
    yield "records that it cannot read", [schema_versions.OLD], counts


def _consequences(plan: PlanReport) -> list[Consequence]:
    return [each for subject in plan.registry.subjects for each in subject.consequences] if plan.registry else []


def _refused(consequences: Iterable[Consequence]) -> list[str]:
    return [each.kind for each in consequences if each.severity is Severity.REFUSED]


def register_first(project: Project, checked: CheckedStacks) -> SubjectVersion:
    """Register the first version of the schema of payments, as an earlier deploy did, and return it."""
    with RegistryClient(_registry(project)) as client:
        return schema_versions.register_first(client, _schema(checked))


def fill(project: Project, servers: Sequence[str], checked: CheckedStacks, first: SubjectVersion) -> None:
    """Write payments of both versions, unless there are some."""
    if has_records(servers, schema_versions.TOPIC):
        return
    with RegistryClient(_registry(project)) as client:
        declared = find_version(client, schema_versions.SUBJECT, _schema(checked))
    if declared is None:
        raise Refusal(f"the deploy did not register the schema of {schema_versions.SUBJECT}")
    schema_versions.fill(servers, first, declared)


def _registry(project: Project) -> RegistrySettings:
    registry = registry_of(project, _STACK)
    if registry is None:
        raise Refusal(f"stacks/Pulumi.{_STACK}.yaml has no topicwarden:schemaRegistry: run the demo in a clone")
    return registry


def _schema(checked: CheckedStacks) -> RegisteredSchema:
    return checked.subjects[_STACK].subjects[schema_versions.SUBJECT].schema


def with_required_field(checked: CheckedStacks) -> CheckedStacks:
    """Return the declarations as if a pull request had added a field without a default."""
    return _with_schema(checked, schema_versions.with_required_field)


def without_default(checked: CheckedStacks) -> CheckedStacks:
    """Return the declarations as if a pull request had removed a default."""
    return _with_schema(checked, schema_versions.without_default)


def _with_schema(checked: CheckedStacks, change: Callable[[RegisteredSchema], RegisteredSchema]) -> CheckedStacks:
    declared = checked.subjects[_STACK].subjects
    changed = replace(declared[schema_versions.SUBJECT], schema=change(_schema(checked)))
    return replace(checked, subjects={_STACK: DeclaredSubjects({**declared, schema_versions.SUBJECT: changed})})
