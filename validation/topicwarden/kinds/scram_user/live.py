"""Reads SCRAM users from a cluster."""

from __future__ import annotations

from topicwarden.kafka.read.user_reads import list_users
from topicwarden.kinds.live_part import LivePart, complete
from topicwarden.kinds.scram_user.change import USERS

LIVE = LivePart(USERS, "DescribeUserScramCredentials", "Describe on the Cluster resource", complete(list_users))
