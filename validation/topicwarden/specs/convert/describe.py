"""What ``kafka-topics --describe`` and ``ccloud kafka topic describe`` print: topics, settings and partitions.

Kafka lists among a topic's ``Configs`` also what its brokers' own properties set (``TopicCommand``), and ``ccloud``
prints every setting that is in force.
"""

from __future__ import annotations

import re
from typing import Final

from topicwarden.model.problem import Location
from topicwarden.specs import configs
from topicwarden.specs.convert.describe_lines import DescribeLine, lines
from topicwarden.specs.convert.source_file import SourceFile
from topicwarden.specs.convert.topic_reader import NOT_READ, Settings, TopicReader, TopicValues

_COUNTS: Final = {"partitions": "PartitionCount", "replication factor": "ReplicationFactor"}
_HEADER: Final = ("Topic", *_COUNTS.values(), "Configs", "MarkedForDeletion")
_SETTING: Final = re.compile(r"([A-Za-z][A-Za-z0-9._-]*)=")
_BROKERS: Final = re.compile(r"[0-9,\s-]*|none|true|false|N/A", re.IGNORECASE)
_RULE: Final = re.compile(r"[\s|+-]+")
_PLACEMENT: Final = "not imported, because Kafka places the partitions"
_IN_FORCE: Final = "all settings in force imported, the service's defaults too: delete what the topic should inherit"


def recognises(source: SourceFile) -> bool:
    return "Topic:" in source.text and any(_is_header(line) for line in lines(source.text))


def read(reading: TopicReader) -> None:
    described: list[_Described] = []
    text, replicas, table = reading.text(shown=True), _Replicas(reading), _Table(reading)
    for line in lines(reading.source.text):
        if "Topic" in line.labels and "Partition" in line.labels:
            if not replicas.line(line):
                continue
        elif "Topic" in line.labels:
            table.topic = _Described(line, reading)
            described.append(table.topic)
        elif not table.row(line, replicas):
            continue
        text.claim(line.start, line.end)
    for one in described:
        one.add(replicas.counts.get(one.name, {}))
    for name in replicas.counts.keys() - {one.name for one in described}:
        message = f"expected a line with PartitionCount and ReplicationFactor of {name}, seen only its partitions"
        reading.wrong(next(iter(replicas.counts[name].values())), f"{message}; is it cut off?", "missing")
    replicas.note()


def _is_header(line: DescribeLine) -> bool:
    return line.labels.keys() >= {"Topic", "PartitionCount"}


class _Described:
    """The line of a topic, and the settings of its line or table."""

    def __init__(self, line: DescribeLine, reading: TopicReader) -> None:
        self.name = line.labels["Topic"][0]
        self.settings = _configs(line, reading)
        self._line, self._reading = line, reading

    def add(self, counts: dict[int, Location]) -> None:
        """Add the topic to the reading; ``counts`` are how many replicas its partitions have."""
        line, reading = self._line, self._reading
        place = self._place("Topic")
        if not line.labels.keys() >= {*_COUNTS.values()}:
            message = "expected Topic, PartitionCount and ReplicationFactor in this line; is it cut off?"
            reading.wrong(reading.source.location(line.start), message, "value")
            return
        if line.labels.get("MarkedForDeletion", ("false", 0))[0].lower() != "false":
            reading.leave(place, self.name, "being deleted (MarkedForDeletion), so not imported")
            return
        for label in line.labels:
            if label not in _HEADER:
                reading.note(self._place(label), label, NOT_READ)
        factor = line.labels["ReplicationFactor"][0]
        uneven = sorted({*counts, *([int(factor)] if factor.isdecimal() else [])})
        if counts and len(uneven) > 1:
            message = f"the partitions of {self.name} have {uneven[0]} to {uneven[-1]} replicas"
            reading.wrong(
                self._place("ReplicationFactor"), f"{message}, and YAML has one number; even that out", "value"
            )
            return
        numbers = {what: (line.labels[label][0], self._place(label)) for what, label in _COUNTS.items()}
        reading.topic(TopicValues((self.name, place), numbers, self.settings))

    def _place(self, label: str) -> Location:
        return self._reading.source.location(self._line.offset(self._line.labels[label][1]))


