"""``KAFKA_CREATE_TOPICS`` of the Docker images: ``name:partitions:replicas[:cleanup.policy]``, by comma or line.

The file holds the bare string, an assignment as in a ``.env`` file, or a Compose file with the variable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from topicwarden.specs.foreign.reading import Reading, Values
from topicwarden.specs.foreign.source import Source

_NAME: Final = "KAFKA_CREATE_TOPICS"
_ASSIGNED: Final = re.compile(rf"{_NAME}[\"']?[ \t]*[:=][ \t]*([|>][-+]?[ \t]*\n|\"|')?")
_POLICY: Final = re.compile(r"[ \t]*,[ \t]*(compact|delete)(?![^\s,\"'])")
_BARE: Final = re.compile(r"\s*[\w.-]+:[0-9]+:[0-9]+(:[\w]+)?\s*([,\n]|$)")


def recognises(source: Source) -> bool:
    return bool(_ASSIGNED.search(source.text) or _BARE.match(source.text))


def read(source: Source) -> Reading:
    reading = Reading()
    for start, end in _strings(source.text):
        for offset, entry in _entries(source.text, start, end):
            _topic(source, offset, entry, reading)
    return reading


def _topic(source: Source, offset: int, entry: str, reading: Reading) -> None:
    parts = [part.strip() for part in entry.split(":")]
    place = source.location(offset)
    if len(parts) not in (3, 4):
        message = f"expected name:partitions:replicas[:cleanup.policy], seen {entry.strip()}"
        reading.wrong(place, message, "value")
        return
    name, partitions, replicas, *policy = parts
    config = {"cleanup.policy": (policy[0], place, place)} if policy and policy[0] else {}
    counts = {"partitions": (partitions, place), "replication factor": (replicas, place)}
    reading.topic(Values((name, place), counts, config))


def _strings(text: str) -> Iterator[tuple[int, int]]:
    """Where the strings begin and end: each assignment's, or the whole text where nothing is assigned."""
    assigned = list(_ASSIGNED.finditer(text))
    if not assigned:
        yield 0, len(text)
    for match in assigned:
        opened = match[1] or ""
        if opened in ('"', "'"):
            end = text.find(opened, match.end())
        elif opened:
            end = _block_end(text, match)
        else:
            end = re.compile(r"[\n\"']|\s#|$").search(text, match.end()).start()  # type: ignore[union-attr]
        yield match.end(), len(text) if end < 0 else end


def _block_end(text: str, match: re.Match[str]) -> int:
    """The end of a YAML block scalar: the first line that is indented no deeper than its key."""
    line = text.rfind("\n", 0, match.start()) + 1
    indent = len(text[line:]) - len(text[line:].lstrip(" "))
    for found in re.compile(r"^( *)\S", re.MULTILINE).finditer(text, match.end()):
        if len(found[1]) <= indent:
            return found.start()
    return len(text)


def _entries(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Each entry with its place; a policy after a comma belongs to the entry before it."""
    at = start
    while found := re.compile(r"[^\s,]").search(text, at, end):
        at = found.start()
        stop = re.compile(r"[,\n]").search(text, at, end)
        close = stop.start() if stop else end
        while (more := _POLICY.match(text, close, end)) and text.count(":", at, close) == 3:
            close = more.end()
        yield at, text[at:close]
        at = close
