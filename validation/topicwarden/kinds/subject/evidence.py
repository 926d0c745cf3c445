"""The evidence that is read before the consequences of changed subjects are judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.kinds.subject.change import RegistryChange, SubjectChange
from topicwarden.model.readability import Readability
from topicwarden.model.subject import LiveSubject, RegisteredSchema

if TYPE_CHECKING:
    from topicwarden.kafka.read.consumer_groups import ConsumerGroup


@dataclass(frozen=True)
class RegistryVerdict:
    """The verdict whether a new schema is compatible with the registered versions, by the level that will apply.

    ``reasons`` are why not; empty if it is. ``judge`` says who decided. ``error``: nobody could. ``subject`` has the
    versions that were compared, if it is known.
    """

    reasons: tuple[str, ...] = ()
    judge: str = "the registry"
    error: str | None = None
    subject: LiveSubject | None = None


@dataclass(frozen=True)
class TopicReaders:
    """The consumer groups of a topic, and the topic with the extents of its partitions and its retention."""

    groups: tuple[ConsumerGroup, ...]
    topic: LiveTopic


@dataclass(frozen=True)
class SubjectEvidence:
    """The facts that the registry and the topics show of changed subjects, by the name of the subject.

    ``referrers`` are the subjects that refer to one that would be deleted. ``readability`` has the scans of the topics
    of a subject; ``readers`` is by topic. ``unscanned`` says why records of a subject were not read. ``modes`` are
    those that apply to subjects that the deploy writes, as far as they are known: a subject may have its own.
    """

    verdicts: Mapping[str, RegistryVerdict] = field(default_factory=dict)
    referrers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    readability: Mapping[str, tuple[Readability, ...]] = field(default_factory=dict)
    readers: Mapping[str, TopicReaders] = field(default_factory=dict)
    unscanned: Mapping[str, str] = field(default_factory=dict)
    modes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SubjectContext:
    """All that the consequences of one changed subject are judged from."""

    change: SubjectChange
    registry: RegistryChange
    evidence: SubjectEvidence
    today: date

    @property
    def judged(self) -> bool:
        """True if the registry shows the subject, and accepts changes."""
        return self.change.name not in self.registry.unjudged

    @property
    def new_schema(self) -> RegisteredSchema | None:
        """The schema that the deploy registers as a new version; None if it registers none."""
        return self.change.schema if self.change.registers else None
