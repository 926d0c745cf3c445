"""Collects the topics of another tool's file, its problems, and notes of what is not converted."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from topicwarden.extensions.interchange.convert.source_file import ImportedFiles, SourceFile, UnreadFields, UnreadText
from topicwarden.model.access import ACLS, Acl
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.message_text import counted_more
from topicwarden.model.problem import Level, Location, Problem
from topicwarden.model.subject import RegisteredSchema, SubjectUse
from topicwarden.model.topic import Topic
from topicwarden.specs.schema_files import SchemaText


@dataclass(frozen=True)
class ConvertedSubject:
    """A subject to declare.

    ``version`` is the version that ``schema`` has in the registry; None if the source does not say it. ``use`` is the
    part of a topic whose schema it is, if the source says so; if not, the name of the subject tells. ``location`` is
    the line of the source; None for a live registry.
    """

    name: str
    schema: RegisteredSchema
    compatibility: Compatibility | None = None
    version: int | None = None
    use: SubjectUse | None = None
    location: Location | None = None


AccessKey: TypeAlias = tuple[str, Any]
"""A part of the access, such as ``users``, and the key of one entry."""
NOT_READ: Final = "not imported, because a topic's YAML has no key for it"
ACCESS: Final = "access rules, so not imported"
COMMENTED_OUT: Final = "commented out, so not imported"
UNKNOWN: Final = 0
_LINE_NAME: Final = re.compile(r"line [0-9]+")
_MAX_LINES: Final = 20
"""The maximum number of unnamed lines, such as comments, that a note lists; it counts the rest."""


@dataclass(frozen=True)
class ConvertedTopic:
    """A topic of another tool's file, its location, lines to keep as comments, and its schemas.

    ``missing`` has the problem of each count that the file does not have: ``partitions``, ``replication_factor``. The
    topic has ``UNKNOWN`` instead, and needs a number from elsewhere.
    """

    topic: Topic
    location: Location
    comments: tuple[str, ...] = ()
    schemas: tuple[SchemaText, ...] = ()
    missing: Mapping[str, Problem] = field(default_factory=dict)


@dataclass
class TopicReader:
    """Collects the topics, problems and notes of one file, and tracks which parts of the file were read.

    ``imported`` are all files of the same import. ``include_unmanaged`` takes entries that the other tool does not
    apply; ``cluster`` takes the entries of one cluster only. ``clusters`` are the clusters of each entry whose file
    names them. ``excluded`` counts the entries that the file itself excludes, such as topics marked for deletion, and
    ``left_out`` those that are valid, and not imported. ``limits`` are the DENY ACLs among them. ``auxiliary`` is set
    if the file only completes other files. ``access`` is the access that the file declares, by part and key,
    ``access_locations`` are the lines of the file that declare it, and ``subjects`` the subjects of a Schema Registry.
    """

    source: SourceFile
    imported: ImportedFiles = field(default_factory=ImportedFiles)
    topics: list[ConvertedTopic] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    include_unmanaged: bool = False
    cluster: str | None = None
    clusters: list[tuple[frozenset[str], Location]] = field(default_factory=list)
    excluded: int = 0
    left_out: int = 0
    limits: list[Acl] = field(default_factory=list)
    auxiliary: bool = False
    access: dict[str, dict[Any, Any]] = field(default_factory=lambda: defaultdict(dict))
    access_locations: dict[AccessKey, Location] = field(default_factory=dict)
    subjects: list[ConvertedSubject] = field(default_factory=list)
    _unread: list[UnreadFields | UnreadText] = field(default_factory=list)
    _notes: dict[str, list[tuple[Location, str]]] = field(default_factory=dict)
    _located: set[str] = field(default_factory=set)

    @property
    def others(self) -> tuple[SourceFile, ...]:
        """The other files of the same import."""
        return tuple(source for source in self.imported.sources if source is not self.source)

    def add_access(self, part: str, key: Any, value: Any, location: Location) -> None:
        """Add access that the file declares at ``location``; report another value of the same entry."""
        self.problems += add_entry(self.access, self.access_locations, (part, key), value, location)

    def add_acls(self, acls: Iterable[Acl], location: Location) -> None:
        """Add ACLs that the file declares at ``location``."""
        for acl in acls:
            self.add_access(ACLS, acl, True, location)

    def documents(self) -> list[UnreadFields]:
        """Return the documents of the file. A note will name each field that remains unread."""
        fields = [UnreadFields(self.source, document) for document in self.source.documents]
        self._unread += fields
        self.problems += self.source.problems
        self._note_comments(self.source)
        return fields

    def document_beside(self, source: SourceFile) -> UnreadFields | None:
        """Return the document of another file that this file refers to; None if the file is not one YAML document."""
        self.problems += source.problems
        self._note_comments(source)
        if len(source.documents) != 1:
            return None
        fields = UnreadFields(source, source.documents[0])
        self._unread.append(fields)
        return fields

    def _note_comments(self, source: SourceFile) -> None:
        for offset, comment in source.comments:
            line = comment.partition("KAFKA_CREATE_TOPICS")
            reason = COMMENTED_OUT if line[1] else "comments are not imported"
            location = source.location(offset)
            self.note(location, line[1] or f"line {location.line}", reason)

    def text(self) -> UnreadText:
        """Return the text of the file. A note will name the line of each part that remains unread."""
        text = UnreadText(self.source)
        self._unread.append(text)
        return text

    def add_problem(self, location: Location, message: str, rule: str) -> None:
        self.problems.append(Problem(location, message, rule))

    def note(self, location: Location, part: str, reason: str) -> None:
        """Note that ``part`` is not converted. Parts with the same reason share one note."""
        self._notes.setdefault(reason, []).append((location, part))

    def is_on_cluster(self, clusters: Collection[str], location: Location, name: Any) -> bool:
        """Return whether an entry of these clusters is to be imported; note one that is not.

        No cluster means that the file does not say it.
        """
        if not clusters:
            return True
        self.clusters.append((frozenset(clusters), location))
        if self.cluster is None or self.cluster in clusters:
            return True
        self.exclude(location, name, "on another cluster than --from-cluster, so not imported")
        return False

    def exclude(self, location: Location, name: Any, reason: str) -> None:
        """Note that an entry is not converted because the file itself excludes it."""
        self.excluded += 1
        self.note(location, str(name), reason)

    def leave_out(self, location: Location, name: Any, reason: str) -> None:
        """Note that a valid entry is not imported, and count it: the exit code of the import says so."""
        self.left_out += 1
        self._located.add(reason)
        self.exclude(location, name, reason)

    def notes(self) -> list[Problem]:
        """Return one warning for each reason, with all parts that were not converted, at the location of the first.

        The lines of the other parts are named if the parts are left out.
        """
        notes = {reason: list(parts) for reason, parts in self._notes.items()}
        for unread in self._unread:
            for unread_part in unread.unread_parts():
                notes.setdefault(NOT_READ, []).append(unread_part)
        located = {reason: _with_lines(notes[reason]) for reason in self._located}
        return [_note(reason, parts) for reason, parts in (notes | located).items() if parts]


def add_entry(
    access: Mapping[str, dict[Any, Any]],
    locations: dict[AccessKey, Location],
    entry: AccessKey,
    value: Any,
    location: Location,
) -> Iterator[Problem]:
    """Add an ``entry``, declared at ``location``; yield a problem if it is there with another value."""
    part, key = entry
    first = locations.setdefault(entry, location)
    if access[part].setdefault(key, value) != value:
        message = f"this entry of {part} is declared twice, first at {first} with other values; keep one"
        yield Problem(location, message, "access-twice")


def _with_lines(parts: list[tuple[Location, str]]) -> list[tuple[Location, str]]:
    first = min(location for location, _ in parts)
    return [
        (location, part if location.line == first.line else f"{part} at line {location.line}")
        for location, part in parts
    ]


def _note(reason: str, parts: list[tuple[Location, str]]) -> Problem:
    occurrences = Counter(part for _, part in parts)
    lines = [part for part in occurrences if _LINE_NAME.fullmatch(part)]
    for part in lines[_MAX_LINES:]:
        del occurrences[part]
    part_names = ", ".join(
        part if number == 1 else f"{part} ({number:,} times)" for part, number in occurrences.items()
    )
    if len(lines) > _MAX_LINES:
        part_names += f", and {counted_more(len(lines) - _MAX_LINES, 'line')}"
    return Problem(min(location for location, _ in parts), f"{reason}: {part_names}", "not-imported", Level.WARNING)
