"""Which groups a cluster lists, by protocol; the answers of the brokers are written by hand here."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.errors import GroupAuthorizationFailedError

from topicwarden.kafka import consumer_groups as kafka_groups
from topicwarden.kafka.connection import Connection
from topicwarden.kafka.consumer_groups import read_groups


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


def test_share_groups_are_named_although_nobody_knows_what_they_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_groups, "start_offsets", lambda *_: {})
    groups = read_groups(Listing(), Connection(("127.0.0.1:1",), tls=False), ["t"])
    assert [(group.name, group.share, group.hidden) for group in groups] == [
        ("by-protocol", True, False),
        ("by-type", True, False),
    ]


class Committing(Listing):
    """A cluster of groups that have committed nothing: one with members, one without, and one that is hidden."""

    def list_groups(self) -> list[dict[str, Any]]:
        states = {"active": "Stable", "idle": "Empty", "sealed": "Stable"}
        return [{"group_id": name, "protocol_type": "consumer", "group_state": state} for name, state in states.items()]

    def list_group_offsets(self, names: list[str]) -> dict[str, Any]:
        if "sealed" in names:
            raise GroupAuthorizationFailedError
        return {name: {} for name in names}


def test_an_active_group_that_nobody_describes_may_read_any_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_groups, "_described", lambda *_: {})
    found = read_groups(Committing(), Connection(("127.0.0.1:1",), tls=False), ["t"])
    assert [(group.name, group.hidden, group.members) for group in found] == [
        ("active", True, None),
        ("sealed", True, None),
    ]
