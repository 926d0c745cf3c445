"""The access of a cluster as YAML: of the imported topics in their files, and the rest in a file below ``access/``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from topicwarden.access.recognize import RecognizedAccess, expand, recognize
from topicwarden.interchange.convert.access_values import limits_access
from topicwarden.interchange.import_session import ImportSession
from topicwarden.interchange.write_files import free_name
from topicwarden.model.access import DeclaredAccess, LiveAccess, PermissionType, QuotaEntity, ScramUser, TopicAccess
from topicwarden.model.problem import Refusal
from topicwarden.plan.access_change import ACCESS_PARTS
from topicwarden.specs.access_files import resolve_access
from topicwarden.specs.access_model import AccessDocument
from topicwarden.specs.load import LoadedDocuments
from topicwarden.specs.validated_document import validate
from topicwarden.specs.write import NewFile
from topicwarden.specs.write.access_file import FileAccess, access_file_text, declarable
from topicwarden.specs.yaml_nodes import read_documents

ACCESS = "access"


@dataclass(frozen=True)
class AccessDraft:
    """The access to declare: by topic, and as a new file. ``refused`` has the reasons for what cannot be declared."""

    topics: Mapping[str, TopicAccess] = field(default_factory=dict)
    files: tuple[NewFile, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)


def draft_access(session: ImportSession, live: LiveAccess, topics: Collection[str], stack: str | None) -> AccessDraft:
    """Return the access of the cluster that the stack owns and does not declare yet.

    ``stack`` is the stack that gets the access; None for all. ``topics`` are the new topics, which get their own
    access. With patterns of topics, only their access is imported.
    """
    refused = {part.plural: live.missing[part.name] for part in ACCESS_PARTS if part.name in live.missing}
    declared, scope = session.access, session.scope
    acls = {acl for acl in live.acls or () if scope.owns_acl(acl)} - declared.acls.keys()
    recognized = recognize(acls, topics)
    of_topics: dict[str, TopicAccess] = {}
    for name, access in recognized.topics.items():
        of_topics[name], reasons = declarable(access)
        refused |= {f"access of {name}": reason for reason in reasons}
    if session.patterns:
        return AccessDraft(of_topics, refused=refused)
    file = FileAccess(
        replace(recognized, topics={}),
        [
            user
            for key, user in sorted((live.users or {}).items())
            if key not in declared.users and scope.owns_principal(f"User:{user.name}")
        ],
        {
            entity: rates
            for entity, rates in (live.quotas or {}).items()
            if entity not in declared.quotas and _owns(session, entity)
        },
        {
            group: own
            for group, own in (live.group_configs or {}).items()
            if own and group not in declared.group_configs
        },
        {key: own for key, own in (live.client_metrics or {}).items() if own and key not in declared.client_metrics},
    )
    text, reasons = access_file_text(file, stack if len(session.loaded.stacks) > 1 else None)
    refused |= {f"access {number}": reason for number, reason in enumerate(reasons, 1)}
    if not text:
        return AccessDraft(of_topics, refused=refused)
    _verify(session, text, file, partly=bool(reasons))
    return AccessDraft(of_topics, (NewFile(free_name(session.project.access), text, None, ACCESS),), refused)


def declarable_access(access: LiveAccess) -> tuple[LiveAccess, list[str]]:
    """Return the part of the access of another tool's files that YAML can declare, and why each other part cannot be.

    If a DENY cannot be declared, the ALLOWs that it limits are not either.
    """
    reasons: list[str] = []

    def is_declarable(entry: FileAccess, label: str) -> bool:
        _, refused = access_file_text(entry, None)
        reasons.extend(f"{label}: {reason}" for reason in refused)
        return not refused

    acls = [*sorted(access.acls or (), key=str)]
    kept = [
        acl
        for acl in acls
        if is_declarable(FileAccess(replace(recognize([acl], ()), topics={})), f"not imported: {acl}")
    ]
    limits = {acl for acl in acls if acl.permission is PermissionType.DENY} - {*kept}
    unlimited = {acl for acl in kept if any(limits_access(deny, acl) for deny in limits)}
    reasons += [f"not imported: {acl}: a DENY that limits it is not imported" for acl in sorted(unlimited, key=str)]
    by_name: dict[str, list[ScramUser]] = {}
    for user in (access.users or {}).values():
        by_name.setdefault(user.name, []).append(user)
    users = {
        (user.name, user.mechanism): user
        for name, found in sorted(by_name.items())
        if is_declarable(FileAccess(users=found), f"not imported: user {name}")
        for user in found
    }
    quotas = {
        entity: rates
        for entity, rates in (access.quotas or {}).items()
        if is_declarable(FileAccess(quotas={entity: rates}), "not imported: quota")
    }
    return replace(access, acls=frozenset({*kept} - unlimited), users=users, quotas=quotas), reasons


def _owns(session: ImportSession, entity: QuotaEntity) -> bool:
    """Return whether a quota is in scope: if the scope names principals, only quotas of their users are."""
    user = dict(entity).get("user")
    return not session.scope.principals or (user is not None and session.scope.owns_principal(f"User:{user}"))


def _verify(session: ImportSession, text: str, expected: FileAccess, *, partly: bool) -> None:
    """Raise Refusal if the loader would not read exactly the expected access; with ``partly``, no more than that."""
    read = _read(session, text)
    acls = expand(RecognizedAccess({}, expected.recognized.applications, expected.recognized.operations))
    pairs: list[tuple[Collection[object], Collection[object]]] = [
        (read.acls.keys(), acls),
        (_pairs(read.part("quotas")), _pairs(expected.quotas)),
        (_pairs(read.part("group_configs")), _pairs(expected.group_configs)),
        (_pairs(read.part("client_metrics")), _pairs(expected.client_metrics)),
        (
            [(user.name, user.mechanism, user.iterations) for user, _ in read.users.values()],
            [(user.name, user.mechanism, user.iterations) for user in expected.users],
        ),
    ]
    for found, expected_values in pairs:
        if set(found) != set(expected_values) and not (partly and set(found) <= set(expected_values)):
            raise Refusal("the new file below access/ would declare other access; please report this as a bug")


def _pairs(values: Mapping[Any, Mapping[str, Any]]) -> list[object]:
    return [(key, tuple(sorted(of_key.items()))) for key, of_key in values.items()]


def _read(session: ImportSession, text: str) -> DeclaredAccess:
    documents, problems = read_documents(text.encode(), f"{ACCESS}/imported.yaml")
    document, invalid = validate(documents[0], AccessDocument, session.loaded.stacks) if documents else (None, [])
    if document is None or problems or invalid:
        raise Refusal(f"the new file below access/ would not be valid: {[*problems, *invalid]}; please report this")
    return resolve_access(LoadedDocuments((document,)), (), session.stack).access
