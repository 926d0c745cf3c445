"""Topics to the YAML files that a person would have written: the other way of the loader."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from topicwarden.model.problem import Refusal
from topicwarden.model.topic import Topic
from topicwarden.specs.document_model import DefaultsSpec, TopicDocument
from topicwarden.specs.load import LoadedSpecs, LoadedTopic
from topicwarden.specs.resolve import resolve
from topicwarden.specs.spec_files import DEFAULTS
from topicwarden.specs.topic_names import metric_name, name_problem
from topicwarden.specs.validated_document import ValidatedDocument, validate
from topicwarden.specs.write.folders import Folder, file_name, folders
from topicwarden.specs.write.shared_defaults import divide, leaves
from topicwarden.specs.write.topic_file import defaults_text, topic_text
from topicwarden.specs.write.yaml_values import setting
from topicwarden.specs.yaml_nodes import read_documents

__all__ = ["ImportDraft", "NewFile", "draft"]


@dataclass(frozen=True)
class NewFile:
    """A file that is to be: its path below ``topics/`` with slashes, its text, and the topic, None for defaults."""

    path: str
    text: str
    topic: str | None


@dataclass(frozen=True)
class ImportDraft:
    """The new files, in the order in which they come into being, and why other topics cannot be declared, by name."""

    files: tuple[NewFile, ...]
    refused: Mapping[str, str]


def draft(
    topics: Sequence[Topic],
    loaded: LoadedSpecs,
    stack: str | None,
    taken: Collection[str],
    schema: str | None = None,
    *,
    comments: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> ImportDraft:
    """Files that declare ``topics`` exactly as they are on ``stack``, beside what is ``loaded``, and change none of it.

    ``taken`` are the paths below ``topics/`` that there are; ``schema`` is the path of the JSON Schema from the
    project's root, for the files' first line. A topic's ``config`` holds what is set on the topic itself.
    """
    metrics = {metric_name(held.name): held.name for held in loaded.topics}
    refused = {topic.name: why for topic in topics if (why := _refused(topic, metrics))}
    writable = sorted((topic for topic in topics if topic.name not in refused), key=lambda topic: topic.name)
    places = folders([topic.name for topic in writable], {held.name: held.folder for held in loaded.topics})
    divided = divide({topic.name: (places[topic.name], leaves(topic)) for topic in writable}, loaded, stack)
    files: list[NewFile] = []
    for folder, common in divided.defaults.items():
        owned = any(("owner",) in sheet.common for sheet in _above(folder, loaded)) or not folder
        path = "/".join((*folder, DEFAULTS))
        files.append(NewFile(path, _head(schema, folder) + defaults_text(common, owned), None))
    used = {path.lower() for path in (*taken, *(file.path for file in files))}
    for topic in writable:
        folder, own, on_stack = places[topic.name], divided.own[topic.name], divided.on_stack[topic.name]
        path, named = file_name(topic.name, folder, used)
        used.add(path.lower())
        about = {key: text for key, text in (("description", topic.description), ("owner", topic.owner)) if text}
        name = topic.name if named or not (own or on_stack or about) else None
        text = topic_text(name, about, own, {stack: on_stack} if stack and on_stack else {})
        files.append(NewFile(path, _head(schema, folder) + _comments(comments.get(topic.name, ())) + text, topic.name))
    _read_back(files, {topic.name: topic for topic in writable}, loaded, stack)
    return ImportDraft(tuple(files), refused)


def _refused(topic: Topic, metrics: Mapping[str, str]) -> str | None:
    """Why no YAML can declare the topic; ``metrics`` are the names of declared ones by Kafka's metrics."""
    if problem := name_problem(topic.name):
        return problem
    if other := metrics.get(metric_name(topic.name)):
        return f"{other} is declared, and one name with it in Kafka's metrics"
    for name, value in topic.config.items():
        try:
            setting(name, value)
        except ValueError as error:
            return str(error)
    return None


def _head(schema: str | None, folder: Folder) -> str:
    return f"# yaml-language-server: $schema={'../' * (len(folder) + 1)}{schema}\n" if schema else ""


def _comments(lines: Sequence[str]) -> str:
    return "".join(f"# {line}\n" for line in lines)


def _above(folder: Folder, loaded: LoadedSpecs) -> list[ValidatedDocument]:
    held = [loaded.defaults.get(folder[:length]) for length in range(len(folder) + 1)]
    return [sheet for sheet in held if sheet is not None]


def _read_back(files: Sequence[NewFile], wanted: Mapping[str, Topic], loaded: LoadedSpecs, stack: str | None) -> None:
    """Refuses files that the loader would not read as exactly what is wanted, or that change a declared topic."""
    topics, defaults = list(loaded.topics), dict(loaded.defaults)
    for file in files:
        *folder, _ = file.path.split("/")
        documents, problems = read_documents(file.text.encode(), file.path)
        shape = TopicDocument if file.topic else DefaultsSpec
        sheet, more = validate(documents[0], shape, loaded.stacks) if documents else (None, [])
        if sheet is None:
            raise Refusal(f"topics/{file.path} would not be read back: {[*problems, *more]}; report this, please")
        if file.topic:
            topics.append(LoadedTopic(file.topic, tuple(folder), sheet))
        else:
            defaults[tuple(folder)] = sheet
    after = replace(loaded, topics=tuple(topics), defaults=defaults)
    for name in {stack, *loaded.stacks}:
        was = {held.topic.name: held.topic for held in resolve(loaded, name).declarations}
        now = {held.topic.name: held.topic for held in resolve(after, name).declarations}
        expected = {**was, **(wanted if name == stack else {})}
        for topic, one in expected.items():
            if topic not in now or leaves(now[topic]) != leaves(one):
                raise Refusal(f"{topic} would not be read back as it is on stack {name}; report this, please")
