"""Load ``topics/`` and ``subjects/``: read every file once, for all stacks, and validate its documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from topicwarden.kafka_facts.topic_names import metric_name, name_problem
from topicwarden.kinds.subject.spec import SubjectDocument
from topicwarden.model.message_text import quoted
from topicwarden.model.problem import MOST_PROBLEMS, Level, Location, Problem, limited
from topicwarden.specs.document_model import AccessDocument, CommonSettings, DefaultsSpec, TopicDocument
from topicwarden.specs.spec_files import DEFAULTS, SpecFile, read_files
from topicwarden.specs.validated_document import ValidatedDocument, other_tool_message, validate
from topicwarden.specs.yaml_nodes import ParsedDocument, read_documents


@dataclass(frozen=True)
class LoadedTopic:
    """A topic's name, the folders of its file below ``topics/``, and its validated document."""

    name: str
    folder: tuple[str, ...]
    document: ValidatedDocument


@dataclass(frozen=True)
class LoadedSpecs:
    """The content of ``topics/``. Topics whose document has problems are not in ``topics``.

    ``defaults`` has the ``_defaults.yaml`` of each folder, None if it is invalid. ``stacks`` are the project's stacks.
    """

    topics: tuple[LoadedTopic, ...]
    defaults: Mapping[tuple[str, ...], ValidatedDocument | None]
    stacks: tuple[str, ...]
    problems: tuple[Problem, ...]

    def defaults_of(self, folder: tuple[str, ...]) -> list[ValidatedDocument]:
        """Return the valid defaults that apply to ``folder``, the outermost first."""
        return [document for each in with_parents(folder) if (document := self.defaults.get(each)) is not None]


