"""The Kafka rights of a user who has all of them."""

from __future__ import annotations

from topicwarden.kafka.user_rights import GroupRights

EVERY = frozenset({"Read", "Write", "Create", "Delete", "Alter", "Describe", "DescribeConfigs", "AlterConfigs"})
CLUSTER = dict.fromkeys(("Create", "Alter", "Describe", "DescribeConfigs", "AlterConfigs"), True)
GROUPS = GroupRights(frozenset({"g"}), frozenset())
