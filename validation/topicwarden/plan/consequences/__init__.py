"""Every consequence, by a name of its own. A new one is a new file and a new line here."""

from topicwarden.plan.consequences import (
    compaction,
    destroyed,
    drift,
    foreign,
    keyless,
    max_message,
    min_insync,
    more_partitions,
    replication,
    retention_cut,
    unseen,
)
from topicwarden.plan.consequences.consequence import Foreteller

CONSEQUENCES: dict[str, Foreteller] = {
    "destroyed": destroyed,
    "foreign": foreign,
    "retention-cut": retention_cut,
    "keyless": keyless,
    "more-partitions": more_partitions,
    "min-insync": min_insync,
    "max-message": max_message,
    "compaction": compaction,
    "replication": replication,
    "drift": drift,
    "unseen": unseen,
}
