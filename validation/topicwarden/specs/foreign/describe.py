"""What ``kafka-topics --describe`` prints: the line of each topic; those of its partitions are passed over.

Kafka lists among a topic's ``Configs`` also what its brokers' own properties set (``TopicCommand``).
"""

from __future__ import annotations

import re
from typing import Final

from topicwarden.specs.foreign.reading import Reading, Settings, Values
from topicwarden.specs.foreign.source import Source

_TOPIC: Final = re.compile(r"^Topic: ?(\S+)\s.*?PartitionCount: ?(\S+)\s+ReplicationFactor: ?(\S+)(.*)$", re.MULTILINE)
_STARTS: Final = re.compile(r"^Topic: ?\S", re.MULTILINE)
_CONFIGS: Final = re.compile(r"Configs: ?(\S*)")
_SETTING: Final = re.compile(r"([a-z][a-z0-9._-]*)=")


def recognises(source: Source) -> bool:
    return bool(_TOPIC.search(source.text))


def read(source: Source) -> Reading:
    reading, read_at = Reading(), set()
    for match in _TOPIC.finditer(source.text):
        read_at.add(match.start())
        counts = {
            "partitions": (match[2], source.location(match.start(2))),
            "replication factor": (match[3], source.location(match.start(3))),
        }
        config = _configs(source, match.start(4), match.end(4))
        reading.topic(Values((match[1], source.location(match.start(1))), counts, config))
    for match in _STARTS.finditer(source.text):
        if match.start() not in read_at:
            message = "expected Topic, PartitionCount and ReplicationFactor in this line; is it cut off?"
            reading.wrong(source.location(match.start()), message, "value")
    return reading


def _configs(source: Source, start: int, end: int) -> Settings:
    """The settings of a topic's line; a value may hold commas, the last one before the next name parts the two."""
    configs = _CONFIGS.search(source.text, start, end)
    named = list(_SETTING.finditer(source.text, *configs.span(1))) if configs else []
    ends = [*(one.start() - 1 for one in named[1:]), *([configs.end(1)] if configs and named else [])]
    return {
        one[1]: (source.text[one.end() : stop], source.location(one.start()), source.location(one.end()))
        for one, stop in zip(named, ends, strict=True)
    }