def with_parents(folder: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the folders whose defaults apply to ``folder``: the outermost, ``()``, first, and itself last."""
    return [folder[:length] for length in range(len(folder) + 1)]


@dataclass(frozen=True)
class LoadedDocuments:
    """The content of ``access/`` or ``subjects/``. Documents with problems are not in ``documents``."""

    documents: tuple[ValidatedDocument, ...] = ()
    problems: tuple[Problem, ...] = ()


def load_documents(
    folder: Path,
    root: Path,
    stacks: Sequence[str],
    model: type[AccessDocument] | type[SubjectDocument],
    content: str,
    *,
    unwritten: Sequence[SpecFile] = (),
) -> LoadedDocuments:
    """Read every YAML file below ``folder``; a missing folder is empty. ``stacks`` are the project's stacks.

    ``content`` is what a file declares, for messages. ``unwritten`` are files to load as if they were on disk. All
    errors of all files are in ``problems``; nothing is raised. Locations are relative to ``root``.
    """
    documents: list[ValidatedDocument] = []
    problems: list[Problem] = []
    for file in (*read_files(folder, root), *unwritten):
        if isinstance(file, Problem):
            problems.append(file)
            continue
        if file.defaults:
            message = (
                f"{DEFAULTS} has no meaning below {folder.name}/, because no two files there share a setting; rename it"
            )
            problems.append(Problem(Location(file.file), message, "file-name"))
            continue
        parsed, errors = read_documents(file.data, file.file)
        problems += errors
        if not parsed and not errors:
            message = f"this file declares no {content}; add some, or delete it"
            problems.append(Problem(Location(file.file), message, "empty"))
        for document in parsed:
            validated, errors = validate(document, model, stacks)
            problems += [*errors, *document.warnings]
            if validated is not None:
                documents.append(validated)
    return LoadedDocuments(tuple(documents), tuple(limited(sorted(set(problems)))))


def load_subjects(folder: Path, root: Path, stacks: Sequence[str]) -> LoadedDocuments:
    """Read the files below ``folder``, which declare subjects that are no single topic's; see ``load_documents``.

    Such a file has no defaults. Its section of ``stacks`` for the stack overrides it, as in ``access/``.
    """
    return load_documents(folder, root, stacks, SubjectDocument, "subjects")


def load(
    topics_dir: Path,
    root: Path,
    stacks: Sequence[str],
    paths: Sequence[Path] = (),
    unwritten: Sequence[SpecFile] = (),
) -> LoadedSpecs:
    """Read every YAML file below ``topics_dir``; ``stacks`` are the project's stacks.

    ``paths`` restricts this to these files and folders, with the ``_defaults.yaml`` files that apply to them.
    ``unwritten`` are files to load as if they were on disk. Locations are relative to ``root``. All errors of all
    files are in ``problems``; nothing is raised.
    """
    return load_files((*read_files(topics_dir, root, paths), *unwritten), stacks)


def load_files(files: Iterable[SpecFile | Problem], stacks: Sequence[str]) -> LoadedSpecs:
    """Load files that were read; see ``load``."""
    loader = _Loader(tuple(stacks))
    for spec in files:
        if isinstance(spec, Problem):
            loader.problems.append(spec)
        else:
            loader.read(spec)
    return LoadedSpecs(
        tuple(loader.topics), loader.defaults, loader.stacks, tuple(limited(sorted(set(loader.problems))))
    )


class _Loader:
    """The topics, defaults and problems of the files that were read so far."""

    def __init__(self, stacks: tuple[str, ...]) -> None:
        self.stacks = stacks
        self.topics: list[LoadedTopic] = []
        self.defaults: dict[tuple[str, ...], ValidatedDocument | None] = {}
        self.problems: list[Problem] = []
        self._by_metric_name: dict[str, tuple[str, Location]] = {}
        self._by_lower_name: dict[str, tuple[str, Location]] = {}

    def read(self, spec: SpecFile) -> None:
        documents, problems = read_documents(spec.data, spec.file)
        self.problems += problems
        if spec.defaults:
            self._add_defaults(spec, documents, bool(problems))
        elif documents:
            before = len(self.problems)
            for document in documents:
                self._add_topic(spec, document, only_document=len(documents) == 1)
                if len(self.problems) - before > MOST_PROBLEMS:
                    break  # the rest of the file is not worth the time
        elif not problems:
            message = "this file declares no topic; add a topic, or delete the file"
            self.problems.append(Problem(Location(spec.file), message, "empty"))

    def _add_defaults(self, spec: SpecFile, documents: list[ParsedDocument], broken: bool) -> None:
        if len(documents) > 1:
            message = f"expected one document in {DEFAULTS}, got {len(documents)}; merge them into one"
            self.problems.append(Problem(documents[1].at(()), message, "document-extra"))
            broken = True
        validated = [self._validate(document, DefaultsSpec) for document in documents]
        if broken or None in validated:
            self.defaults[spec.folder] = None
        elif validated:
            self.defaults[spec.folder] = validated[0]

    def _add_topic(self, spec: SpecFile, document: ParsedDocument, only_document: bool) -> None:
        validated = self._validate(document, TopicDocument)
        if other_tool_message(document.value):
            return
        name = self._topic_name(spec, document, only_document)
        if name is not None and self._register(name, document) and validated is not None:
            self.topics.append(LoadedTopic(name, spec.folder, validated))

    def _validate(self, document: ParsedDocument, model: type[CommonSettings]) -> ValidatedDocument | None:
        validated, problems = validate(document, model, self.stacks)
        self.problems += [*problems, *document.warnings]
        return validated

    def _topic_name(self, spec: SpecFile, document: ParsedDocument, only_document: bool) -> str | None:
        """Return the name under ``topic:``, else the file's name; None if it is invalid.

        Reports an invalid file name. Validation already reports an invalid ``topic:``.
        """
        value = document.value
        written = value.get("topic") if isinstance(value, dict) else None
        if written is not None or not isinstance(value, dict):
            return written if isinstance(written, str) and not name_problem(written) else None
        message, rule = name_problem(spec.stem), "topic-name"
        if not only_document:
            message, rule = "missing topic name in a file with several documents; write topic: NAME", "missing"
        elif spec.stem.startswith("_"):
            message = f"expected {DEFAULTS}, got {quoted(spec.stem + '.yaml')}; rename it, or write a topic: key"
        elif message:
            message += "; the file's name is the topic's name, unless the file has topic: NAME"
        if message:
            self.problems.append(Problem(document.at(()), message, rule))
            return None
        return spec.stem

    def _register(self, name: str, document: ParsedDocument) -> bool:
        """Return whether no other topic has this name, or the same name in Kafka's metrics; report it otherwise."""
        location = document.at(("topic",))
        first, first_location = self._by_metric_name.setdefault(metric_name(name), (name, location))
        if first_location == location:
            self._check_case(name, location)
            return True
        if first == name:
            message, rule = f"the topic {name} is declared twice, first at {first_location}; keep one", "topic-twice"
        else:
            message = (
                f"{name} and {first} ({first_location}) have the same name in Kafka's metrics, "
                "so Kafka rejects the second; rename one"
            )
            rule = "topic-collision"
        self.problems.append(Problem(location, message, rule))
        return False

    def _check_case(self, name: str, location: Location) -> None:
        # Kafka accepts both names. People, brokers on case-insensitive disks and some metric stores confuse them.
        first, first_location = self._by_lower_name.setdefault(metric_name(name).lower(), (name, location))
        if first_location != location:
            message = f"{name} and {first} ({first_location}) differ only in upper and lower case; rename one"
            self.problems.append(Problem(location, message, "topic-case", Level.WARNING))
