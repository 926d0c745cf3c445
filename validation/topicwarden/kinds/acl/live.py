"""Reads ACLs from a cluster."""

from __future__ import annotations

from topicwarden.kafka.read.authorizer_reads import list_acls
from topicwarden.kinds.difference import LivePart, complete
from topicwarden.model.access import ACLS

LIVE = LivePart(ACLS, "DescribeAcls", "Describe on the Cluster resource", complete(list_acls))
