"""Files for subjects of a Schema Registry: in the file of the topic that uses one, the rest below ``subjects/``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from itertools import chain, count
from types import MappingProxyType
from typing import Any, Final

from topicwarden.extensions.interchange.convert.topic_reader import ConvertedSubject
from topicwarden.model.compatibility import SubjectStrategy
from topicwarden.model.contents import Contents
from topicwarden.model.files import MAX_BYTES
from topicwarden.model.message_text import counted
from topicwarden.model.subject import SchemaReference, SubjectUse
from topicwarden.model.topic import Topic
from topicwarden.model.units import SIZE
from topicwarden.specs.record_schemas import COMPILERS, record_name
from topicwarden.specs.record_schemas.json_text import JsonError
from topicwarden.specs.schema_files import SUFFIXES, SchemaText
from topicwarden.specs.write import NewFile, explicit_contents
from topicwarden.specs.write.subject_file import (
    SUBJECTS,
    SubjectEntry,
    file_stem,
    readable,
    references_setting,
    safe_name,
    subject_file_text,
)

_PARTS: Final = ("value", "key")
_SCHEMA_FOLDER: Final = "schemas"


@dataclass(frozen=True)
class SubjectDraft:
    """The subjects to declare: new topics with ``contents``, their schemas, and files below ``subjects/``.

    ``subjects`` is the number of new subjects. ``refused`` has the reasons for those that cannot be declared, by name.
    """

    topics: Mapping[str, Topic] = field(default_factory=dict)
    schemas: Mapping[str, tuple[SchemaText, ...]] = field(default_factory=dict)
    files: tuple[NewFile, ...] = ()
    subjects: int = 0
    refused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Placement:
    """A subject, its readable schema, the part of a new topic that gets it (None: none), and how its name is declared.

    ``named`` has the setting ``subject`` or ``strategy`` of ``registry:``; empty if the name is the default.
    """

    subject: ConvertedSubject
    text: str
    use: SubjectUse | None = None
    named: Mapping[str, str] = field(default_factory=dict)


def draft_subjects(
    subjects: Sequence[ConvertedSubject],
    topics: Mapping[str, Topic],
    declared: Collection[str],
    existing_paths: Collection[str],
    latest: Mapping[str, int] = MappingProxyType({}),
) -> SubjectDraft:
    """Return what declares ``subjects``, except those whose names are ``declared`` already.

    ``topics`` are the new topics. One that already has ``contents`` for a part gets no subject for this part.
    ``existing_paths`` are the paths below ``subjects/`` in lower case. ``latest`` are the latest versions of further
    subjects, by name: a reference to the latest version of a declared subject is written without its version, so that
    it follows the declaration.
    """
    new = {each.name: each for each in subjects if each.name not in declared}
    texts, refused = _texts(new.values())
    versions = {**latest, **{each.name: each.version for each in subjects if each.version is not None}}
    known = {*declared, *texts}
    kept = [
        _with_references(each, lambda reference: _following(reference, known, versions))
        for each in new.values()
        if each.name in texts
    ]
    placements = _placed(kept, texts, topics)
    of_topics: dict[str, list[_Placement]] = {}
    for placement in placements:
        if placement.use:
            of_topics.setdefault(placement.use.topic, []).append(placement)
    files = _files(existing_paths, [each for each in placements if each.use is None])
    return SubjectDraft(
        {name: _with_contents(topics[name], found) for name, found in of_topics.items()},
        {name: tuple(_schema_text(each) for each in found) for name, found in of_topics.items()},
        files,
        len(placements),
        refused,
    )


def _with_references(
    subject: ConvertedSubject, changed: Callable[[SchemaReference], SchemaReference]
) -> ConvertedSubject:
    references = tuple(changed(reference) for reference in subject.schema.references)
    return replace(subject, schema=replace(subject.schema, references=references))


def _following(reference: SchemaReference, known: Iterable[str], versions: Mapping[str, int]) -> SchemaReference:
    """Return the reference without its version, if it is the latest one of a declared subject."""
    is_latest = reference.subject in known and versions.get(reference.subject) == reference.version
    return replace(reference, version=None) if is_latest else reference


def _texts(subjects: Iterable[ConvertedSubject]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the readable schema of each subject that can be declared, and the reason why another cannot."""
    texts: dict[str, str] = {}
    refused: dict[str, str] = {}
    found = list(subjects)
    for subject in found:
        schema = subject.schema
        size = len(schema.text.encode(errors="replace"))
        if not subject.name.isprintable():
            refused[subject.name] = "its name has a character that is not printable"
        elif schema.format not in COMPILERS:
            refused[subject.name] = f"its format {schema.format} is not Avro, JSON Schema or Protobuf"
        elif size > MAX_BYTES:
            refused[subject.name] = (
                f"its schema has {counted(size, 'byte')}, and a schema file may have {SIZE.text(MAX_BYTES)}; "
                "split it into schemas that refer to each other"
            )
        elif error := _schema_error(subject):
            refused[subject.name] = f"its schema {error}"
        else:
            texts[subject.name] = readable(schema.format, schema.text)
    _refuse_cycles(found, texts, refused)
    _refuse_dependents(found, texts, refused)
    return texts, refused


def _schema_error(subject: ConvertedSubject) -> str | None:
    """Return the error of a schema, as far as it shows without those that it refers to: ``check`` knows them."""
    schema = subject.schema
    try:
        readable(schema.format, schema.text)
        schema.text.encode()
    except JsonError as error:
        return str(error)
    except UnicodeEncodeError:
        return "has a character that no file can have"
    unknown = tuple((reference.name, None) for reference in schema.references)
    return COMPILERS[schema.format](schema.text, None, unknown)


