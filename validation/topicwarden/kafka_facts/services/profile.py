"""The shape of a service profile: what a managed or compatible Kafka service refuses, lacks, or does in its own way."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum


@dataclass(frozen=True)
class Fact:
    """A statement about a service, and the URL of the vendor's page that says so."""

    text: str
    source: str


class Outcome(StrEnum):
    """The effect of a value that the service does not support."""

    REFUSES = "refuses"
    IGNORES = "ignores"


@dataclass(frozen=True)
class SettingNames:
    """Topic settings by Kafka's names, and what the service does with them, or with all others."""

    names: frozenset[str]
    outcome: Outcome
    source: str


@dataclass(frozen=True)
class SettingBounds:
    """The values of one topic setting that the service accepts, in Kafka's spelling (milliseconds, bytes)."""

    setting: str
    source: str
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()

    def accepts(self, value: str) -> bool:
        """Return whether the service accepts ``value``, which is valid for Apache Kafka."""
        if self.choices:
            return value in self.choices
        number = int(value)
        return (self.least is None or number >= self.least) and (self.most is None or number <= self.most)


@dataclass(frozen=True)
class FixedPolicy:
    """Changes of ``cleanup.policy`` that the service refuses for an existing topic, as (before, after).

    A policy is written as a sorted list, such as ``compact,delete``.
    """

    changes: frozenset[tuple[str, str]]
    source: str


@dataclass(frozen=True)
class ReplicationFactors:
    """The replication factors that a topic can have, and what the service does with another one.

    ``text`` says which these are, if there are many.
    """

    allowed: frozenset[int]
    outcome: Outcome
    source: str
    text: str = ""


@dataclass(frozen=True)
class Defaults:
    """The service's defaults of topic settings that differ from Kafka's, or that nobody may change."""

    values: Mapping[str, str]
    source: str


@dataclass(frozen=True)
class LogCode:
    """The code that stores records. ``apache`` is true if it is Apache Kafka's: segments, retention and log cleaner.

    ``unless`` is a topic setting and its value with which a topic is stored in another way.
    """

    apache: bool
    fact: Fact
    unless: tuple[str, str] | None = None


@dataclass(frozen=True)
class AccessLimits:
    """Access that the service does not manage through Kafka's protocol, or limits. None is as in Apache Kafka.

    ``unmanaged`` are the parts of the access that it does not manage, such as ``acls``. ``most_acls`` is the largest
    limit of all its types of clusters, with the source. ``known_keys`` are the only keys that it knows of the
    values of a part, with the source. ``one_mechanism`` is set if a user can have only one SCRAM mechanism.
    """

    unmanaged: Mapping[str, Fact] = field(default_factory=dict)
    most_acls: tuple[int, Fact] | None = None
    known_keys: Mapping[str, tuple[frozenset[str], str]] = field(default_factory=dict)
    one_mechanism: Fact | None = None


@dataclass(frozen=True)
class MissingApi:
    """A request of Kafka's protocol that the service does not answer, and what topicwarden does without it."""

    name: str
    effect: str
    source: str


@dataclass(frozen=True)
class Recognition:
    """Signs by which the service is recognized: patterns of bootstrap host names and cluster ids, and its requests.

    ``answers`` and ``lacks`` are numbers of requests of Kafka's protocol. A service is recognized by them if it answers
    all of the first and none of the second.
    """

    hosts: tuple[str, ...] = ()
    cluster_id: str | None = None
    answers: frozenset[int] = frozenset()
    lacks: frozenset[int] = frozenset()
    sources: tuple[str, ...] = ()

    def by_host(self, host: str) -> bool:
        """Return whether the bootstrap host name ``host`` is one of the service."""
        return any(re.fullmatch(pattern, host.lower()) for pattern in self.hosts)

    def by_cluster(self, cluster_id: str | None, requests: frozenset[int]) -> bool:
        """Return whether a cluster is of the service. ``requests`` are the numbers of those that it answers."""
        if self.cluster_id is not None and cluster_id and re.fullmatch(self.cluster_id, cluster_id):
            return True
        return bool(self.lacks) and self.answers <= requests and not self.lacks & requests


@dataclass(frozen=True)
class ServiceProfile:
    """The facts about one service. A fact without a vendor's page is left out: the service then counts as Apache Kafka.

    ``name`` is the value of ``topicwarden:profile``, ``title`` the product's name in messages.
    """

    name: str
    title: str
    log: LogCode
    recognition: Recognition = field(default_factory=Recognition)
    only: SettingNames | None = None
    """The topic settings that can be set; no other can."""
    unsupported: tuple[SettingNames, ...] = ()
    """Topic settings that cannot be set."""
    bounds: tuple[SettingBounds, ...] = ()
    fixed_policy: FixedPolicy | None = None
    replication: ReplicationFactors | None = None
    defaults: Defaults | None = None
    reports_defaults_as_set: Fact | None = None
    """Set if the service reports settings that nobody set as set on the topic (``DYNAMIC_TOPIC_CONFIG``)."""
    hides_set_defaults: Fact | None = None
    """Set if the service reports a setting that was set to its default as not set (``DEFAULT_CONFIG``)."""
    own_settings: Fact | None = None
    """Set if the service has topic settings of its own, which Apache Kafka does not know."""
    access: AccessLimits = field(default_factory=AccessLimits)
    missing: tuple[MissingApi, ...] = ()
    look_alike: LogCode | None = None
    """The log code to assume if the profile was recognized but not named: another service has the same host names."""
    notes: tuple[Fact, ...] = ()

    def unsupported_settings(self, name: str) -> tuple[SettingNames, ...]:
        """Return what is known of the topic setting ``name`` if it cannot be set; empty if it can be set."""
        listed = tuple(names for names in self.unsupported if name in names.names)
        return listed if self.only is None or name in self.only.names else (*listed, self.only)

    def default(self, setting: str, of_kafka: str | None) -> str | None:
        """Return the service's default of a topic setting: the documented one, else ``of_kafka``."""
        return self.defaults.values.get(setting, of_kafka) if self.defaults else of_kafka

    def missing_api(self, name: str) -> MissingApi | None:
        """Return what is known of the missing request ``name``; None if the service is not known to lack it."""
        return next((api for api in self.missing if api.name == name), None)

    def recognized(self) -> ServiceProfile:
        """Return the profile for a cluster that was recognized as this service, although nobody named the service."""
        return replace(self, log=self.look_alike) if self.look_alike else self
