"""Predicts the consequences of all changes of subjects, from what the Schema Registry and the topics show."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from difflib import unified_diff
from typing import Final

from topicwarden.kinds.subject.change import RegistryChange, SubjectChange
from topicwarden.kinds.subject.consequences import CONSEQUENCES
from topicwarden.kinds.subject.evidence import SubjectContext, SubjectEvidence
from topicwarden.model.message_text import counted, first_lines, first_of
from topicwarden.model.planned_change import (
    Action,
    Consequence,
    RegistryPlan,
    Setting,
    Severity,
    SubjectPlan,
    most_severe_first,
)
from topicwarden.model.problem import Location
from topicwarden.model.subject import RegisteredSchema, SchemaReference
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.change_guard import needed_allowances
from topicwarden.plan.consequence_text import unjudged

UNSEEN: Final = "registry-unseen"
READ_ONLY: Final = "read-only-registry"
OF_REGISTRY: Final = (UNSEEN, READ_ONLY)
"""Kinds of refusals that concern the state of the registry: topics and access are deployed nevertheless."""
_WRITABLE: Final = "READWRITE"
_READ_ONLY_MODES: Final = ("READONLY", "READONLY_OVERRIDE")
"""Modes in which a registry refuses every change. Only in ``READWRITE`` does it give a new schema an id."""
_NEW: Final = "new"
_MOST: Final = 5
_CONTEXT_LINES: Final = 2
_LONGEST_SCHEMA: Final = 500_000
"""Characters of a schema that is still compared line by line."""
_MOST_LINES: Final = 400


@dataclass(frozen=True)
class SubjectPrediction:
    """The plan of the subjects, the allowances that it needs, what was not judged, and why subjects are not deployed.

    ``needed`` has the topic, or the file below ``subjects/``, that has an allowance. ``undeployed`` are
    the subjects that change and that no deploy can write now, with the reason.
    """

    plan: RegistryPlan
    needed: frozenset[tuple[str, AllowedChange]] = frozenset()
    unseen: tuple[str, ...] = ()
    undeployed: Mapping[str, str] = field(default_factory=dict)


def predict_subjects(change: RegistryChange, evidence: SubjectEvidence, today: date) -> SubjectPrediction | None:
    """Return the changes of subjects and their consequences; None if the stack has and declares no subjects."""
    if not change.declared and not change.deployed:
        return None
    refused = _refused_by_mode(change, evidence)
    plans, needed = [], set[tuple[str, AllowedChange]]()
    for each in change.changes.values():
        context = SubjectContext(each, change, evidence, today)
        consequences = _consequences(context)
        needs = _needed(context, consequences)
        needed |= {(home, word) for word in needs for home in (each.declared.homes if each.declared else ())}
        plans.append(_plan(change, each, consequences, sorted(needs)))
    unseen = _unseen(change)
    plan = RegistryPlan(
        subjects=plans,
        consequences=list(_of_registry(change, refused)),
        unchanged=len(change.declared.subjects.keys() - change.changes.keys()),
        judged=change.registry.error is None,
    )
    undeployed = {name: f"the registry refuses the change in mode {mode}" for name, mode in refused.items()} | {
        **change.unjudged
    }
    return SubjectPrediction(plan, frozenset(needed), tuple(unseen), undeployed)


def _plan(
    registry: RegistryChange,
    change: SubjectChange,
    consequences: Sequence[Consequence],
    needs: Sequence[AllowedChange],
) -> SubjectPlan:
    schema = change.schema or (change.latest.schema if change.latest else None)
    schema = schema or (change.deployed.schema if change.deployed else None)
    compared = change.latest is not None and change.schema is not None and change.existing is not change.latest
    return SubjectPlan(
        subject=change.name,
        action=change.action or Action.UPDATE,
        format=schema.format if schema else "",
        settings=list(_settings(registry, change)),
        difference=schema_difference(change.latest.schema, change.schema)
        if compared and change.latest and change.schema
        else [],
        consequences=most_severe_first(consequences),
        needs=list(needs),
        location=change.declared.location if change.declared else None,
    )


def _settings(registry: RegistryChange, change: SubjectChange) -> Iterable[Setting]:
    if change.action is Action.RELEASE:
        return
    deployed, declared = change.deployed, change.declared
    live_version = None if change.latest is None else str(change.latest.version)
    deployed_version = None if deployed is None or deployed.version is None else str(deployed.version)
    if change.registers:
        version: str | None = _NEW
    else:
        version = str(change.existing.version) if change.existing else None
    if {version, live_version} != {None} and (version != live_version or change.action is Action.ADOPT):
        yield Setting(name="version", declared=version, deployed=deployed_version, live=live_version)
    if declared is not None and (change.written is not None or change.action in (Action.CREATE, Action.ADOPT)):
        level = registry.level(change)
        own = change.live is not None and change.live.compatibility is not None
        if declared.compatibility is not None:
            yield Setting(
                name="compatibility",
                declared=declared.compatibility.value,
                deployed=deployed.compatibility.value if deployed and deployed.compatibility else None,
                live=level.value if level and change.latest else None,
                source=None if own or not change.latest else "the registry's default",
                location=declared.location_of("compatibility"),
            )
    before = _references(change.latest.schema) if change.latest else None
    after = _references(change.schema)
    if declared is not None and change.registers and (before or after) and before != after:
        yield Setting(
            name="references",
            declared=after,
            deployed=_references(deployed.schema) if deployed else None,
            live=before,
            location=declared.location_of("references"),
        )


def _references(schema: RegisteredSchema | None) -> str | None:
    return ", ".join(map(reference_text, schema.references)) or None if schema else None


def reference_text(reference: SchemaReference) -> str:
    """Return ``com.acme.Money version 3``; a version that the deploy registers is ``new``."""
    return f"{reference.subject} version {reference.version or _NEW}"


def _consequences(context: SubjectContext) -> list[Consequence]:
    if not context.judged:
        return []
    return [consequence for rule in CONSEQUENCES for consequence in rule.evaluate(context)]


def _needed(context: SubjectContext, consequences: Sequence[Consequence]) -> frozenset[AllowedChange]:
    change = context.change
    if change.action is Action.DELETE:  # without the allowance, the subject would stay
        return frozenset({AllowedChange.DELETE_SUBJECT})
    needed = needed_allowances(
        {change.name: change.allowed},
        consequences,
        lambda _, words: _consequences(replace(context, change=replace(change, allowed=words))),
    )
    return frozenset(word for _, word in needed)


def _refused_by_mode(change: RegistryChange, evidence: SubjectEvidence) -> dict[str, str]:
    """Return the subjects whose change the registry refuses in the mode that applies to them, with that mode.

    The modes ``IMPORT`` and ``FORWARD`` refuse new schemas only (Confluent's ``checkRegisterMode``).
    """
    found: dict[str, str] = {}
    for name, each in change.changes.items():
        mode = evidence.modes.get(name, change.registry.mode)
        if mode is not None and each.writes and (mode in _READ_ONLY_MODES or (each.registers and mode != _WRITABLE)):
            found[name] = mode
    return found


def _of_registry(change: RegistryChange, refused: Mapping[str, str]) -> Iterable[Consequence]:
    """Yield the refusals that concern the whole registry, each with the first subjects."""
    for mode, names in _by_reason(refused):
        extent = "" if mode == change.registry.mode else " for these subjects"
        yield Consequence(
            kind=READ_ONLY,
            severity=Severity.REFUSED,
            message=f"the registry is in mode {mode}{extent}: it refuses {counted(len(names), 'change')} of subjects",
            because=first_lines(names, _MOST),
            measured="the mode of the registry",
            remedy="deploy again when the registry is in mode READWRITE; topics and access are deployed without it",
            location=next((location for _, location in _located(change, names) if location), None),
        )
    for reason, names in _by_reason(change.unjudged):
        remedy = "deploy again when the registry answers; topics and access are deployed without it"
        yield unjudged(UNSEEN, "subjects", _located(change, names), reason, remedy)


def _unseen(change: RegistryChange) -> Iterable[str]:
    """Yield the part of the registry that could not be read, with the reason."""
    if change.registry.error is not None:
        yield f"the subjects of the Schema Registry are not judged: {change.registry.error}"
        return
    errors = {name: live.error for name, live in sorted(change.registry.subjects.items()) if live.error is not None}
    for reason, names in _by_reason(errors):
        yield f"{counted(len(names), 'subject')} ({first_of(names, _MOST)}): not judged: {reason}"


def _by_reason(reasons: Mapping[str, str]) -> Iterable[tuple[str, list[str]]]:
    names: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        names.setdefault(reason, []).append(name)
    return names.items()


def _located(change: RegistryChange, names: Iterable[str]) -> list[tuple[str, Location | None]]:
    declared = {name: change.changes[name].declared for name in names}
    return [(name, each.location if each else None) for name, each in declared.items()]


def schema_difference(before: RegisteredSchema, after: RegisteredSchema) -> list[str]:
    """Return a unified diff of the two schemas without its header; JSON has one line for each short value."""
    if max(len(before.text), len(after.text)) > _LONGEST_SCHEMA:
        return [f"(schemas of {len(before.text):,} and {len(after.text):,} characters are not compared line by line)"]
    lines = list(unified_diff(_lines(before), _lines(after), n=_CONTEXT_LINES, lineterm=""))[2:]
    return first_lines(lines, _MOST_LINES, "line")


def _lines(schema: RegisteredSchema) -> list[str]:
    if schema.format == "protobuf":
        return [line.rstrip() for line in schema.text.strip().splitlines()]
    try:
        return list(_json_lines(json.loads(schema.text), 100))
    except (ValueError, RecursionError):
        return schema.text.strip().splitlines()


def _json_lines(value: object, width: int, indent: str = "", prefix: str = "", suffix: str = "") -> list[str]:
    """Return ``value`` as JSON: on one line if it fits, else one line for each member, in their order."""
    short = json.dumps(value, ensure_ascii=False)
    line = f"{indent}{prefix}{short}{suffix}"
    if len(line) <= width or not isinstance(value, (dict, list)) or not value:
        return [line]
    entries = (
        [(f"{json.dumps(key, ensure_ascii=False)}: ", each) for key, each in value.items()]
        if isinstance(value, dict)
        else [("", each) for each in value]
    )
    first, last = "{}" if isinstance(value, dict) else "[]"
    lines = [f"{indent}{prefix}{first}"]
    for number, (key, each) in enumerate(entries, 1):
        lines += _json_lines(each, width, f"{indent}  ", key, "," if number < len(entries) else "")
    return [*lines, f"{indent}{last}{suffix}"]
