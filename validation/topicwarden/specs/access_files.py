"""The access that one stack declares: ``access:`` of its topics, and the files below ``access/``.

A file below ``access/`` has no defaults. Its section of ``stacks`` for the stack overrides it: mappings are merged key
by key, and a list replaces a list. All files together are the access of the stack.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from topicwarden.kafka_facts.access import roles
from topicwarden.kafka_facts.access.roles import NamePattern
from topicwarden.kinds.access_spec import Entry
from topicwarden.model.access import (
    ACLS,
    NO_ACCESS,
    NO_TOPIC_ACCESS,
    AccessSource,
    Acl,
    DeclaredAccess,
    PermissionType,
    ResourceType,
)
from topicwarden.model.problem import Location, Problem
from topicwarden.model.topic import Allowance, AllowedChange
from topicwarden.specs.document_model import ACCESS_SPECS, AccessDocument
from topicwarden.specs.load import LoadedDocuments, load_documents
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.spec_files import SpecFile
from topicwarden.specs.validated_document import StackDocument

TWICE: Final = "access-twice"
CONTRADICTION: Final = "access-contradiction"


@dataclass(frozen=True)
class ResolvedAccess:
    """The access of one stack, and the problems that only show for a stack.

    ``allowances`` are the allowed changes of the files below ``access/``, with their locations.
    """

    access: DeclaredAccess = NO_ACCESS
    problems: tuple[Problem, ...] = ()
    allowances: tuple[tuple[Allowance, Location], ...] = ()


def load_access(folder: Path, root: Path, stacks: Sequence[str], unwritten: Sequence[SpecFile] = ()) -> LoadedDocuments:
    """Read every YAML file below ``folder``; see ``load_documents``."""
    return load_documents(folder, root, stacks, AccessDocument, "access", unwritten=unwritten)


def resolve_access(loaded: LoadedDocuments, declarations: Iterable[Declaration], stack: str | None) -> ResolvedAccess:
    """Return the access of ``stack``: that of its topics, ``declarations``, and that of the loaded files."""
    collector = _Collector()
    for declaration in declarations:
        if declaration.topic.access != NO_TOPIC_ACCESS:
            collector.add_topic(declaration)
    for document in loaded.documents:
        collector.add_file(StackDocument(document, stack))
    return collector.resolved()


@dataclass
class _Collector:
    """The access of one stack that was collected so far."""

    problems: list[Problem] = field(default_factory=list)
    acls: dict[Acl, dict[AccessSource, None]] = field(default_factory=lambda: defaultdict(dict))
    """The sources of each ACL, each once, in the order of the declarations."""
    values: dict[str, dict[Any, tuple[Any, tuple[AccessSource]]]] = field(default_factory=lambda: defaultdict(dict))
    allowances: list[tuple[Allowance, Location]] = field(default_factory=list)
    files: set[str] = field(default_factory=set)

    def add_topic(self, declaration: Declaration) -> None:
        """Add the access of one topic."""
        topic, locations = declaration.topic, declaration.locations

        def source(key: str, index: int) -> AccessSource:
            location = locations.at_item(("access", key), index)
            return AccessSource(location, f"{key} of {topic.name}", topic.name, topic.owner)

        for index, grant in enumerate(topic.access.produce):
            self._add(roles.produce(topic.name, grant), source("produce", index))
        for index, grant in enumerate(topic.access.consume):
            self._add(roles.consume(topic.name, grant), source("consume", index))
        for index, entry in enumerate(topic.access.acls):
            acls = roles.operations(entry, ResourceType.TOPIC, NamePattern(topic.name))
            self._add(acls, source("acls", index))

    def add_file(self, file: StackDocument) -> None:
        """Add the access of one file below ``access/``."""
        for kind in ACCESS_SPECS:
            for entry in kind.entries(file):
                if isinstance(entry, Problem):
                    self.problems.append(entry)
                elif entry.title:
                    self._add_once(kind.part if entry.value is not None else "", entry)
                else:
                    self._add([entry.key], entry.value)
        self.files.add(file.file)
        for settings, location in file.entries("allow"):
            self.allowances.append((Allowance(AllowedChange(settings["change"]), settings.get("until")), location))

    def resolved(self) -> ResolvedAccess:
        """Return everything that was added, with the contradictions between ACLs."""
        acls = {acl: tuple(sources) for acl, sources in self.acls.items()}
        self.problems += _contradictions(acls)
        self.values.pop("", None)
        allow: dict[str, set[Allowance]] = {file: set() for file in sorted(self.files)}
        for allowance, location in self.allowances:
            allow[location.file].add(allowance)
        access = DeclaredAccess(
            {ACLS: {acl: (True, sources) for acl, sources in acls.items()}, **self.values},
            allow={file: frozenset(allowances) for file, allowances in allow.items()},
        )
        return ResolvedAccess(access, tuple(self.problems), tuple(self.allowances))

    def _add(self, acls: Iterable[Acl], source: AccessSource) -> None:
        for acl in acls:
            self.acls[acl].setdefault(source)

    def _add_once(self, part: str, entry: Entry) -> None:
        """Add an entry; report one that another declaration has already."""
        known = self.values[part]
        if entry.key in known:
            message = f"{entry.title} is declared twice, first at {known[entry.key][1][0].location}; keep one"
            self.problems.append(Problem(entry.location, message, TWICE))
        else:
            known[entry.key] = entry.value, (AccessSource(entry.location, part),)


def _contradictions(acls: Mapping[Acl, Sequence[AccessSource]]) -> Iterator[Problem]:
    """Yield a problem for each ACL that is both allowed and denied, at the declaration that allows it in vain."""
    for acl, sources in acls.items():
        if acl.permission is PermissionType.DENY:
            continue
        denied = acls.get(replace(acl, permission=PermissionType.DENY))
        if denied:
            message = f"{acl} is also denied, at {denied[0].location}, and Deny always wins; delete one of the two"
            yield Problem(sources[0].location, message, CONTRADICTION)
