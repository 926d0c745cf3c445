"""A compression level is that of the codec in use.

`compression.gzip.level`, `compression.lz4.level` and `compression.zstd.level` count only where the broker compresses
with that codec, so where `compression.type` names it (KIP-390); with `producer`, the default, the producer's own level
holds.

Remedy: set `compression.type` to the codec, or delete the level.
"""

from collections.abc import Iterable

from topicwarden.policies.rule import Advice, Complaint
from topicwarden.specs.brokers import Brokers
from topicwarden.topic import Topic

CODECS = ("gzip", "lz4", "zstd")


class Settings(Advice):
    pass


ALWAYS = Settings()


def judge(topic: Topic, settings: Settings, brokers: Brokers) -> Iterable[Complaint]:
    for codec in CODECS:
        name = f"compression.{codec}.level"
        if name in topic.config and topic.config.get("compression.type") != codec:
            seen = topic.config.get("compression.type", "producer, Kafka's default")
            yield Complaint(
                ("config", name),
                f"{name} has no effect, as compression.type is {seen}; write compression.type: {codec}, or delete it",
            )
