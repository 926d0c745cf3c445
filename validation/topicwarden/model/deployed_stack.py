"""The topics of a stack as they were last deployed, according to Pulumi's state, and the URNs of that state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from topicwarden.model.access import DeployedAccess
from topicwarden.model.subject import DeployedSubjects
from topicwarden.model.topic import Allowance, Topic
from topicwarden.model.topic_selection import selected


@dataclass(frozen=True)
class ResourceUrn:
    """A URN, ``urn:pulumi:<stack>::<project>::<types>::<name>``; ``type`` is the last of its types.

    Only the name can contain ``::``, as the one of a subject in a context does, such as ``:.eu:orders-value``.
    """

    text: str

    @property
    def stack(self) -> str:
        return self._parts[0].rpartition(":")[2]

    @property
    def type(self) -> str:
        return self._parts[2].rpartition("$")[2]

    @property
    def name(self) -> str:
        return self._parts[3]

    @property
    def _parts(self) -> list[str]:
        return self.text.split("::", 3)


@dataclass(frozen=True)
class DeployedTopic:
    """A topic in Pulumi's state.

    ``partitions``, ``replication_factor`` and ``config`` are values of the resource; a refresh overwrites them with
    live values. ``declared`` is the topic as declared by the YAML at the last deploy, with its allowances, and ``file``
    is that YAML file. Both are None in states that do not record them. ``rules`` are the declared rules under
    ``contents``, by path; see ``changed_rules``.
    """

    name: str
    partitions: int
    replication_factor: int
    config: Mapping[str, str]
    declared: Topic | None = None
    file: str | None = None
    rules: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DuplicateResource:
    """A topic resource that the program does not register under its URN, that the engine would delete, or unreadable.

    ``pending_deletion``: an earlier deploy has replaced it. ``tainted``: the next deploy replaces it
    (`pulumi state taint`). ``edited``: its partitions, replicas or settings cannot be read.
    """

    urn: str
    pending_deletion: bool = False
    tainted: bool = False
    edited: bool = False


@dataclass(frozen=True)
class DeployedStack:
    """A stack's topics and subjects by name, the id of the cluster of its topics, duplicate resources, and its access.

    ``duplicates`` has further resources by topic name, such as those that `pulumi import` creates. The engine would
    delete the topic of each duplicate. ``allow`` is what the YAML of each topic allowed at the last deploy.
    ``uncreated`` are the topics that a deploy deleted to create them again, and could not create.
    """

    topics: Mapping[str, DeployedTopic] = field(default_factory=dict)
    cluster_id: str | None = None
    duplicates: Mapping[str, tuple[DuplicateResource, ...]] = field(default_factory=dict)
    access: DeployedAccess = field(default_factory=DeployedAccess)
    subjects: DeployedSubjects = field(default_factory=dict)
    allow: Mapping[str, frozenset[Allowance]] = field(default_factory=dict)
    uncreated: frozenset[str] = frozenset()

    @property
    def size(self) -> int:
        """The number of topics, subjects and parts of access."""
        return len(self.topics) + self.access.size + len(self.subjects)

    def only(self, patterns: Sequence[str]) -> DeployedStack:
        """Return the part of the stack whose topics match ``patterns``, with all of its access and subjects."""
        return replace(
            self,
            topics={name: topic for name, topic in self.topics.items() if selected(name, patterns)},
            duplicates={name: urns for name, urns in self.duplicates.items() if selected(name, patterns)},
        )
