"""Read the output of ``kafka-topics --describe`` and ``ccloud kafka topic describe``: topics, settings, partitions.

Kafka's ``Configs`` of a topic also include settings from broker properties (``TopicCommand``). ``ccloud`` prints all
effective settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from topicwarden.extensions.interchange.convert.source_file import SourceFile, shown_key
from topicwarden.extensions.interchange.convert.topic_reader import NOT_READ, TopicReader
from topicwarden.extensions.interchange.convert.topic_values import SettingValues, TopicValues, add_topic, not_in_kafka
from topicwarden.kafka_facts import configs
from topicwarden.model.message_text import whole_number
from topicwarden.model.problem import Location

_LABEL: Final = re.compile(
    r"(?:^|(?<=\s))(Partition Count|Replication Factor|Adding Replicas|Removing Replicas|[A-Z][A-Za-z]*): ?"
)
_TOPIC: Final = re.compile(r"\s*Topic:")
_PARTITION: Final = re.compile(r".*\sPartition:")
_WRAPPED: Final = re.compile(rf"(?!\s*(?:Topic:|Configuration\s*$))(?:\s*[\w.,:*/\[\]-]+\s*$|.*=|.*{_LABEL.pattern})")
"""A possible continuation of a topic's line: one word, a setting, or another label."""
_NUMBER: Final = re.compile(r".*=[0-9]+$")
_DIGITS: Final = re.compile(r"\s*[0-9]+\s*$")
_WRAPPED_PARTITION: Final = re.compile(r"(?!\s*Topic:)(?:[0-9,\s]+$|.*[A-Za-z]:)")
"""A possible continuation of a partition's line: broker ids, or another label."""


@dataclass(frozen=True)
class DescribeLine:
    """An unwrapped line. ``pieces`` are the start offsets of its physical lines, in ``text`` and in the file.

    ``end`` is the offset after its last character in the file. ``ambiguous`` is the offset in the file of a line of
    digits alone after a number: the rest of the number, or something else.
    """

    text: str
    pieces: tuple[tuple[int, int], ...]
    end: int
    ambiguous: int | None = None

    @property
    def start(self) -> int:
        return self.pieces[0][1]

    @cached_property
    def labels(self) -> dict[str, tuple[str, int]]:
        """The values by label (without spaces), each with its start offset in ``text``."""
        labels = list(_LABEL.finditer(self.text))
        ends = [*(label.start() for label in labels[1:]), len(self.text)]
        values = zip(labels, ends, strict=False)
        return {label[1].replace(" ", ""): (self.text[label.end() : end].strip(), label.end()) for label, end in values}

    @cached_property
    def cells(self) -> list[str]:
        """The cells of a table row, separated by bars; empty for any other line."""
        return [cell.strip() for cell in self.text.split("|")] if "|" in self.text else []

    def offset(self, index: int) -> int:
        """Return the offset in the file of the character at ``index`` of ``text``."""
        piece_start, start = max(piece for piece in self.pieces if piece[0] <= index)
        return start + index - piece_start


def lines(text: str) -> Iterator[DescribeLine]:
    """Yield every line that is not blank. A line that begins with ``Topic:`` includes its wrapped continuations."""
    line: DescribeLine | None = None
    next_start = 0
    for physical_line in text.splitlines(keepends=True):
        content, start, next_start = physical_line.rstrip("\r\n"), next_start, next_start + len(physical_line)
        if line and "|" not in content and _continues(line.text, content):
            # A line that was wrapped before a label has lost the tab before this label.
            joined = line.text + ("\t" if _LABEL.match(content.lstrip()) else "")
            unclear = start if _NUMBER.match(line.text) and _DIGITS.match(content) else line.ambiguous
            line = DescribeLine(joined + content, (*line.pieces, (len(joined), start)), next_start, unclear)
            continue
        if line:
            yield line
        line = DescribeLine(content, ((0, start),), next_start) if content.strip() else None
    if line:
        yield line


def _continues(line: str, content: str) -> bool:
    """Return whether ``content`` is a continuation of ``line``."""
    if not _TOPIC.match(line):
        return False
    return bool((_WRAPPED_PARTITION if _PARTITION.match(line) else _WRAPPED).match(content))


_COUNTS: Final = {"partitions": "PartitionCount", "replication factor": "ReplicationFactor"}
_HEADER: Final = ("Topic", *_COUNTS.values(), "Configs", "MarkedForDeletion")
_SETTING: Final = re.compile(r"([A-Za-z][A-Za-z0-9._-]*)=")
_BROKERS: Final = re.compile(r"[0-9,\s-]*|none|true|false|N/A", re.IGNORECASE)
_HORIZONTAL_LINE: Final = re.compile(r"[\s|+-]+")
_PLACEMENT: Final = "not imported, because Kafka places the partitions"
_IN_FORCE: Final = (
    "all effective settings imported, including defaults of the service: delete those that the topic should inherit"
)


