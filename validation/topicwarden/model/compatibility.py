"""The settings of a subject of a Schema Registry that a declaration may choose."""

from __future__ import annotations

from enum import StrEnum


class Compatibility(StrEnum):
    """The compatibility level of a subject: which versions a new schema is compared with, and in which direction."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def transitive(self) -> bool:
        """True if a new schema is compared with all versions, not only the latest."""
        return self.value.endswith("_TRANSITIVE")

    @property
    def backward(self) -> bool:
        """True if readers with the new schema must be able to read what older schemas wrote."""
        return self.value.startswith(("BACKWARD", "FULL"))

    @property
    def forward(self) -> bool:
        """True if readers with older schemas must be able to read what the new schema writes."""
        return self.value.startswith(("FORWARD", "FULL"))


class SubjectStrategy(StrEnum):
    """The rule by which serializers name the subject of a schema (``io.confluent.kafka.serializers.subject``)."""

    TOPIC = "topic"
    RECORD = "record"
    TOPIC_RECORD = "topic-record"
