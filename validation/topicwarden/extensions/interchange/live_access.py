"""The access of a cluster as YAML: of the imported topics in their files, and the rest in a file below ``access/``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from pydantic import ValidationError

from topicwarden.extensions.interchange.convert.access_values import limited_by
from topicwarden.extensions.interchange.convert.topic_reader import AccessKey
from topicwarden.extensions.interchange.import_session import ImportSession
from topicwarden.extensions.interchange.write_files import free_name
from topicwarden.kafka_facts.access.roles import expand, recognize
from topicwarden.kinds.access_converter import AccessConverter, YamlEntry, converters
from topicwarden.kinds.scram_user.change import USERS
from topicwarden.model.access import ACLS, WILDCARD, DeclaredAccess, LiveAccess, PermissionType, TopicAccess
from topicwarden.model.problem import Refusal
from topicwarden.plan.access_change import ACCESS_PARTS
from topicwarden.specs.access_files import resolve_access
from topicwarden.specs.document_model import AccessDocument
from topicwarden.specs.load import LoadedDocuments
from topicwarden.specs.validated_document import validate
from topicwarden.specs.validation_errors import first_message
from topicwarden.specs.write import NewFile
from topicwarden.specs.write.topic_access import OTHER_SPELLING, declarable, flow, yaml_key
from topicwarden.specs.write.yaml_values import yaml_scalar
from topicwarden.specs.yaml_nodes import read_documents

ACCESS = "access"


Entries: TypeAlias = Mapping[str, Mapping[Any, Any]]
"""Values by part, such as ``users``, and by key."""


@dataclass(frozen=True)
class AccessDraft:
    """The access to declare: by topic, and as a new file. ``refused`` has the reasons for what cannot be declared.

    ``users`` is the number of SCRAM users in the file: each needs a secret of the stack.
    """

    topics: Mapping[str, TopicAccess] = field(default_factory=dict)
    files: tuple[NewFile, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    users: int = 0


def draft_access(session: ImportSession, live: LiveAccess, topics: Collection[str], stack: str | None) -> AccessDraft:
    """Return the access of the cluster that the stack owns and does not declare yet.

    ``stack`` is the stack that gets the access; None for all. ``topics`` are the new topics, which get their own
    access. With patterns of topics, only their access is imported.
    """
    refused = {part.plural: live.missing[part.name] for part in ACCESS_PARTS if part.name in live.missing}
    entries: dict[str, dict[Any, Any]] = {kind.part: _new_entries(kind, live, session) for kind in converters()}
    recognized = recognize(entries[ACLS], topics)
    of_topics: dict[str, TopicAccess] = {}
    for name, access in recognized.topics.items():
        of_topics[name], reasons = declarable(access)
        refused |= {f"access of {name}": reason for reason in reasons}
    if session.patterns:
        return AccessDraft(of_topics, refused=refused)
    entries[ACLS] = dict.fromkeys(expand(replace(recognized, topics={})), True)
    text, reasons = access_file_text(entries, stack if len(session.loaded.stacks) > 1 else None)
    refused |= {f"access {number}": reason for number, reason in enumerate(reasons, 1)}
    if not text:
        return AccessDraft(of_topics, refused=refused)
    _verify(session, text, entries, partly=bool(reasons))
    file = NewFile(free_name(session.project.access), text, None, ACCESS)
    return AccessDraft(of_topics, (file,), refused, len({user for user, _ in entries[USERS]}))


def _new_entries(kind: AccessConverter, live: LiveAccess, session: ImportSession) -> dict[Any, Any]:
    """Return the live entries that the stack owns and does not declare yet."""
    declared = session.access.part(kind.part)
    return {
        key: value
        for key, value in (live.part(kind.part) or {}).items()
        if value and key not in declared and not kind.outside(key, session.scope)
    }


def declarable_access(access: LiveAccess) -> tuple[LiveAccess, list[tuple[AccessKey, str]]]:
    """Return the part of the access of another tool's files that YAML can declare, and why each other part cannot be.

    The reasons are with the key of the first entry that they are about.

    If a DENY cannot be declared, the ALLOWs that it limits are not either.
    """
    reasons: list[tuple[AccessKey, str]] = []
    kept: dict[str, Any] = {}
    for kind in converters():
        entries, by_title = access.part(kind.part) or {}, defaultdict[str, dict[Any, Any]](dict)
        for key in sorted(entries, key=str) if kind.part == ACLS else entries:
            by_title[kind.title(key)][key] = entries[key]
        kept[kind.part] = {}
        for title, together in by_title.items():
            _, refused = access_file_text({kind.part: together}, None)
            first = (kind.part, next(iter(together)))
            reasons += [(first, f"not imported: {title}: {reason}") for reason in refused]
            kept[kind.part] |= {} if refused else together
    acls = kept[ACLS].keys()
    limits = {acl for acl in access.acls or () if acl.permission is PermissionType.DENY} - acls
    unlimited = limited_by(limits, acls)
    limited = "a DENY that limits it is not imported"
    reasons += [((ACLS, acl), f"not imported: {acl}: {limited}") for acl in sorted(unlimited, key=str)]
    return replace(access, parts={**kept, ACLS: dict.fromkeys(acls - unlimited, True)}), reasons


def _verify(session: ImportSession, text: str, expected: Entries, *, partly: bool) -> None:
    """Raise Refusal if the loader would not read exactly the expected access; with ``partly``, no more than that."""
    read = _read(session, text)
    for part in ACCESS_PARTS:
        found, entries = read.part(part.name), expected[part.name]
        exact = all(
            key in entries and part.as_live(value, entries[key]) and part.as_live(entries[key], value)
            for key, value in found.items()
        )
        if not exact or (len(found) < len(entries) and not partly):
            raise Refusal("the new file below access/ would declare other access; please report this as a bug")


def _read(session: ImportSession, text: str) -> DeclaredAccess:
    documents, problems = read_documents(text.encode(), f"{ACCESS}/imported.yaml")
    document, invalid = validate(documents[0], AccessDocument, session.loaded.stacks) if documents else (None, [])
    if document is None or problems or invalid:
        raise Refusal(f"the new file below access/ would not be valid: {[*problems, *invalid]}; please report this")
    return resolve_access(LoadedDocuments((document,)), (), session.stack).access


def access_file_text(entries: Entries, stack: str | None) -> tuple[str, list[str]]:
    """Return the text of a file below ``access/``, and why some access cannot be declared; empty text for none.

    The access is that of ``stack``, or of all stacks for None.
    """
    refused: list[str] = []
    lines = [line for kind in converters() for line in _lines(kind, entries.get(kind.part, {}), refused)]
    if stack is not None and lines:
        lines = ["stacks:", f"  {yaml_scalar(stack)}:", *(f"    {line}" for line in lines)]
    return "".join(f"{line}\n" for line in lines), refused


def _lines(kind: AccessConverter, entries: Mapping[Any, Any], refused: list[str]) -> Iterator[str]:
    sections: dict[str, list[str]] = {}
    for entry in kind.yaml(entries):
        if reason := entry.refused or _reason(entry):
            refused.append(reason)
        else:
            text = flow(entry.value)
            sections.setdefault(entry.key, []).append(f"{yaml_key(entry.name)}: {text}" if entry.name else f"- {text}")
    if sections:
        yield from kind.comment
    for key, lines in sections.items():
        yield f"{key}:"
        yield from (f"  {line}" for line in lines)


def _reason(entry: YamlEntry) -> str:
    """Return why the YAML of a file cannot have ``entry``, or would change it; empty if it can."""
    section = {entry.key: {entry.name: entry.value} if entry.name else [entry.value]}
    text = flow(section if entry.name else entry.value)
    try:
        read = AccessDocument.model_validate(section).model_dump()
    except ValidationError as error:
        return f"{text}: {first_message(error)}"
    if not entry.name and read[entry.key][0].get("host", WILDCARD) != entry.value.get("host", WILDCARD):
        return f"{text}: {OTHER_SPELLING}"
    return ""
