"""Test the consequences of changes of subjects, on the cases in ``cases/subjects.yaml``.

A case has subjects by name: ``declared``, ``deployed`` and ``live``. A schema is a list of fields; those with a ``?``
have a default. ``live`` has the ``latest`` version, ``older`` ones and the ``level``. The case also has what the
registry says, and the ``expected`` changes and consequences, one per line, with reasons and remedies below.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from topicwarden.kafka.registry.same_schema import same
from topicwarden.kinds.subject.change import registry_change
from topicwarden.kinds.subject.evidence import RegistryVerdict, SubjectEvidence
from topicwarden.kinds.subject.predict import predict_subjects
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.planned_change import Consequence, RegistryPlan
from topicwarden.model.problem import Location
from topicwarden.model.subject import (
    DeclaredSubject,
    DeclaredSubjects,
    DeployedSubject,
    LiveRegistry,
    LiveSubject,
    RegisteredSchema,
    SchemaReference,
    SubjectUse,
    SubjectVersion,
)
from topicwarden.model.topic import Allowance, AllowedChange

TODAY = date(2026, 11, 24)
CASES: Mapping[str, Mapping[str, Any]] = yaml.load(
    (Path(__file__).parent / "cases" / "subjects.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader
)


@pytest.mark.parametrize("name", CASES)
def test_consequences_of_a_change_of_subjects(name: str) -> None:
    case = CASES[name]
    plan = judged(case)
    assert list(lines(plan)) == case["expected"].splitlines()
    if "unchanged" in case:
        assert plan.unchanged == case["unchanged"]


def lines(plan: RegistryPlan) -> Iterator[str]:
    for each in plan.consequences:
        yield from consequence_lines(each)
    for subject in plan.subjects:
        settings = (f"{each.name} {each.live or 'none'} → {each.declared or 'none'}" for each in subject.settings)
        needs = f" (needs {', '.join(subject.needs)})" if subject.needs else ""
        yield ": ".join([f"{subject.action.value} {subject.subject}", *filter(None, [", ".join(settings)])]) + needs
        for each in subject.consequences:
            yield from consequence_lines(each)


def consequence_lines(consequence: Consequence) -> Iterator[str]:
    location = f" ({consequence.location})" if consequence.location else ""
    yield f"{consequence.severity.value} {consequence.kind}: {consequence.message}{location}"
    yield from (f"  {reason}" for reason in consequence.because)
    if consequence.remedy:
        yield f"  > {consequence.remedy}"


def judged(case: Mapping[str, Any]) -> RegistryPlan:
    versions = {name: list(versions_of(each)) for name, each in case.get("live", {}).items()}
    registry = LiveRegistry(
        {}
        if "registry_error" in case
        else {
            name: LiveSubject(
                name,
                versions.get(name, [])[-1] if versions.get(name) else None,
                level_of(case.get("live", {}).get(name, {})),
                case.get("errors", {}).get(name),
            )
            for name in {*case.get("declared", {}), *case.get("deployed", {}), *versions}
        },
        Compatibility(case.get("default", "BACKWARD")),
        case.get("mode", "READWRITE"),
        case.get("registry_error"),
    )

    def lookup(schemas: Mapping[str, RegisteredSchema]) -> Mapping[str, SubjectVersion | None]:
        return {
            name: next((each for each in versions.get(name, ()) if same(each.schema, schema)), None)
            for name, schema in schemas.items()
        }

    change = registry_change(
        DeclaredSubjects({name: declared(name, each) for name, each in case.get("declared", {}).items()}),
        {name: deployed(name, each) for name, each in case.get("deployed", {}).items()},
        registry,
        today=TODAY,
        lookup=lookup,
    )
    replaced = {name: [each.name for each in change.replaces] for name, change in change.changes.items()}
    assert {name: names for name, names in replaced.items() if names} == case.get("replaces", {})
    verdicts = {
        name: RegistryVerdict(tuple(reasons), subject=next(iter(change.changes[name].replaces), None))
        for name, reasons in case.get("refusals", {}).items()
    }
    verdicts |= {name: RegistryVerdict(error=error) for name, error in case.get("unjudged", {}).items()}
    referrers = {name: tuple(names) for name, names in case.get("referrers", {}).items()}
    prediction = predict_subjects(change, SubjectEvidence(verdicts, referrers, modes=case.get("modes", {})), TODAY)
    assert prediction is not None
    assert list(prediction.undeployed) == case.get("undeployed", [])
    return prediction.plan


def declared(name: str, entry: Mapping[str, Any]) -> DeclaredSubject:
    return DeclaredSubject(
        name,
        schema(entry),
        f"subjects/{name}.avsc",
        Location("subjects/all.yaml", 3, 1),
        level_of(entry),
        tuple(SubjectUse(topic, "value") for topic in entry.get("uses", ())),
        allow=allowances(entry),
    )


def deployed(name: str, entry: Mapping[str, Any]) -> DeployedSubject:
    return DeployedSubject(name, schema(entry), level_of(entry), entry.get("version", 1), 7, allowances(entry))


def versions_of(entry: Mapping[str, Any]) -> Iterator[SubjectVersion]:
    latest = entry.get("latest")
    every: Sequence[Any] = [*entry.get("older", ()), *([] if latest is None else [latest])]
    for number, fields in enumerate(every, 1):
        references = entry.get("references", ()) if fields is latest else ()
        yield SubjectVersion(number, 100 + number, schema({"fields": fields, "references": references}))


def schema(entry: Mapping[str, Any]) -> RegisteredSchema:
    fields = [
        {"name": name.rstrip("?"), "type": "string"} | ({"default": ""} if name.endswith("?") else {})
        for name in entry.get("fields", ())
    ]
    references = tuple(
        SchemaReference(f"com.acme.{subject}", subject, version)
        for subject, version in (
            each if isinstance(each, list) else (each, None) for each in entry.get("references", ())
        )
    )
    text = json.dumps({"type": "record", "name": "R", "fields": fields})
    return RegisteredSchema(entry.get("format", "avro"), text, references)


def level_of(entry: Mapping[str, Any]) -> Compatibility | None:
    return Compatibility(entry["level"]) if "level" in entry else None


def allowances(entry: Mapping[str, Any]) -> frozenset[Allowance]:
    return frozenset(
        Allowance(AllowedChange(name), until)
        for name, until in (each if isinstance(each, list) else (each, None) for each in entry.get("allow", ()))
    )


def test_the_schema_of_a_subject_that_leaves_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def name_of_record(format_name: str, text: str) -> str:
        parsed.append(text)
        return text

    monkeypatch.setattr("topicwarden.kinds.subject.change.record_name", name_of_record)
    location = Location("topics/t.yaml")
    new = {
        name: DeclaredSubject(name, schema, "a.avsc", location, uses=(SubjectUse(name, "value"),))
        for name, schema in ((f"new{each}", RegisteredSchema("avro", f"R{each}")) for each in range(20))
    }
    old = {f"old{each}": DeployedSubject(f"old{each}", RegisteredSchema("avro", f"R{each}")) for each in range(20)}
    live = LiveRegistry({name: LiveSubject(name, SubjectVersion(1, 1, each.schema)) for name, each in old.items()})
    changes = registry_change(DeclaredSubjects(new), old, live, today=TODAY).changes
    replaced = {name: [each.name for each in changes[name].replaces] for name in new}
    assert replaced == {f"new{each}": [f"old{each}"] for each in range(20)}
    assert len(parsed) <= 5 * len(new)
