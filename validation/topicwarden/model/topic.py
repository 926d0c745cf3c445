"""The topic. Declared and live topics have the same type, so that each rule works for both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from topicwarden.model.access import NO_TOPIC_ACCESS, TopicAccess
from topicwarden.model.contents import NO_CONTENTS, Contents
from topicwarden.model.units import LONG_MAX


class AllowedChange(StrEnum):
    """One destructive change that the YAML of a topic can allow by name. Each name allows only this one change."""

    DELETE = "delete"
    RECREATE = "recreate"
    SHRINK_RETENTION = "shrink-retention"
    COMPACT = "compact"
    REDUCE_REPLICAS = "reduce-replicas"
    LOWER_MIN_INSYNC = "lower-min-insync"
    UNCLEAN_ELECTION = "unclean-election"
    RELAX_FLUSH = "relax-flush"
    REVOKE_ACCESS = "revoke-access"
    FIRST_ACL = "first-acl"
    OPEN_ACCESS = "open-access"
    THROTTLE_CLIENTS = "throttle-clients"
    REMOVE_CREDENTIAL = "remove-credential"
    REPLACE_CREDENTIAL = "replace-credential"
    BREAK_READERS = "break-readers"
    DELETE_SUBJECT = "delete-subject"

    @property
    def line(self) -> str:
        """The line of YAML that allows the change, for messages. Without an end, ``check`` would warn."""
        return f"`allow: [{{change: {self.value}, until: DATE}}]`"


ALLOWED_BY = {
    AllowedChange.DELETE: "The topic is deleted when its YAML is removed.",
    AllowedChange.RECREATE: "The topic is deleted and created again, with fewer partitions.",
    AllowedChange.SHRINK_RETENTION: "Records are kept for a shorter time, or fewer bytes are kept.",
    AllowedChange.COMPACT: "The log cleaner removes records that it would otherwise keep, or removes them earlier.",
    AllowedChange.REDUCE_REPLICAS: "Partitions lose replicas.",
    AllowedChange.LOWER_MIN_INSYNC: "Fewer replicas must acknowledge a write.",
    AllowedChange.UNCLEAN_ELECTION: "A replica that lacks acknowledged records may become leader.",
    AllowedChange.RELAX_FLUSH: "Records are flushed to disk less often.",
    AllowedChange.REVOKE_ACCESS: "A principal loses access that a client uses now.",
    AllowedChange.FIRST_ACL: "A resource gets its first ACL, which shuts out everyone whom no ACL names.",
    AllowedChange.OPEN_ACCESS: "A principal outside of the owner's may write, or everyone may read.",
    AllowedChange.THROTTLE_CLIENTS: "A limit of clients is lower than the rate that they have now.",
    AllowedChange.REMOVE_CREDENTIAL: "A user loses the credential of a mechanism.",
    AllowedChange.REPLACE_CREDENTIAL: "A credential that was adopted, or written by hand, gets the stack's password.",
    AllowedChange.BREAK_READERS: "Retained records cannot be read with the new schema.",
    AllowedChange.DELETE_SUBJECT: "The subject is soft-deleted in the Schema Registry when its YAML is removed.",
}
"""The change that each name allows."""


@dataclass(frozen=True, order=True)
class Allowance:
    """An allowed change. ``until`` is the last day (UTC) on which it is allowed, None for no end."""

    change: AllowedChange
    until: date | None = None

    def valid_on(self, today: date) -> bool:
        """Return True if the change is allowed on ``today`` (UTC)."""
        return self.until is None or today <= self.until


def allowed_on(allow: Iterable[Allowance], today: date) -> frozenset[AllowedChange]:
    """Return the changes that ``allow`` allows on ``today`` (UTC)."""
    return frozenset(each.change for each in allow if each.valid_on(today))


@dataclass(frozen=True)
class Topic:
    """A topic as declared for one stack, or as it is on the cluster.

    ``config`` holds Kafka's names and Kafka's own spelling of the values (``retention.ms`` in
    milliseconds, ``cleanup.policy`` comma-separated). A declared topic has only the declared
    settings. A live topic has all settings in force.
    """

    name: str
    partitions: int
    replication_factor: int
    config: Mapping[str, str] = field(default_factory=dict)
    domain: str = ""
    owner: str | None = None
    description: str | None = None
    contents: Contents = NO_CONTENTS
    allow: frozenset[Allowance] = frozenset()
    access: TopicAccess = NO_TOPIC_ACCESS

    @property
    def cleanup_policies(self) -> frozenset[str] | None:
        """``{"delete"}``, ``{"compact"}``, both or none (which Kafka accepts); None if not declared or not known."""
        value = self.config.get("cleanup.policy")
        return None if value is None else frozenset(part.strip() for part in value.split(",") if part.strip())

    def allowed(self, today: date) -> frozenset[AllowedChange]:
        """Return the destructive changes that the YAML allows on ``today`` (UTC)."""
        return allowed_on(self.allow, today)

    @property
    def compacted(self) -> bool:
        """True if the cleanup policy contains ``compact``."""
        return "compact" in (self.cleanup_policies or ())

    @property
    def retention_time(self) -> int | None:
        """``retention.ms`` in milliseconds if the topic deletes by time; None if records never expire."""
        retention = self.number("retention.ms")
        deletes = "delete" in (self.cleanup_policies or ())
        return retention if deletes and retention is not None and 0 <= retention < LONG_MAX else None

    @property
    def internal(self) -> bool:
        """True for Kafka's internal topics, which no YAML declares (``org.apache.kafka.common.internals.Topic``)."""
        return self.name in INTERNAL_TOPICS

    def number(self, setting: str) -> int | None:
        """Return the value of ``setting`` as an integer; None if it is not set."""
        value = self.config.get(setting)
        return None if value is None else int(value)


INTERNAL_TOPICS = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata", "__remote_log_metadata"}
)
