"""Write the report of `topicwarden doctor` for a terminal: what needs attention comes first."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from topicwarden.model.diagnosis import Ability, Diagnosis, PermissionState, Possession
from topicwarden.model.message_text import counted
from topicwarden.report.display import one_line

_MOST_NAMES: Final = 5
_LABEL: Final = 14
_MARKS: Final = {Ability.READY: "ok", Ability.LIMITED: "!", Ability.UNABLE: "x"}
_WRITABLE: Final = ("READWRITE", "READONLY_OVERRIDE")
_SHOWN_PERMISSIONS: Final = (Possession.GRANTED, Possession.UNNEEDED, Possession.UNTESTED)


def render(diagnosis: Diagnosis, width: int) -> str:
    """Return the report with lines of at most ``width`` columns, unless a single word is longer."""
    sections = [
        [
            *_missing_parts(diagnosis),
            *_missing_permissions(diagnosis),
            *_missing_apis(diagnosis),
            *_registry_problem(diagnosis),
        ],
        [*_commands(diagnosis), *_checks(diagnosis)],
        [*_cluster(diagnosis), *_registry(diagnosis)],
        [_row(part.name, part.version or "missing") for part in diagnosis.parts],
        [(_summary(diagnosis), 0)],
    ]
    return "\n\n".join("\n".join(_wrapped(line, width) for line in lines) for lines in sections if lines) + "\n"


Line = tuple[str, int]
"""A line, and the indentation of its continuation lines."""


def _row(label: str, text: str) -> Line:
    return f"  {label.ljust(_LABEL)} {text}", _LABEL + 3


def _wrapped(line: Line, width: int) -> str:
    text, indent = line
    return textwrap.fill(text, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def _missing_parts(diagnosis: Diagnosis) -> Iterator[Line]:
    commands = {command.command for command in diagnosis.commands}
    for part in diagnosis.parts:
        if part.version is None and not commands.isdisjoint(part.commands):
            yield f"missing: {part.name}", 4
            yield _row("needed by", ", ".join(each for each in part.commands if each in commands))
            yield _row("remedy", part.remedy)


def _missing_permissions(diagnosis: Diagnosis) -> Iterator[Line]:
    for permission in diagnosis.permissions:
        if permission.state is Possession.MISSING:
            yield f"missing: {permission.permission}{permission.extent}{_names(permission)}", 4
            for command, lost in permission.lost.items():
                yield _row(command, lost)
    if any(permission.state is Possession.MISSING for permission in diagnosis.permissions):
        yield _row(
            "remedy",
            "grant them to the user of the stack's kafka: settings; `topicwarden rules permissions` explains them",
        )


def _names(permission: PermissionState) -> str:
    shown = ", ".join(map(one_line, permission.topics[:_MOST_NAMES]))
    more = len(permission.topics) - _MOST_NAMES
    return f": {shown}" + (f" and {more:,} more" if more > 0 else "") if shown else ""


def _missing_apis(diagnosis: Diagnosis) -> Iterator[Line]:
    for api in diagnosis.missing_apis:
        yield f"not offered by all brokers: {api.name}, version {api.version}", 4
        yield _row(", ".join(api.commands), api.lost)


def _registry_problem(diagnosis: Diagnosis) -> Iterator[Line]:
    if diagnosis.registry and diagnosis.registry.problem:
        yield one_line(diagnosis.registry.problem), 4


def _registry(diagnosis: Diagnosis) -> Iterator[Line]:
    state = diagnosis.registry
    if state is None or state.problem:
        return
    parts = [one_line(state.url or ""), counted(state.subjects or 0, "subject")]
    if state.mode:
        effect = "" if state.mode in _WRITABLE else ", in which no schema can be registered"
        parts.append(f"mode {one_line(state.mode)}{effect}")
    if state.compatibility:
        parts.append(f"compatibility {state.compatibility}")
    yield _row("registry", ", ".join(parts))


def _commands(diagnosis: Diagnosis) -> Iterator[Line]:
    for command in diagnosis.commands:
        mark = f"{_MARKS[command.ability]:<2} {command.command}"
        reasons = "" if command.ability is Ability.READY else f": {_short(command.reasons)}"
        yield _row(mark, f"{command.ability}{reasons}")


def _short(reasons: Sequence[str]) -> str:
    return "; ".join(reason.partition("; ")[0].partition(": ")[0] for reason in reasons)


def _checks(diagnosis: Diagnosis) -> Iterator[Line]:
    if not diagnosis.checks:
        return
    if not diagnosis.undecidable:
        yield _row("   checks", f"all {diagnosis.checks} checks of the audit can judge every topic that this user sees")
        return
    by_reasons: dict[tuple[str, ...], list[str]] = {}
    for check in diagnosis.undecidable:
        by_reasons.setdefault(tuple(check.reasons), []).append(check.check)
    for reasons, checks in by_reasons.items():
        yield _row("   checks", f"undecidable without {' and '.join(reasons)}: {', '.join(checks)}")
    others = diagnosis.checks - len(diagnosis.undecidable)
    yield _row("   checks", f"the other {others} can judge every topic that this user sees")


def _cluster(diagnosis: Diagnosis) -> Iterator[Line]:
    facts = diagnosis.cluster
    if facts is None:
        return
    line = f"Kafka {facts.kafka}" if facts.kafka else "a Kafka version that the brokers do not report"
    level = facts.features.get("metadata.version")
    shown = f"{line} (metadata.version {level})" if level is not None else line
    mode = facts.mode or "neither KRaft nor ZooKeeper"
    brokers = counted(facts.brokers, "broker")
    yield _row("cluster", f"{shown}, {mode}, {brokers}, cluster id {one_line(facts.cluster_id or 'unknown')}")
    yield _row("visible", f"{counted(facts.topics, 'topic')}, {counted(facts.groups, 'consumer group')}")
    for state in _SHOWN_PERMISSIONS:
        for reason in dict.fromkeys(
            permission.reason for permission in diagnosis.permissions if permission.state is state
        ):
            permissions = [
                permission
                for permission in diagnosis.permissions
                if permission.state is state and permission.reason == reason
            ]
            names = ", ".join(f"{permission.permission}{permission.extent}" for permission in permissions)
            yield _row("permissions", f"{state}: {names}" + (f" ({reason})" if reason else ""))


def _summary(diagnosis: Diagnosis) -> str:
    ready = sum(command.ability is Ability.READY for command in diagnosis.commands)
    total = len(diagnosis.commands)
    stack = f"stack {one_line(diagnosis.stack)}: " if diagnosis.stack else ""
    lead = f"topicwarden {diagnosis.topicwarden}, {stack}"
    if ready == total:
        return f"{lead}every command can run" if total > 1 else f"{lead}{diagnosis.commands[0].command} can run"
    return f"{lead}{total - ready} of {total} commands {'is' if total - ready == 1 else 'are'} limited or cannot run"
