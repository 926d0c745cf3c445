"""Read ``KAFKA_CREATE_TOPICS`` of Docker images: ``name:partitions:replicas[:cleanup.policy]``, by comma or line.

The file is YAML with the variable (Compose, Kubernetes), other text that assigns it (``.env``, ``Dockerfile``), or only
the value. The images split it at ``KAFKA_CREATE_TOPICS_SEPARATOR`` (``create-topics.sh`` of wurstmeister/kafka).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from topicwarden.extensions.interchange.convert.source_file import SourceFile, UnreadFields, shown_value
from topicwarden.extensions.interchange.convert.topic_reader import COMMENTED_OUT, TopicReader
from topicwarden.extensions.interchange.convert.topic_values import TopicValues, add_topic
from topicwarden.model.message_text import counted
from topicwarden.model.problem import Location
from topicwarden.specs.yaml_nodes import KeyPath

Locate: TypeAlias = Callable[[int, str], Location]
"""Returns the location of an entry in the file, from its offset in the value and its text."""

_NAME: Final = "KAFKA_CREATE_TOPICS"
_SEPARATOR: Final = f"{_NAME}_SEPARATOR"
_ASSIGNED: Final = re.compile(rf"\b{_NAME}[\"']?[ \t]*[:=][ \t]*|\bname[\"']?[ \t]*:[ \t]*[\"']?{_NAME}\b")
_ITEM: Final = re.compile(rf"({_SEPARATOR}|{_NAME})=")
_VALUE: Final = re.compile(
    r"\"[^\"]*\"?|'[^']*'?|(?:[,\\][ \t]*\r?\n(?=[ \t]*[\w.-]+:[0-9])|[^\r\n\"'#]|(?<!\s)#)*", re.ASCII
)
"""The value in a shell script, a Dockerfile or a ``.env`` file: quoted, or a line with its continuation lines."""
_COMMENT: Final = re.compile(r"\s*#|.*\s#")
_BLOCK_SCALAR: Final = re.compile(r"\s*(?:[|>][-+0-9]*)?\s*")
_EXPORT: Final = re.compile(r"\s*(?:(?:export|ENV|ARG|-e|--env)\s+)?")
_POLICY: Final = re.compile(r"\s*,\s*(compact|delete)(?![^\s,\"'])")
_BARE_LIST: Final = re.compile(r"\s*[\w.-]+:[0-9]+:[0-9]+(:[\w]+)?\s*([,\n]|$)")
_SEPARATORS: Final = re.compile(r"(?:\$*['\"])?(\\n|[\s,;|]*)['\"]?")


def recognises(source: SourceFile) -> bool:
    return bool(_ASSIGNED.search(source.text) or _BARE_LIST.match(source.text))


def read(reader: TopicReader) -> None:
    source = reader.source
    is_yaml = source.file.lower().endswith((".yaml", ".yml", ".json"))
    if is_yaml or (
        not source.syntax and any(isinstance(document.value, (dict, list)) for document in source.documents)
    ):
        _yaml(reader)
    else:
        _text(reader)


def _yaml(reader: TopicReader) -> None:
    documents = reader.documents()
    merges = [problem for problem in reader.problems if problem.rule == "yaml-merge"]
    reader.problems = [problem for problem in reader.problems if problem not in merges]
    for merge in merges:
        # A merge key usually refers to an anchor, and the value at the anchor is read anyway.
        reader.note(merge.location, "<<", "merge keys are not followed")
    locations: set[Location] = set()
    for fields in documents:
        for path, value, separators in _variables(fields, reader):
            location = fields.document.at(path)
            if location in locations:
                # An alias repeats a value with the same location.
                continue
            locations.add(location)
            if isinstance(value, str):
                _topics(value, separators, _search_locator(reader.source, location), reader)
            else:
                reader.add_problem(location, f"{_NAME}: expected text, got {shown_value(value)}", "type")


def _variables(fields: UnreadFields, reader: TopicReader) -> Iterator[tuple[KeyPath, Any, str]]:
    """Yield the path and the value of each assignment of the variable, and the separators set next to it."""
    for path, value in _collections(fields.document.value, ()):
        items: dict[str, tuple[KeyPath, Any]] = {}
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            item_path, assigned = (*path, key), _ITEM.match(item) if isinstance(item, str) else None
            if key in (_NAME, _SEPARATOR):
                items[key] = (item_path, item)
            elif assigned:
                items[assigned[1]] = (item_path, item[assigned.end() :])
            elif isinstance(item, dict) and item.get("name") in (_NAME, _SEPARATOR) and "value" in item:
                fields.take((*item_path, "name"))
                items[item["name"]] = ((*item_path, "value"), item["value"])
            elif isinstance(item, str) and _ASSIGNED.search(item):
                message = f"{_NAME} is inside a longer text; make it a key, or import the text as a file of its own"
                reader.add_problem(fields.document.at(item_path), message, "value")
        for item_path, _ in items.values():
            fields.take(item_path)
        item_path, text = items.get(_SEPARATOR, ((), ""))
        separators = _SEPARATORS.fullmatch(text) if isinstance(text, str) else None
        if separators is None:
            message = f"{_SEPARATOR}: expected a comma, semicolon, vertical bar or space, got {shown_value(text)}"
            reader.add_problem(fields.document.at(item_path), message, "value")
        elif _NAME in items:
            yield *items[_NAME], separators[1].replace("\\n", "\n")


def _collections(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """Yield every mapping and list of a document, with its path."""
    if isinstance(value, (dict, list)):
        yield path, value
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _collections(item, (*path, key))


def _search_locator(source: SourceFile, location: Location) -> Locate:
    """Return a function that locates entries by searching for them, each after the previous one.

    Offsets in a YAML value differ from those in the file, because of quotes, folding and indentation.
    """
    position = source.offset(location)

    def find(_: int, entry: str) -> Location:
        nonlocal position
        found = source.text.find(entry.partition(":")[0].strip() + ":", position)
        position = found if found >= 0 else position
        return source.location(position)

    return find


def _text(reader: TopicReader) -> None:
    source, text = reader.source, reader.text()
    assigned = list(_ASSIGNED.finditer(source.text))
    if not assigned:
        text.take_range(0, len(source.text))
        _topics(source.text, "", lambda offset, _: source.location(offset), reader)
    for match in assigned:
        line = source.text.rfind("\n", 0, match.start()) + 1
        line_start = source.text[line : match.start()]
        if _COMMENT.match(line_start):
            text.take_range(line, (source.text + "\n").index("\n", line))
            reader.note(source.location(match.start()), _NAME, COMMENTED_OUT)
        elif value := _VALUE.match(source.text, match.end()):
            text.take_range(line if _EXPORT.fullmatch(line_start) else match.start(), value.end())
            quotes = 1 if value[0][:1] in ("'", '"') else 0
            start = value.start() + quotes
            written = source.text[start : value.end() - quotes]
            if _BLOCK_SCALAR.fullmatch(written):
                message = "expected the topics on this line; import a YAML block as a file of its own"
                reader.add_problem(source.location(match.start()), message, "value")
            _topics(written, "", _offset_locator(source, start), reader)


def _offset_locator(source: SourceFile, start: int) -> Locate:
    return lambda offset, _: source.location(start + offset)


def _topics(text: str, separators: str, locate: Locate, reader: TopicReader) -> None:
    for offset, entry in _entries(text, separators):
        _topic(entry, locate(offset, entry), reader)


def _topic(entry: str, location: Location, reader: TopicReader) -> None:
    parts = [part.strip() for part in entry.split(":")]
    if len(parts) not in (3, 4):
        message = f"expected name:partitions:replicas[:cleanup.policy], got {counted(len(parts), 'part')}"
        reader.add_problem(location, message, "value")
        return
    if "=" in entry:  # of another line, whose text may be a secret
        message = "expected name:partitions:replicas[:cleanup.policy], got an equals sign; is a line break missing?"
        reader.add_problem(location, message, "value")
        return
    name, partitions, replicas, *policy = parts
    config = {"cleanup.policy": (policy[0], location, location)} if policy and policy[0] else {}
    counts = {"partitions": (partitions, location), "replication factor": (replicas, location)}
    add_topic(reader, TopicValues((name, location), counts, config))


def _entries(text: str, separators: str) -> Iterator[tuple[int, str]]:
    """Yield the offset and the text of each entry. A policy after a comma belongs to the entry before it."""
    separator = re.compile(f"[{re.escape(separators or ',')}\n]")
    end = 0
    while first_character := re.compile(r"[^\s,;|\\]").search(text, end):
        start = first_character.start()
        match = separator.search(text, start)
        end = match.start() if match else len(text)
        while (policy := _POLICY.match(text, end)) and text.count(":", start, end) == 3:
            end = policy.end()
        yield start, text[start:end].strip(" \t\r\n\\")
