"""``KAFKA_CREATE_TOPICS`` of the Docker images: ``name:partitions:replicas[:cleanup.policy]``, by comma or line.

The file is YAML with the variable (Compose, Kubernetes), any other text that assigns it (``.env``, ``Dockerfile``), or
the bare string. The images split it at ``KAFKA_CREATE_TOPICS_SEPARATOR`` (``create-topics.sh`` of wurstmeister/kafka).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from topicwarden.model.problem import Location
from topicwarden.specs.convert.source_file import SourceFile
from topicwarden.specs.convert.topic_reader import COMMENTED, TopicReader, TopicValues
from topicwarden.specs.convert.unread_fields import UnreadFields
from topicwarden.specs.message_text import seen
from topicwarden.specs.yaml_nodes import KeyPath

Place: TypeAlias = Callable[[int, str], Location]
"""The place of an entry in the file, from its offset in the value and its text."""

_NAME: Final = "KAFKA_CREATE_TOPICS"
_SEPARATOR: Final = f"{_NAME}_SEPARATOR"
_ASSIGNED: Final = re.compile(rf"\b{_NAME}[\"']?[ \t]*[:=][ \t]*|\bname[\"']?[ \t]*:[ \t]*[\"']?{_NAME}\b")
_ITEM: Final = re.compile(rf"({_SEPARATOR}|{_NAME})=")
_VALUE: Final = re.compile(
    r"\"[^\"]*\"?|'[^']*'?|(?:[,\\][ \t]*\r?\n(?=[ \t]*[\w.-]+:[0-9])|[^\r\n\"'#]|(?<!\s)#)*", re.ASCII
)
"""What a shell, a Dockerfile or a ``.env`` file assigns: in quotes, or a line and those that continue it."""
_COMMENT: Final = re.compile(r"\s*#|.*\s#")
_BLOCK: Final = re.compile(r"\s*(?:[|>][-+0-9]*)?\s*")
_EXPORT: Final = re.compile(r"\s*(?:(?:export|ENV|ARG|-e|--env)\s+)?")
_POLICY: Final = re.compile(r"\s*,\s*(compact|delete)(?![^\s,\"'])")
_BARE: Final = re.compile(r"\s*[\w.-]+:[0-9]+:[0-9]+(:[\w]+)?\s*([,\n]|$)")
_SEPARATORS: Final = re.compile(r"(?:\$*['\"])?(\\n|[\s,;|]*)['\"]?")


def recognises(source: SourceFile) -> bool:
    return bool(_ASSIGNED.search(source.text) or _BARE.match(source.text))


def read(reading: TopicReader) -> None:
    source = reading.source
    named = source.file.lower().endswith((".yaml", ".yml", ".json"))
    if named or (not source.syntax and any(isinstance(one.value, (dict, list)) for one in source.documents)):
        _yaml(reading)
    else:
        _text(reading)


def _yaml(reading: TopicReader) -> None:
    documents = reading.documents()
    merges = [problem for problem in reading.problems if problem.rule == "yaml-merge"]
    reading.problems = [problem for problem in reading.problems if problem not in merges]
    for merge in merges:
        # What is merged is mostly an alias, of something that is read where it is written.
        reading.note(merge.location, "<<", "merge keys are not followed")
    places: set[Location] = set()
    for fields in documents:
        for path, value, separators in _variables(fields, reading):
            place = fields.document.at(path)
            if place in places:
                # An alias repeats a value at its place.
                continue
            places.add(place)
            if isinstance(value, str):
                _topics(value, separators, _finder(reading.source, place), reading)
            else:
                reading.wrong(place, f"{_NAME}: expected text, seen {seen(value)}", "type")


def _variables(fields: UnreadFields, reading: TopicReader) -> Iterator[tuple[KeyPath, Any, str]]:
    """Yield where a document sets the variable, its value, and the separators that are set beside it."""
    for path, value in _collections(fields.document.value, ()):
        items: dict[str, tuple[KeyPath, Any]] = {}
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            where, assigned = (*path, key), _ITEM.match(item) if isinstance(item, str) else None
            if key in (_NAME, _SEPARATOR):
                items[key] = (where, item)
            elif assigned:
                items[assigned[1]] = (where, item[assigned.end() :])
            elif isinstance(item, dict) and item.get("name") in (_NAME, _SEPARATOR) and "value" in item:
                fields.take((*where, "name"))
                items[item["name"]] = ((*where, "value"), item["value"])
            elif isinstance(item, str) and _ASSIGNED.search(item):
                message = f"{_NAME} is in the middle of a longer text; make it a key, or give the text as a file"
                reading.wrong(fields.document.at(where), message, "value")
        for where, _ in items.values():
            fields.take(where)
        where, text = items.get(_SEPARATOR, ((), ""))
        separators = _SEPARATORS.fullmatch(text) if isinstance(text, str) else None
        if separators is None:
            message = f"{_SEPARATOR}: expected a comma, semicolon, bar or blank, seen {seen(text)}"
            reading.wrong(fields.document.at(where), message, "value")
        elif _NAME in items:
            yield *items[_NAME], separators[1].replace("\\n", "\n")


def _collections(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """Yield every mapping and list of a document."""
    if isinstance(value, (dict, list)):
        yield path, value
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _collections(item, (*path, key))


def _finder(source: SourceFile, place: Location) -> Place:
    """Find entries one after the other in YAML, where quotes, folding and indentation move them."""
    at = source.offset(place)

    def find(_: int, entry: str) -> Location:
        nonlocal at
        found = source.text.find(entry.partition(":")[0].strip() + ":", at)
        at = found if found >= 0 else at
        return source.location(at)

    return find


def _text(reading: TopicReader) -> None:
    source, text = reading.source, reading.text(shown=False)
    assigned = list(_ASSIGNED.finditer(source.text))
    if not assigned:
        text.claim(0, len(source.text))
        _topics(source.text, "", lambda offset, _: source.location(offset), reading)
    for match in assigned:
        line = source.text.rfind("\n", 0, match.start()) + 1
        before = source.text[line : match.start()]
        if _COMMENT.match(before):
            text.claim(line, (source.text + "\n").index("\n", line))
            reading.note(source.location(match.start()), _NAME, COMMENTED)
        elif value := _VALUE.match(source.text, match.end()):
            text.claim(line if _EXPORT.fullmatch(before) else match.start(), value.end())
            quotes = 1 if value[0][:1] in ("'", '"') else 0
            start = value.start() + quotes
            written = source.text[start : value.end() - quotes]
            if _BLOCK.fullmatch(written):
                message = "expected the topics on this line; give a block of YAML as a file of its own"
                reading.wrong(source.location(match.start()), message, "value")
            _topics(written, "", _shifted(source, start), reading)


def _shifted(source: SourceFile, start: int) -> Place:
    return lambda offset, _: source.location(start + offset)


def _topics(text: str, separators: str, place: Place, reading: TopicReader) -> None:
    for offset, entry in _entries(text, separators):
        _topic(entry, place(offset, entry), reading)


def _topic(entry: str, place: Location, reading: TopicReader) -> None:
    parts = [part.strip() for part in entry.split(":")]
    if len(parts) not in (3, 4):
        message = f"expected name:partitions:replicas[:cleanup.policy], seen {entry}"
        reading.wrong(place, message, "value")
        return
    name, partitions, replicas, *policy = parts
    config = {"cleanup.policy": (policy[0], place, place)} if policy and policy[0] else {}
    counts = {"partitions": (partitions, place), "replication factor": (replicas, place)}
    reading.topic(TopicValues((name, place), counts, config))


def _entries(text: str, separators: str) -> Iterator[tuple[int, str]]:
    """Yield each entry and where it begins; a policy after a comma belongs to the entry before it."""
    stops = re.compile(f"[{re.escape(separators or ',')}\n]")
    at = 0
    while found := re.compile(r"[^\s,;|\\]").search(text, at):
        at = found.start()
        stop = stops.search(text, at)
        close = stop.start() if stop else len(text)
        while (more := _POLICY.match(text, close)) and text.count(":", at, close) == 3:
            close = more.end()
        yield at, text[at:close].strip(" \t\r\n\\")
        at = close
