"""The table of all consequence rules by name. A new rule needs a new file and a new line here."""

from topicwarden.plan.consequence_rule import ConsequenceRule
from topicwarden.plan.consequences import (
    broker_defaults,
    compaction,
    destroyed,
    drift,
    duplicate,
    earlier_roll,
    flush,
    foreign,
    max_message,
    min_insync,
    more_partitions,
    replication,
    retention_cut,
    tiered_storage_off,
    timestamps,
    tombstones,
    unclean_election,
    unseen,
)

CONSEQUENCES: dict[str, ConsequenceRule] = {
    "destroyed": destroyed,
    "duplicate": duplicate,
    "foreign": foreign,
    "retention-cut": retention_cut,
    "earlier-roll": earlier_roll,
    "compaction": compaction,
    "tombstones": tombstones,
    "tiered-storage-off": tiered_storage_off,
    "more-partitions": more_partitions,
    "replication": replication,
    "min-insync": min_insync,
    "unclean-election": unclean_election,
    "flush": flush,
    "max-message": max_message,
    "timestamps": timestamps,
    "broker-defaults": broker_defaults,
    "drift": drift,
    "unseen": unseen,
}
