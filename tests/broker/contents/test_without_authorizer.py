"""Test what is read of the access to a broker that has no authorizer."""

from __future__ import annotations

from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.access_reads import NO_AUTHORIZER
from topicwarden.kafka.read.cluster import open_cluster


def test_brokers_without_authorizer_have_no_acls_and_all_other_parts(servers: list[str]) -> None:
    with open_cluster(Connection(tuple(servers), tls=False)) as cluster:
        access = cluster.access()
    assert access.missing == {"acls": NO_AUTHORIZER}
    assert (access.quotas, access.users, access.group_configs) == ({}, {}, {})
    (settings,) = (access.settings or {}).values()
    assert (settings.class_name, settings.super_users, settings.open_without_acl) == ("", frozenset(), False)