def _refuse_cycles(subjects: Sequence[ConvertedSubject], texts: dict[str, str], refused: dict[str, str]) -> None:
    """Move subjects whose references are circular from ``texts`` to ``refused``. Versions of a subject can be so."""
    graph = {each.name: {reference.subject for reference in each.schema.references} for each in subjects}
    while True:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            cycle = error.args[1]
            for name in cycle:
                texts.pop(name, None)
                refused[name] = f"the references of its versions are circular: {' -> '.join(cycle)}"
                graph[name] = set()
            continue
        return


def _refuse_dependents(subjects: Sequence[ConvertedSubject], texts: dict[str, str], refused: dict[str, str]) -> None:
    """Move subjects that refer to a refused subject from ``texts`` to ``refused``, and those that refer to these."""
    changed = bool(refused)
    while changed:
        changed = False
        for subject in subjects:
            missing = [each.subject for each in subject.schema.references if each.subject in refused]
            if subject.name in texts and missing:
                del texts[subject.name]
                refused[subject.name] = f"it refers to {missing[0]}, which was not imported"
                changed = True


def _placed(
    subjects: Sequence[ConvertedSubject], texts: Mapping[str, str], topics: Mapping[str, Topic]
) -> list[_Placement]:
    """Return where each subject goes. A part of a topic has one schema: the subject that has its default name."""
    candidates = [_candidate(subject, texts[subject.name], topics) for subject in subjects]
    claims: dict[SubjectUse, list[_Placement]] = {}
    for each in candidates:
        if each.use:
            claims.setdefault(each.use, []).append(each)
    chosen = {use: _chosen(use, found) for use, found in claims.items()}
    return [each if each.use is None or chosen[each.use] is each else replace(each, use=None) for each in candidates]


def _chosen(use: SubjectUse, claims: Sequence[_Placement]) -> _Placement | None:
    default = next((each for each in claims if each.subject.name == f"{use.topic}-{use.part}"), None)
    return default or (claims[0] if len(claims) == 1 else None)


def _candidate(subject: ConvertedSubject, text: str, topics: Mapping[str, Topic]) -> _Placement:
    """Return the part of a new topic that uses a subject: as its source says, or else as its name tells."""
    name, full_name = subject.name, record_name(subject.schema.format, subject.schema.text)
    uses = [subject.use] if subject.use else [SubjectUse(name.removesuffix(f"-{part}"), part) for part in _PARTS]
    if not subject.use and full_name:
        uses.append(SubjectUse(name.removesuffix(f"-{full_name}"), "value"))
    for use in uses:
        free = use.topic in topics and not explicit_contents(topics[use.topic].contents).get(use.part)
        if free and (subject.use or use.topic != name):
            return _Placement(subject, text, use, _naming(name, use, full_name))
    return _Placement(subject, text)


def _naming(name: str, use: SubjectUse, full_name: str | None) -> dict[str, str]:
    """Return the setting of ``registry:`` from which the name of the subject follows; none for the default name."""
    if name == f"{use.topic}-{use.part}":
        return {}
    strategies = {full_name: SubjectStrategy.RECORD, f"{use.topic}-{full_name}": SubjectStrategy.TOPIC_RECORD}
    strategy = strategies.get(name) if full_name else None
    return {"strategy": str(strategy)} if strategy else {"subject": name}


def _with_contents(topic: Topic, placements: Sequence[_Placement]) -> Topic:
    contents: dict[str, Any] = explicit_contents(topic.contents)
    for placement in placements:
        subject = placement.subject
        registry: dict[str, Any] = dict(placement.named)
        if subject.compatibility:
            registry["compatibility"] = subject.compatibility
        if subject.schema.references:
            registry["references"] = references_setting(subject.schema.references)
        assert placement.use
        # An empty mapping would be easy to overlook, so a default is written out.
        registry = registry or {"strategy": str(SubjectStrategy.TOPIC)}
        contents[placement.use.part] = {"format": subject.schema.format, "registry": registry}
    return replace(topic, contents=Contents.model_validate(contents))


def _schema_text(placement: _Placement) -> SchemaText:
    assert placement.use
    return SchemaText(placement.use.part, placement.subject.schema.format, placement.text)


def _files(existing_paths: Collection[str], placements: Sequence[_Placement]) -> tuple[NewFile, ...]:
    """Return the files below ``subjects/``: the schemas, and one file for each namespace that names them."""
    used_paths = set(existing_paths)
    schemas: list[NewFile] = []
    entries: dict[str, list[SubjectEntry]] = {}
    for placement in sorted(placements, key=lambda each: each.subject.name):
        subject = placement.subject
        suffix = SUFFIXES[subject.schema.format]
        stem = safe_name(subject.name.removesuffix(suffix)) or "schema"
        path = _free_path(f"{_SCHEMA_FOLDER}/{stem}", suffix, used_paths)
        schemas.append(NewFile(path, placement.text, None, SUBJECTS))
        entry = SubjectEntry(
            subject.name, subject.schema.format, path, subject.compatibility, subject.schema.references
        )
        entries.setdefault(file_stem(subject.name), []).append(entry)
    return (
        *schemas,
        *(
            NewFile(_free_path(stem, ".yaml", used_paths), subject_file_text(found), None, SUBJECTS)
            for stem, found in sorted(entries.items())
        ),
    )


def _free_path(stem: str, suffix: str, used_paths: set[str]) -> str:
    """Return a path that no file has yet, and add it to ``used_paths``. Some file systems ignore case."""
    paths = (f"{each}{suffix}" for each in chain([stem], (f"{stem}-{number}" for number in count(2))))
    path = next(path for path in paths if path.lower() not in used_paths)
    used_paths.add(path.lower())
    return path
