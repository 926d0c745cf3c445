"""Convert the files of other tools to topics."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Protocol

from topicwarden.extensions.interchange.convert import (
    asyncapi,
    create_topics,
    describe,
    jikkou,
    julie,
    kafka_gitops,
    kdef,
    odcs,
    redpanda_operator,
    specmesh,
    strimzi,
    terraform,
    topicctl,
)
from topicwarden.extensions.interchange.convert.access_values import limited_by
from topicwarden.extensions.interchange.convert.source_file import ImportedFiles, SourceFile
from topicwarden.extensions.interchange.convert.topic_reader import (
    AccessKey,
    ConvertedSubject,
    ConvertedTopic,
    TopicReader,
    add_entry,
)
from topicwarden.kafka_facts.topic_names import metric_name
from topicwarden.model.access import ACLS, Acl, LiveAccess
from topicwarden.model.message_text import counted, quoted
from topicwarden.model.problem import Level, Location, Problem

__all__ = [
    "FORMATS",
    "ConversionResult",
    "ConvertedSubject",
    "ConvertedTopic",
    "SourceFile",
    "SourceFormat",
    "TopicReader",
    "read_all",
]

_HCL: Final = re.compile(r"^\s*(resource|data|module|variable|locals|provider|terraform)\b[^\n=:]*\{", re.MULTILINE)
NO_LIVE_ACCESS: Final = LiveAccess({ACLS: {}})
_NO_TOPIC: Final = "this file declares no topic; pass the file with the topics, too: add --from with its path"


class SourceFormat(Protocol):
    """A module that reads the files of one tool."""

    def recognises(self, source: SourceFile) -> bool:
        """Return whether the file has this format."""
        ...

    def read(self, reader: TopicReader) -> None:
        """Add the topics, problems and notes of ``reader.source`` to ``reader``."""
        ...


FORMATS: Final = MappingProxyType[str, SourceFormat](
    {
        "specmesh": specmesh,
        "asyncapi": asyncapi,
        "odcs": odcs,
        "strimzi": strimzi,
        "jikkou": jikkou,
        "redpanda": redpanda_operator,
        "topicctl": topicctl,
        "kdef": kdef,
        "kafka-gitops": kafka_gitops,
        "julie": julie,
        "terraform": terraform,
        "describe": describe,
        "create-topics": create_topics,
    }
)
"""The formats by their ``--from-format`` name. The first that recognises a file reads it."""


@dataclass(frozen=True)
class ConversionResult:
    """The topics of all files in file order, all problems, and a warning for each part that was not converted.

    ``access`` is that of all files, with the line of each entry in ``access_locations``, and ``subjects`` are the
    subjects of a Schema Registry.
    ``left_out`` is the number of valid entries that are not imported.
    """

    topics: tuple[ConvertedTopic, ...]
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]
    access: LiveAccess = NO_LIVE_ACCESS
    access_locations: Mapping[AccessKey, Location] = field(default_factory=dict)
    subjects: tuple[ConvertedSubject, ...] = ()
    left_out: int = 0


def read_all(
    sources: Sequence[SourceFile],
    format_name: str | None = None,
    *,
    include_unmanaged: bool = False,
    cluster: str | None = None,
) -> ConversionResult:
    """Read the topics of all files; return them with all problems and notes.

    ``format_name`` is a key of ``FORMATS``; by default, the format of each file is recognised from its content.
    ``include_unmanaged`` takes entries that the other tool does not apply. ``cluster`` takes only the entries of this
    cluster, and those whose file does not name their cluster.
    """
    topics: list[ConvertedTopic] = []
    problems: list[Problem] = []
    notes: list[Problem] = []
    auxiliary: list[SourceFile] = []
    by_metric_name: dict[str, ConvertedTopic] = {}
    limits: list[Acl] = []
    left_out = 0
    clusters: list[tuple[frozenset[str], Location]] = []
    access: dict[str, Any] = defaultdict(dict)
    access_locations: dict[AccessKey, Location] = {}
    subjects: dict[str, ConvertedSubject] = {}
    imported = ImportedFiles(tuple(sources))
    for source in sources:
        reader = _read_file(
            TopicReader(source, imported, include_unmanaged=include_unmanaged, cluster=cluster), format_name
        )
        auxiliary += [source] if reader.auxiliary else []
        problems += reader.problems
        notes += reader.notes()
        left_out += reader.left_out
        clusters += reader.clusters
        limits += reader.limits
        problems += _add_access(access, access_locations, reader)
        problems += _add_subjects(subjects, reader.subjects)
        for converted in reader.topics:
            first = by_metric_name.setdefault(metric_name(converted.topic.name), converted)
            if first is converted:
                topics.append(converted)
            else:
                problems.append(_duplicate(converted, first))
    problems += _cluster_problems(clusters, cluster)
    acls: set[Acl] = {*access.pop(ACLS, ())}
    unlimited = limited_by(limits, acls)
    notes += [_unlimited(acl, access_locations[ACLS, acl]) for acl in sorted(unlimited, key=str)]
    left_out += len(unlimited)
    nothing = not (topics or problems or subjects or access or acls - unlimited)
    if sources and len(auxiliary) == len(sources) and nothing:
        problems = [Problem(Location(source.file), _NO_TOPIC, "empty") for source in auxiliary]
    return ConversionResult(
        tuple(topics),
        tuple(sorted(set(problems))),
        tuple(sorted(set(notes))),
        LiveAccess({ACLS: dict.fromkeys(acls - unlimited, True), **access}),
        access_locations,
        tuple(subjects.values()),
        left_out,
    )


def _cluster_problems(found: Sequence[tuple[frozenset[str], Location]], selected: str | None) -> list[Problem]:
    """Return the problem if the entries are on several clusters, or none is on the selected one: a project is one."""
    names = sorted({name for clusters, _ in found for name in clusters})
    if not found or (selected in names if selected else frozenset.intersection(*(each for each, _ in found))):
        return []
    message = f"these files have entries of {counted(len(names), 'cluster')}: {', '.join(names)}; "
    if selected:
        message += f"none is on {quoted(selected)}: select another one with --from-cluster"
    else:
        message += "a project is one cluster: select one with --from-cluster"
    return [Problem(found[0][1], message, "cluster")]


def _unlimited(acl: Acl, location: Location) -> Problem:
    message = f"not imported, because a DENY that limits this access is not imported: {acl}"
    return Problem(location, message, "not-imported", Level.WARNING)


def _read_file(reader: TopicReader, format_name: str | None) -> TopicReader:
    source = reader.source
    if format_name:
        source_format: SourceFormat | None = FORMATS[format_name]
    else:
        source_format = next((module for module in FORMATS.values() if module.recognises(source)), None)
    if source_format is None or (format_name and not source_format.recognises(source)):
        _report_unrecognised(reader, format_name)
    else:
        source_format.read(reader)
        found = reader.topics or reader.problems or reader.excluded or reader.auxiliary or reader.access
        if not found and not reader.subjects:
            internal = any("internal topics of Kafka" in note.message for note in reader.notes())
            what = "only Kafka's internal topics" if internal else "no topic"
            reader.add_problem(Location(source.file), f"this file declares {what}; do not import it", "empty")
    return reader


def _report_unrecognised(reader: TopicReader, format_name: str | None) -> None:
    source = reader.source
    if source.file.endswith((".tf", ".tofu")) or _HCL.search(source.text):
        message = "this is Terraform configuration (HCL); pass the state instead: `terraform show -json`"
        reader.add_problem(Location(source.file), message, "value")
    elif not format_name and source.problems:
        reader.problems += source.problems
    elif unsupported := unsupported_message(source):
        reader.add_problem(Location(source.file), unsupported, "value")
    else:
        formats = f"the format {format_name}" if format_name else f"one of the formats {', '.join(FORMATS)}"
        message = f"expected topics in {formats}, got none; select the format with --from-format"
        reader.add_problem(Location(source.file), message, "value")


def _add_access(access: dict[str, Any], locations: dict[AccessKey, Location], reader: TopicReader) -> Iterator[Problem]:
    """Add the access of one file; yield a problem for each entry that another file declares with other values."""
    for entry, location in reader.access_locations.items():
        part, key = entry
        yield from add_entry(access, locations, entry, reader.access[part][key], location)


def _add_subjects(subjects: dict[str, ConvertedSubject], found: Sequence[ConvertedSubject]) -> list[Problem]:
    """Add the subjects of one file; return a problem for each one that another schema has already been read for."""
    problems = []
    for subject in found:
        first = subjects.setdefault(subject.name, subject)
        if (first.schema, first.compatibility) != (subject.schema, subject.compatibility) and subject.location:
            message = f"the subject {subject.name} is declared twice, first at {first.location}; keep one"
            problems.append(Problem(subject.location, message, "subject-twice"))
    return problems


def _duplicate(converted: ConvertedTopic, first: ConvertedTopic) -> Problem:
    name, first_name = converted.topic.name, first.topic.name
    if name == first_name:
        return Problem(
            converted.location, f"{name} is declared twice, first at {first.location}; keep one", "topic-twice"
        )
    message = (
        f"{name} and {first_name} ({first.location}) have the same name in Kafka's metrics, so Kafka rejects the "
        "second; rename one"
    )
    return Problem(converted.location, message, "topic-collision")


_DEPLOYED: Final = "; `topicwarden import --stack STACK` writes the topics that are on the cluster"
_KINDS: Final = {
    ("aiven.io/", "KafkaTopic"): "a topic of Aiven's operator, which has settings of its own",
    ("kafka.banzaicloud.io/", "KafkaTopic"): "a topic of Koperator (Banzai Cloud)",
    ("kafka/", "Topic"): "a topic of Conduktor",
    ("console/", ""): "a resource of Conduktor's console",
    ("self-serve/", ""): "a resource of Conduktor's self-service",
}
"""By the beginning of ``apiVersion``, and by ``kind`` (empty: any)."""
_KEYS: Final = {
    "dataContractSpecification": "a data contract of the Data Contract Specification, which ended in favour of ODCS; "
    "`datacontract export --format odcs` converts it",
}


def unsupported_message(source: SourceFile) -> str | None:
    """Return what the first document of ``source`` is and what to do instead of its import; None if it is unknown."""
    value: Any = source.documents[0].value if source.documents else None
    if not isinstance(value, dict):
        return None
    for key, what in _KEYS.items():
        if key in value:
            return f"this is {what}"
    version, kind = str(value.get("apiVersion", "")), value.get("kind")
    for (prefix, of_kind), what in _KINDS.items():
        if version.startswith(prefix) and kind is not None and of_kind in ("", kind):
            return f"this is {what}, and is not converted{_DEPLOYED}"
    return None
