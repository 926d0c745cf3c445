"""Make the document of `topicwarden doctor`: what needs attention comes first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from topicwarden.model.diagnosis import Ability, Diagnosis, Possession
from topicwarden.model.message_text import counted, first_of
from topicwarden.report.document import Block, Document, DocumentSection, FactList, Paragraph, facts, line, prose

_MOST_NAMES: Final = 5
_MARKS: Final = {Ability.READY: "ok", Ability.LIMITED: "!", Ability.UNABLE: "x"}
_WRITABLE: Final = "READWRITE"
_SHOWN_PERMISSIONS: Final = (Possession.GRANTED, Possession.UNNEEDED, Possession.UNTESTED)


def document(diagnosis: Diagnosis) -> Document:
    """Return the document of ``diagnosis``: what is missing, the commands, the cluster, and the installed parts."""
    parts = (_row(part.name, part.version or "missing") for part in diagnosis.parts)
    sections = (
        (
            *_missing_parts(diagnosis),
            *_missing_permissions(diagnosis),
            *_missing_apis(diagnosis),
            *_registry_problem(diagnosis),
        ),
        (*_commands(diagnosis), *_checks(diagnosis)),
        (*_cluster(diagnosis), *_registry(diagnosis)),
        tuple(parts),
    )
    blocks = tuple(DocumentSection("", blocks, compact=True) for blocks in sections if blocks)
    return Document("topicwarden doctor", diagnosis.stack or "", "", _summary(diagnosis), blocks, "")


def _row(label: str, text: str) -> FactList:
    return FactList(facts({label: [text]}))


def _missing_parts(diagnosis: Diagnosis) -> Iterator[Block]:
    commands = {command.command for command in diagnosis.commands}
    for part in diagnosis.parts:
        if part.version is None and not commands.isdisjoint(part.commands):
            yield Paragraph(line(f"missing: {part.name}"))
            yield _row("needed by", ", ".join(each for each in part.commands if each in commands))
            yield _row("remedy", part.remedy)


def _missing_permissions(diagnosis: Diagnosis) -> Iterator[Block]:
    missing = [permission for permission in diagnosis.permissions if permission.state is Possession.MISSING]
    for permission in missing:
        names = f": {first_of(permission.topics, _MOST_NAMES)}" if permission.topics else ""
        yield Paragraph(line(f"missing: {permission.permission}{permission.extent}{names}"))
        for command, lost in permission.lost.items():
            yield _row(command, lost)
    if missing:
        user = "user of --command-config" if _is_address(diagnosis) else "user of the stack's kafka: settings"
        remedy = f"grant them to the {user}; `topicwarden rules permissions` explains them"
        yield FactList(facts({"remedy": [prose(remedy)]}))


def _missing_apis(diagnosis: Diagnosis) -> Iterator[Block]:
    for api in diagnosis.missing_apis:
        yield Paragraph(line(f"not offered by all brokers: {api.name}, version {api.version}"))
        yield _row("needed by", ", ".join(api.commands))
        yield _row("lost", api.lost)


def _registry_problem(diagnosis: Diagnosis) -> Iterator[Block]:
    if diagnosis.registry and diagnosis.registry.problem:
        yield Paragraph(line(diagnosis.registry.problem))


def _registry(diagnosis: Diagnosis) -> Iterator[Block]:
    state = diagnosis.registry
    if state is None or state.problem:
        return
    parts = [state.url or "", counted(state.subjects or 0, "subject")]
    if state.mode:
        effect = "" if state.mode == _WRITABLE else ", in which no schema can be registered"
        parts.append(f"mode {state.mode}{effect}")
    if state.compatibility:
        parts.append(f"compatibility {state.compatibility}")
    yield _row("registry", ", ".join(parts))


def _commands(diagnosis: Diagnosis) -> Iterator[Block]:
    for command in diagnosis.commands:
        reasons = "" if command.ability is Ability.READY else f": {_short(command.reasons)}"
        yield _row(f"{_MARKS[command.ability]:<2} {command.command}", f"{command.ability}{reasons}")


def _short(reasons: Sequence[str]) -> str:
    return "; ".join(reason.partition("; ")[0].partition(": ")[0] for reason in reasons)


def _checks(diagnosis: Diagnosis) -> Iterator[Block]:
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


def _cluster(diagnosis: Diagnosis) -> Iterator[Block]:
    cluster = diagnosis.cluster
    if cluster is None:
        return
    kafka = f"Kafka {cluster.kafka}" if cluster.kafka else "a Kafka version that the brokers do not report"
    level = cluster.features.get("metadata.version")
    shown = f"{kafka} (metadata.version {level})" if level is not None else kafka
    mode = cluster.mode or "neither KRaft nor ZooKeeper"
    yield _row(
        "cluster",
        f"{shown}, {mode}, {counted(cluster.brokers, 'broker')}, cluster id {cluster.cluster_id or 'unknown'}",
    )
    yield _row("visible", f"{counted(cluster.topics, 'topic')}, {counted(cluster.groups, 'consumer group')}")
    lacking = {each.permission for each in diagnosis.permissions if each.state is Possession.MISSING}
    for state in _SHOWN_PERMISSIONS:
        by_reason: dict[str, list[str]] = {}
        for each in diagnosis.permissions:
            if each.state is state and not (state is Possession.GRANTED and each.permission in lacking):
                by_reason.setdefault(each.reason, []).append(f"{each.permission}{each.extent}")
        for reason, names in by_reason.items():
            yield _row("permissions", f"{state}: {', '.join(names)}" + (f" ({reason})" if reason else ""))


def _summary(diagnosis: Diagnosis) -> str:
    ready = sum(command.ability is Ability.READY for command in diagnosis.commands)
    total = len(diagnosis.commands)
    kind = "cluster" if _is_address(diagnosis) else "stack"
    lead = f"topicwarden {diagnosis.topicwarden}, {f'{kind} {diagnosis.stack}: ' if diagnosis.stack else ''}"
    if ready == total:
        return f"{lead}every command can run" if total > 1 else f"{lead}{diagnosis.commands[0].command} can run"
    return f"{lead}{total - ready} of {total} commands {'is' if total - ready == 1 else 'are'} limited or cannot run"


def _is_address(diagnosis: Diagnosis) -> bool:
    """Return whether the cluster is one that no stack declares: its addresses are in place of the name of a stack."""
    return ":" in (diagnosis.stack or "")
