"""Which groups a cluster lists, by protocol; the answers of the brokers are written by hand here."""

from __future__ import annotations

from typing import Any

from topicwarden.kafka.connection import Connection
from topicwarden.kafka.groups import read_groups


class Listing:
    """An Admin client of a cluster that has share groups and nothing else."""

    def list_groups(self) -> list[dict[str, Any]]:
        return [
            {"group_id": "by-type", "protocol_type": "", "group_state": "Stable", "group_type": "share"},
            {"group_id": "by-protocol", "protocol_type": "share", "group_state": "Empty"},
            {"group_id": "connect", "protocol_type": "connect", "group_state": "Stable"},
        ]

    def list_group_offsets(self, names: list[str]) -> dict[str, Any]:
        return {name: {} for name in names}


def test_share_groups_are_named_although_nobody_knows_what_they_read() -> None:
    groups = read_groups(Listing(), Connection(("127.0.0.1:1",), tls=False), ["t"])
    assert [(group.name, group.share, group.hidden) for group in groups] == [
        ("by-protocol", True, False),
        ("by-type", True, False),
    ]
