"""Run a Kafka Streams application, ``WordCount.java``, which creates its internal topics and counts some words."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from kafka.admin import NewTopic

from tests.support.applications.java_application import JavaApplication
from tests.support.java_programs import compiled
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.read.consumer_groups import read_groups

WORDS = "word.lines"
APPLICATION = "word-count"
REPARTITION = f"{APPLICATION}-words-repartition"
CHANGELOG = f"{APPLICATION}-counts-changelog"
WINDOWED = f"{APPLICATION}-recent-changelog"
_SOURCE = Path(__file__).with_name("WordCount.java")
_RECORDS = 100
_SPOKEN = ("audit", "topic", "broker", "topic")


@contextmanager
def counting(
    servers: Sequence[str],
    application: JavaApplication,
    protocol: str = "classic",
    client_servers: Sequence[str] = (),
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[None]:
    """Run the application during the block; the block starts when every word is counted and committed.

    ``protocol`` is ``classic``, or ``streams`` for a streams group (KIP-1071). The application connects to
    ``client_servers`` (by default ``servers``), and has more ``settings``.
    """
    with connected(servers) as admin:
        admin.create_topics([NewTopic(WORDS, 1, -1)])
    with writing(servers) as writer:
        for number in range(_RECORDS):
            writer.send(WORDS, None, _SPOKEN[number % len(_SPOKEN)])
    state = application.folder / "state"
    more = application.settings_file(settings)
    classes = compiled(application.java, _SOURCE, application.class_path)
    class_path = f"{classes}{os.pathsep}{application.class_path}"
    arguments = (_SOURCE.stem, ",".join(client_servers or servers), APPLICATION, WORDS, state, protocol, more)
    with application.running(*arguments, ready=lambda: _counted(servers), class_path=class_path):
        yield


def _counted(servers: Sequence[str]) -> bool:
    with connected(servers) as admin:
        groups = read_groups(admin, [REPARTITION])
    committed = next((group.offsets for group in groups if group.name == APPLICATION), {})
    return {topic_partition[0] for topic_partition, offset in committed.items() if offset >= _RECORDS} == {
        WORDS,
        REPARTITION,
    }