def recognises(source: SourceFile) -> bool:
    return "Topic:" in source.text and any(_is_header(line) for line in lines(source.text))


def read(reader: TopicReader) -> None:
    described: list[_DescribedTopic] = []
    text, replicas, table = reader.text(), _PartitionReplicas(reader), _Table(reader)
    for line in lines(reader.source.text):
        if line.ambiguous is not None:
            message = "is this the rest of the number above? join the two lines if it is, else delete this one"
            reader.add_problem(reader.source.location(line.ambiguous), message, "value")
        if line.text.strip() == "```":  # of a page in Markdown
            text.take_range(line.start, line.end)
            continue
        if "Topic" in line.labels and "Partition" in line.labels:
            if not replicas.line(line):
                continue
        elif "Topic" in line.labels:
            table.topic = _DescribedTopic(line, reader)
            described.append(table.topic)
        elif not table.row(line, replicas):
            continue
        text.take_range(line.start, line.end)
    for topic in described:
        topic.add(replicas.counts.get(topic.name, {}))
    for name in replicas.counts.keys() - {topic.name for topic in described}:
        message = f"expected a line with PartitionCount and ReplicationFactor of {name}, got only its partitions"
        reader.add_problem(next(iter(replicas.counts[name].values())), f"{message}; is it cut off?", "missing")
    replicas.note()


def _is_header(line: DescribeLine) -> bool:
    return line.labels.keys() >= {"Topic", "PartitionCount"}


class _DescribedTopic:
    """A topic's line, and the settings from this line or from the topic's table."""

    def __init__(self, line: DescribeLine, reader: TopicReader) -> None:
        # A line that is joined to the name by mistake can have a secret.
        self.name = shown_key(line.labels["Topic"][0])
        self.settings = _configs(line, reader)
        self._line, self._reader = line, reader

    def add(self, counts: dict[int, Location]) -> None:
        """Add the topic to the reader; ``counts`` are the numbers of replicas that its partitions have."""
        line, reader = self._line, self._reader
        location_at = self._location("Topic")
        if not line.labels.keys() >= {*_COUNTS.values()}:
            message = "expected Topic, PartitionCount and ReplicationFactor in this line; is it cut off?"
            reader.add_problem(reader.source.location(line.start), message, "value")
            return
        if line.labels.get("MarkedForDeletion", ("false", 0))[0].lower() != "false":
            reader.exclude(location_at, self.name, "being deleted (MarkedForDeletion), so not imported")
            return
        for label in line.labels:
            if label not in _HEADER:
                reader.note(self._location(label), label, NOT_READ)
        factor = whole_number(line.labels["ReplicationFactor"][0])
        replica_counts = sorted({*counts, *([] if factor is None else [factor])})
        if counts and len(replica_counts) > 1:
            message = (
                f"the partitions of {self.name} have {replica_counts[0]} to {replica_counts[-1]} replicas, but YAML "
                "has one number; first give all partitions the same number of replicas"
            )
            reader.add_problem(self._location("ReplicationFactor"), message, "value")
            return
        numbers = {count_name: (line.labels[label][0], self._location(label)) for count_name, label in _COUNTS.items()}
        add_topic(reader, TopicValues((self.name, location_at), numbers, self.settings))

    def _location(self, label: str) -> Location:
        return self._reader.source.location(self._line.offset(self._line.labels[label][1]))


class _PartitionReplicas:
    """The lines about partitions. Only the number of replicas is relevant for a topic's YAML."""

    def __init__(self, reader: TopicReader) -> None:
        self.counts: dict[str, dict[int, Location]] = {}
        """By topic, the numbers of replicas that its partitions have, each with its first location."""
        self._labels: dict[str, Location] = {}
        self._source = reader.source
        self._reader = reader

    def line(self, line: DescribeLine) -> bool:
        """Read a partition's line; return whether all its values are understood.

        Replicas that a reassignment adds do not count (``TopicCommand``).
        """
        values = {label: value for label, (value, _) in line.labels.items()}
        numbers = {label: len(re.findall(r"\d+", values.get(label, ""))) for label in ("Replicas", "AddingReplicas")}
        self.add(values["Topic"], numbers["Replicas"] - numbers["AddingReplicas"], list(values), line)
        return all(_BROKERS.fullmatch(value) for label, value in values.items() if label != "Topic")

    def add(self, topic: str, replicas: int, labels: list[str], line: DescribeLine) -> None:
        """Record a partition with ``replicas`` replicas, and the labels of its values."""
        counts = self.counts.setdefault(topic, {})
        if replicas not in counts:
            counts[replicas] = self._source.location(line.start)
        for label in labels:
            if label not in ("Topic", "Partition") and label not in self._labels:
                self._labels[label] = self._source.location(line.start)

    def note(self) -> None:
        """Note the labels of the partitions' values, because no value is imported."""
        for label, location_at in self._labels.items():
            self._reader.note(location_at, label, _PLACEMENT)