class _Replicas:
    """What is printed about partitions: only the number of replicas matters to a topic's YAML."""

    def __init__(self, reading: TopicReader) -> None:
        self.counts: dict[str, dict[int, Location]] = {}
        """By topic, how many replicas its partitions have, with the first place of each number."""
        self._labels: dict[str, Location] = {}
        self._source = reading.source
        self._reading = reading

    def line(self, line: DescribeLine) -> bool:
        """Read a partition's line, and return whether all of it is understood.

        Replicas that a reassignment adds do not count (``TopicCommand``).
        """
        values = {label: value for label, (value, _) in line.labels.items()}
        numbers = {label: len(re.findall(r"\d+", values.get(label, ""))) for label in ("Replicas", "AddingReplicas")}
        self.add(values["Topic"], numbers["Replicas"] - numbers["AddingReplicas"], list(values), line)
        return all(_BROKERS.fullmatch(value) for label, value in values.items() if label != "Topic")

    def add(self, topic: str, replicas: int, labels: list[str], line: DescribeLine) -> None:
        """Record a partition with ``replicas`` replicas, and the labels of what is printed about it."""
        counts = self.counts.setdefault(topic, {})
        if replicas not in counts:
            counts[replicas] = self._source.location(line.start)
        for label in labels:
            if label not in ("Topic", "Partition") and label not in self._labels:
                self._labels[label] = self._source.location(line.start)

    def note(self) -> None:
        for label, place in self._labels.items():
            self._reading.note(place, label, _PLACEMENT)


class _Table:
    """The tables of ``ccloud``: the partitions of the topic above it, and its settings."""

    def __init__(self, reading: TopicReader) -> None:
        self.topic: _Described | None = None
        self._reading = reading
        self._columns: list[str] = []
        self._last = ""
        self._boxed = False

    def row(self, line: DescribeLine, replicas: _Replicas) -> bool:
        """Read a line of a table; return whether all of it is understood."""
        topic = self.topic
        if line.text.strip() == "Configuration" or _RULE.fullmatch(line.text):
            return True
        if topic is None or len(line.cells) < 2:
            return False
        if {*line.cells} & {"Topic", "Value"}:
            # Newer versions draw bars at both ends.
            self._boxed = not line.cells[0]
        cells = line.cells[1:-1] if self._boxed else line.cells
        if {*cells} >= {"Topic", "Partition"} or cells[:2] == ["Name", "Value"]:
            self._columns, self._last = cells, ""
            if "Value" in cells:
                self._reading.note(self._place(line), topic.name, _IN_FORCE)
            for label in cells[2:] if "Value" in cells else ():
                self._reading.note(self._place(line), label, NOT_READ)
        elif "Partition" in self._columns:
            row = dict(zip(self._columns, cells, strict=False))
            replicas.add(row["Topic"], len(row.get("Replicas", "").split()), self._columns, line)
            return len(cells) <= len(self._columns) and all(_BROKERS.fullmatch(cell.strip("[]")) for cell in cells[1:])
        elif "Value" in self._columns:
            self._setting(topic.settings, cells[0], cells[1], self._place(line))
            return len(cells) <= len(self._columns)
        else:
            return False
        return True

    def _setting(self, settings: Settings, name: str, value: str, place: Location) -> None:
        if not name and self._last:
            # The rest of a value that did not fit into its cell.
            before, *places = settings[self._last]
            settings[self._last] = (before + value, places[0], places[1])
        elif configs.definition(name) is None:
            reason = f"Kafka {configs.kafka_version()} has no such topic configuration, so not imported"
            self._reading.note(place, name, reason)
            self._last = ""
        else:
            settings[name] = (value, place, place)
            self._last = name

    def _place(self, line: DescribeLine) -> Location:
        return self._reading.source.location(line.start)


def _configs(line: DescribeLine, reading: TopicReader) -> Settings:
    """The settings of a topic's line; a value may hold commas, the last one before the next name parts the two."""
    written, begin = line.labels.get("Configs", ("", 0))
    # No topic setting holds a blank; those that are here are from the wrapping.
    kept = [index for index in range(len(written)) if not written[index].isspace()]
    text = "".join(written[index] for index in kept)
    named = list(_SETTING.finditer(text))

    def place(index: int) -> Location:
        return reading.source.location(line.offset(begin + (kept[index] if index < len(kept) else len(written))))

    if text[: named[0].start() if named else None].strip(","):
        reading.wrong(place(0), "Configs: expected name=value, separated by commas; is it cut off?", "value")
    settings: Settings = {}
    for one, end in zip(named, [*(each.start() - 1 for each in named[1:]), len(text)], strict=False):
        if one[1] in settings:
            reading.wrong(place(one.start()), f"{one[1]} is here twice; keep one", "duplicate-key")
        settings[one[1]] = (text[one.end() : end], place(one.start()), place(one.end()))
    return settings
