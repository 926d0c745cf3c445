"""Write live topics as the YAML files that a person would write: the reverse of the loader."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from types import MappingProxyType
from typing import Any, Final

from topicwarden.kafka_facts.topic_names import metric_name, name_problem
from topicwarden.model.contents import Contents
from topicwarden.model.files import fitting_stem
from topicwarden.model.problem import Refusal
from topicwarden.model.topic import Topic
from topicwarden.specs.document_model import DefaultsSpec, TopicDocument
from topicwarden.specs.load import LoadedSpecs, LoadedTopic
from topicwarden.specs.resolve import inherited_access, resolve
from topicwarden.specs.schema_files import SUFFIXES, SchemaText
from topicwarden.specs.spec_files import DEFAULTS
from topicwarden.specs.validated_document import validate
from topicwarden.specs.write.shared_defaults import divide, flat_settings
from topicwarden.specs.write.topic_access import topic_access_lines
from topicwarden.specs.write.topic_file import (
    NO_COMMENTS,
    ContentsComments,
    Folder,
    comment_text,
    contents_lines,
    defaults_text,
    file_name,
    topic_folders,
    topic_text,
)
from topicwarden.specs.write.yaml_values import yaml_setting
from topicwarden.specs.yaml_nodes import read_documents

__all__ = [
    "COUNTS",
    "TOPICS",
    "ContentsComments",
    "ImportDraft",
    "NewFile",
    "contents_lines",
    "draft",
    "explicit_contents",
    "inherited_counts",
]

SCHEMA_FOLDER: Final = "schemas"
TOPICS: Final = "topics"
"""The folder of a project that has the files of topics."""
COUNTS: Final = ("partitions", "replication_factor")
_METADATA: Final = ("description", "owner")


@dataclass(frozen=True)
class NewFile:
    """A file to write: its path below ``folder`` with slashes, its text, and its topic.

    ``topic`` is None for a ``_defaults.yaml``, for a schema, and for a file below ``access/``.
    """

    path: str
    text: str
    topic: str | None
    folder: str = TOPICS

    @property
    def project_path(self) -> str:
        """The path from the project's root."""
        return f"{self.folder}/{self.path}"

    @property
    def is_schema(self) -> bool:
        """True for the schema of keys or values. All other files are YAML."""
        return not self.path.endswith(".yaml")


@dataclass(frozen=True)
class ImportDraft:
    """The new files in the order to write them, and by name, the reason why a topic cannot be declared."""

    files: tuple[NewFile, ...]
    refused: Mapping[str, str]


def draft(
    topics: Sequence[Topic],
    loaded: LoadedSpecs,
    stack: str | None,
    existing_paths: Collection[str],
    schema: str | None = None,
    *,
    comments: Mapping[str, Sequence[str]] = MappingProxyType({}),
    schemas: Mapping[str, Sequence[SchemaText]] = MappingProxyType({}),
    evidence: Mapping[str, ContentsComments] = MappingProxyType({}),
    inherit_access: bool = False,
) -> ImportDraft:
    """Return files that declare ``topics`` exactly as they are on ``stack``, without changing any loaded topic.

    ``existing_paths`` are the paths below ``topics/`` in lower case. ``schema`` is the path of the JSON Schema from the
    project's root, for the first line of each file. By topic, ``comments`` are comment lines, ``schemas`` are the
    schemas that its ``contents`` get, and ``evidence`` are comments about its ``contents``. The ``config`` of a topic
    must have only the settings of the topic itself, not those inherited from the brokers. ``inherit_access``: nothing
    is known of the access of the topics, so they get what ``_defaults.yaml`` files give them.
    """
    by_metric_name = {metric_name(topic.name): topic.name for topic in loaded.topics}
    refused = {topic.name: reason for topic in topics if (reason := _refusal(topic, by_metric_name))}
    new_topics = sorted((topic for topic in topics if topic.name not in refused), key=lambda topic: topic.name)
    declared_folders = {topic.name: topic.folder for topic in loaded.topics}
    new_folders = topic_folders([topic.name for topic in new_topics], declared_folders)
    split = divide({topic.name: (new_folders[topic.name], flat_settings(topic)) for topic in new_topics}, loaded, stack)
    files: list[NewFile] = []
    expected: dict[str, Topic] = {}
    for folder, common in split.defaults.items():
        has_owner = any(("owner",) in document.common for document in loaded.defaults_of(folder)) or not folder
        path = "/".join((*folder, DEFAULTS))
        files.append(NewFile(path, _schema_line(schema, folder) + defaults_text(common, has_owner), None))
    used_paths = {path.lower() for path in (*existing_paths, *(file.path for file in files))}
    for topic in new_topics:
        folder, own, on_stack = new_folders[topic.name], split.own[topic.name], split.on_stack[topic.name]
        path, needs_name = file_name(topic.name, folder, used_paths)
        used_paths.add(path.lower())
        schema_files = [_schema_file(topic.name, part, folder, used_paths) for part in schemas.get(topic.name, ())]
        files += schema_files
        contents = explicit_contents(topic.contents)
        for part, file in zip(schemas.get(topic.name, ()), schema_files, strict=True):
            relative = f"{SCHEMA_FOLDER}/{file.path.rpartition('/')[2]}"
            declared = contents.get(part.part, {})
            before = {key: value for key, value in declared.items() if key == "format"}
            contents[part.part] = {**before, "schema": relative, **declared}
        inherited = inherited_access(loaded, folder, stack)
        access = inherited if inherit_access else topic.access
        expected[topic.name] = replace(topic, contents=Contents.model_validate(contents), access=access)
        metadata = {key: text for key in _METADATA if (text := getattr(topic, key))}
        access_lines = list(topic_access_lines(access, inherited))
        name = topic.name if needs_name or not (own or on_stack or metadata or contents or access_lines) else None
        overrides = {stack: on_stack} if stack and on_stack else {}
        has_stack = len(loaded.stacks) > 1 or inherited != inherited_access(loaded, folder, None)
        text = topic_text(
            name,
            metadata,
            own,
            contents,
            overrides,
            access=access_lines,
            access_stack=stack if has_stack else None,
            comments=evidence.get(topic.name, NO_COMMENTS),
        )
        header = _schema_line(schema, folder) + _comments(comments.get(topic.name, ()))
        files.append(NewFile(path, header + text, topic.name))
    _verify([file for file in files if not file.is_schema], expected, loaded, stack)
    return ImportDraft(tuple(files), refused)