class _Table:
    """The tables of ``ccloud`` with the partitions and the settings of the topic above them."""

    def __init__(self, reader: TopicReader) -> None:
        self.topic: _DescribedTopic | None = None
        self._reader = reader
        self._columns: list[str] = []
        self._last = ""
        self._boxed = False

    def row(self, line: DescribeLine, replicas: _PartitionReplicas) -> bool:
        """Read a line of a table; return whether all its cells are understood."""
        topic = self.topic
        if line.text.strip() == "Configuration" or _HORIZONTAL_LINE.fullmatch(line.text):
            return True
        if topic is None or len(line.cells) < 2:
            return False
        if {*line.cells} & {"Topic", "Value"}:
            # Newer versions also print bars at both ends of a row.
            self._boxed = not line.cells[0]
        cells = line.cells[1:-1] if self._boxed else line.cells
        if {*cells} >= {"Topic", "Partition"} or cells[:2] == ["Name", "Value"]:
            self._columns, self._last = cells, ""
            if "Value" in cells:
                self._reader.note(self._location(line), topic.name, _IN_FORCE)
            for label in cells[2:] if "Value" in cells else ():
                self._reader.note(self._location(line), label, NOT_READ)
        elif "Partition" in self._columns:
            row = dict(zip(self._columns, cells, strict=False))
            replicas.add(row["Topic"], len(row.get("Replicas", "").split()), self._columns, line)
            return len(cells) <= len(self._columns) and all(_BROKERS.fullmatch(cell.strip("[]")) for cell in cells[1:])
        elif "Value" in self._columns:
            self._setting(topic.settings, cells[0], cells[1], self._location(line))
            return len(cells) <= len(self._columns)
        else:
            return False
        return True

    def _setting(self, settings: SettingValues, name: str, value: str, location_at: Location) -> None:
        if not name and self._last:
            # The continuation of a value that did not fit into its cell.
            before, *locations = settings[self._last]
            settings[self._last] = (before + value, locations[0], locations[1])
        elif configs.definition(name) is None:
            self._reader.note(location_at, name, not_in_kafka())
            self._last = ""
        else:
            settings[name] = (value, location_at, location_at)
            self._last = name

    def _location(self, line: DescribeLine) -> Location:
        return self._reader.source.location(line.start)


def _configs(line: DescribeLine, reader: TopicReader) -> SettingValues:
    """Return the settings of a topic's line.

    A value may contain commas: the last comma before the next ``name=`` is the separator.
    """
    wrapped, value_start = line.labels.get("Configs", ("", 0))
    # No topic setting contains whitespace: all whitespace here comes from line wrapping.
    positions = [index for index in range(len(wrapped)) if not wrapped[index].isspace()]
    text = "".join(wrapped[index] for index in positions)
    matches = list(_SETTING.finditer(text))

    def location_at(index: int) -> Location:
        offset = positions[index] if index < len(positions) else len(wrapped)
        return reader.source.location(line.offset(value_start + offset))

    if text[: matches[0].start() if matches else None].strip(","):
        reader.add_problem(location_at(0), "Configs: expected name=value, separated by commas; is it cut off?", "value")
    settings: SettingValues = {}
    for match, end in zip(matches, [*(following.start() - 1 for following in matches[1:]), len(text)], strict=False):
        name = range(match.start(), match.end(1))
        lines = sorted({location_at(index).line for index in name})
        if len(lines) > 1 and configs.definition(match[1]) is None:
            # The lines may not belong together, so none of their text is quoted.
            where = ", ".join(f"line {number}" for number in lines)
            message = f"Configs: {where}: together they name no setting of Kafka; does one of them not belong here?"
            reader.add_problem(location_at(match.start()), message, "config-unknown")
        elif match[1] in settings:
            reader.add_problem(location_at(match.start()), f"{match[1]} is set twice; keep one", "duplicate-key")
        else:
            settings[match[1]] = (text[match.end() : end], location_at(match.start()), location_at(match.end()))
    return settings
