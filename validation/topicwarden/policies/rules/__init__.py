"""Every rule, by its id. A new one is a new file and a new line here."""

from topicwarden.policies.rule import Rule
from topicwarden.policies.rules import min_insync_replicas, owner, partitions, replication_factor, retention, topic_name

RULES: dict[str, Rule] = {
    "topic-name": topic_name,
    "owner": owner,
    "partitions": partitions,
    "replication-factor": replication_factor,
    "min-insync-replicas": min_insync_replicas,
    "retention": retention,
}
