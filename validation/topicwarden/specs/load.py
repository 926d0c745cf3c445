"""``topics/`` to validated documents: every file is read once, whatever the number of stacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from topicwarden.model.problem import Level, Location, Problem
from topicwarden.specs.document_model import ConfigSpec, DefaultsSpec, TopicDocument
from topicwarden.specs.message_text import quoted
from topicwarden.specs.spec_files import DEFAULTS, SpecFile, read_files
from topicwarden.specs.topic_names import metric_name, name_problem
from topicwarden.specs.validated_document import ValidatedDocument, foreign, validate
from topicwarden.specs.yaml_nodes import YamlFile, read_documents


@dataclass(frozen=True)
class LoadedTopic:
    """A topic's name, the folders below ``topics/`` that its file lies in, and its document."""

    name: str
    folder: tuple[str, ...]
    sheet: ValidatedDocument


@dataclass(frozen=True)
class LoadedSpecs:
    """All that ``topics/`` says. Documents with problems are not among ``topics``.

    ``defaults`` has a folder's ``_defaults.yaml``, None where it is broken. ``stacks`` are those of the project.
    """

    topics: tuple[LoadedTopic, ...]
    defaults: Mapping[tuple[str, ...], ValidatedDocument | None]
    stacks: tuple[str, ...]
    problems: tuple[Problem, ...]


def load(
    topics_dir: Path,
    root: Path,
    stacks: Sequence[str],
    paths: Sequence[Path] = (),
    unwritten: Sequence[SpecFile] = (),
) -> LoadedSpecs:
    """Read every YAML file below ``topics_dir``; ``stacks`` are the stacks that exist.

    With ``paths``, only these files and folders are read, and the ``_defaults.yaml`` that hold there. ``unwritten``
    are files to read as if they were on disk.
    Locations are relative to ``root``. What is wrong is in ``problems``, all of it; nothing is raised.
    """
    loading = _Loading(tuple(stacks))
    for found in (*read_files(topics_dir, root, paths), *unwritten):
        if isinstance(found, Problem):
            loading.problems.append(found)
        else:
            loading.read(found)
    return LoadedSpecs(tuple(loading.topics), loading.defaults, loading.stacks, tuple(sorted(set(loading.problems))))


class _Loading:
    def __init__(self, stacks: tuple[str, ...]) -> None:
        self.stacks = stacks
        self.topics: list[LoadedTopic] = []
        self.defaults: dict[tuple[str, ...], ValidatedDocument | None] = {}
        self.problems: list[Problem] = []
        self._names: dict[str, tuple[str, Location]] = {}
        self._cases: dict[str, tuple[str, Location]] = {}

    def read(self, spec: SpecFile) -> None:
        documents, problems = read_documents(spec.data, spec.file)
        self.problems += problems
        if spec.defaults:
            self._defaults(spec, documents, bool(problems))
        elif documents:
            for document in documents:
                self._topic(spec, document, alone=len(documents) == 1)
        elif not problems:
            message = "this file declares no topic; write one, or delete the file"
            self.problems.append(Problem(Location(spec.file), message, "empty"))

    def _defaults(self, spec: SpecFile, documents: list[YamlFile], broken: bool) -> None:
        if len(documents) > 1:
            message = f"expected one document in {DEFAULTS}, seen {len(documents)}; make them one"
            self.problems.append(Problem(documents[1].at(()), message, "document-extra"))
            broken = True
        sheets = [self._sheet(document, DefaultsSpec) for document in documents]
        if broken or None in sheets:
            self.defaults[spec.folder] = None
        elif sheets:
            self.defaults[spec.folder] = sheets[0]

    def _topic(self, spec: SpecFile, document: YamlFile, alone: bool) -> None:
        sheet = self._sheet(document, TopicDocument)
        if foreign(document.value):
            return
        name = self._name(spec, document, alone)
        if name is not None and self._first(name, document) and sheet is not None:
            self.topics.append(LoadedTopic(name, spec.folder, sheet))

    def _sheet(self, document: YamlFile, shape: type[ConfigSpec]) -> ValidatedDocument | None:
        sheet, problems = validate(document, shape, self.stacks)
        self.problems += [*problems, *document.warnings]
        return sheet

    def _name(self, spec: SpecFile, document: YamlFile, alone: bool) -> str | None:
        """The name that is written, or the file's; None where neither will do (the shape reports a written one)."""
        value = document.value
        written = value.get("topic") if isinstance(value, dict) else None
        if written is not None or not isinstance(value, dict):
            return written if isinstance(written, str) and not name_problem(written) else None
        message, rule = name_problem(spec.stem), "topic-name"
        if not alone:
            message, rule = "expected a topic in every document of a file of several; write topic: NAME", "missing"
        elif spec.stem.startswith("_"):
            message = f"expected {DEFAULTS}, seen {quoted(spec.stem + '.yaml')}; rename it, or write a topic: key"
        elif message:
            message += "; the file's name is the topic's unless it says topic: NAME"
        if message:
            self.problems.append(Problem(document.at(()), message, rule))
            return None
        return spec.stem

    def _first(self, name: str, document: YamlFile) -> bool:
        place = document.at(("topic",))
        first, where = self._names.setdefault(metric_name(name), (name, place))
        if where == place:
            self._case(name, place)
            return True
        if first == name:
            message, rule = f"the topic {name} is declared twice, first at {where}; keep one", "topic-twice"
        else:
            message = f"{name} and {first} ({where}) are one name in Kafka's metrics, so Kafka refuses it; rename one"
            rule = "topic-collision"
        self.problems.append(Problem(place, message, rule))
        return False

    def _case(self, name: str, place: Location) -> None:
        # Kafka takes both; people, case-insensitive disks of brokers and some metric stores mix them up.
        first, where = self._cases.setdefault(metric_name(name).lower(), (name, place))
        if where != place:
            message = f"{name} and {first} ({where}) differ in upper and lower case only; rename one"
            self.problems.append(Problem(place, message, "topic-case", Level.WARNING))