def _refusal(topic: Topic, by_metric_name: Mapping[str, str]) -> str | None:
    """Return the reason why no YAML can declare the topic; None if it can.

    ``by_metric_name`` are the names of the declared topics by their name in Kafka's metrics.
    """
    if problem := name_problem(topic.name):
        return problem
    if declared := by_metric_name.get(metric_name(topic.name)):
        return f"{declared} is already declared and has the same name in Kafka's metrics"
    for name, value in topic.config.items():
        try:
            yaml_setting(name, value)
        except ValueError as error:
            return str(error)
    return None


def inherited_counts(names: Collection[str], loaded: LoadedSpecs) -> dict[str, Mapping[str, int]]:
    """Return the partitions and the replication factor that each new topic would inherit from ``_defaults.yaml``."""
    folders = topic_folders(names, {topic.name: topic.folder for topic in loaded.topics})
    counts: dict[str, Mapping[str, int]] = {}
    for name in names:
        inherited: dict[str, int] = {}
        for document in loaded.defaults_of(folders[name]):
            inherited |= {key: document.common[key,] for key in COUNTS if document.common.get((key,)) is not None}
        counts[name] = inherited
    return counts


def explicit_contents(contents: Contents) -> dict[str, Any]:
    """Return the settings of ``contents`` that differ from the defaults, by their names in YAML."""
    settings: dict[str, Any] = contents.model_dump(by_alias=True, exclude_defaults=True)
    return {part: value for part, value in settings.items() if value}


def _schema_file(topic: str, schema: SchemaText, folder: Folder, used_paths: set[str]) -> NewFile:
    """Return a file for a schema of ``topic``, at a free path, which is added to ``used_paths``."""
    suffix = SUFFIXES[schema.format]
    stem = fitting_stem(f"{topic.lstrip('._') or 'topic'}-{schema.part}", suffix)
    stems = chain([stem], (f"{stem}-{number}" for number in count(2)))
    paths = ("/".join((*folder, SCHEMA_FOLDER, f"{stem}{suffix}")) for stem in stems)
    path = next(path for path in paths if path.lower() not in used_paths)
    used_paths.add(path.lower())
    return NewFile(path, schema.text, None)


def _has_settings(topic: Topic, expected: Topic) -> bool:
    """Return whether ``topic`` has the settings of ``expected``, and maybe more inherited contents."""
    contents = explicit_contents(topic.contents)
    same = flat_settings(topic) == flat_settings(expected)
    return (same and topic.access == expected.access and topic.allow == expected.allow) and all(
        contents.get(part) == value or (isinstance(value, dict) and value == _common(contents.get(part, {}), value))
        for part, value in explicit_contents(expected.contents).items()
    )


def _common(settings: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key in others}


def _schema_line(schema: str | None, folder: Folder) -> str:
    return f"# yaml-language-server: $schema={'../' * (len(folder) + 1)}{schema}\n" if schema else ""


def _comments(lines: Sequence[str]) -> str:
    return "".join(f"# {comment_text(line)}\n" for line in lines)


def _verify(
    files: Sequence[NewFile], expected_topics: Mapping[str, Topic], loaded: LoadedSpecs, stack: str | None
) -> None:
    """Raise Refusal if the loader would not read exactly the expected topics, or if a declared topic would change."""
    topics, defaults = list(loaded.topics), dict(loaded.defaults)
    for file in files:
        *folder, _ = file.path.split("/")
        documents, problems = read_documents(file.text.encode(), file.path)
        model = TopicDocument if file.topic else DefaultsSpec
        document, invalid = validate(documents[0], model, loaded.stacks) if documents else (None, [])
        if document is None:
            raise Refusal(
                f"topics/{file.path} would not be valid: {[*problems, *invalid]}; please report this as a bug"
            )
        if file.topic:
            expected_topic = expected_topics[file.topic]
            if any(document.common.get((key,)) != (getattr(expected_topic, key) or None) for key in _METADATA):
                raise Refusal(
                    f"topics/{file.path} would have another owner or description than {file.topic}; "
                    "please report this as a bug"
                )
            topics.append(LoadedTopic(file.topic, tuple(folder), document))
        else:
            defaults[tuple(folder)] = document
    after = replace(loaded, topics=tuple(topics), defaults=defaults)
    for name in {stack, *loaded.stacks}:
        before = {declaration.topic.name: declaration.topic for declaration in resolve(loaded, name).declarations}
        now = {declaration.topic.name: declaration.topic for declaration in resolve(after, name).declarations}
        expected = {**before, **(expected_topics if name == stack else {})}
        for topic, expected_topic in expected.items():
            if topic not in now or not _has_settings(now[topic], expected_topic):
                where = "all stacks" if name is None else f"stack {name}"
                raise Refusal(f"the new files would change {topic} on {where}; please report this as a bug")
