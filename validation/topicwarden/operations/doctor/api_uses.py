"""The APIs of brokers that commands use, and what is lost where a broker or a service does not offer one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from topicwarden.model.diagnosis import AbsentApi


@dataclass(frozen=True)
class ApiUse:
    """A use of an API, by Kafka's name of its request, that needs at least ``version``."""

    name: str
    version: int
    commands: tuple[str, ...]
    lost: str


_READERS: Final = ("plan", "up", "rebalance", "audit", "watch", "usage")
_AUDITS: Final = ("audit", "watch")
_GROUPS: Final = ("plan", "up", "audit", "watch", "usage")
_SETTINGS: Final = ("plan", "up", "rebalance", "import", "audit", "watch", "usage", "redrive")

API_USES: Final = (
    ApiUse("DescribeConfigs", 1, _SETTINGS, "no settings can be read"),
    ApiUse("DescribeLogDirs", 0, _READERS, "sizes of logs are unknown"),
    # Older versions list only the brokers that are alive (KIP-1073).
    ApiUse("DescribeCluster", 2, ("rebalance",), "lost brokers count as removed; they keep a throttle they had"),
    ApiUse(
        "ListOffsets", 7, ("audit", "watch"), "the largest timestamp is unknown; checks of retention are undecidable"
    ),
    ApiUse("ListGroups", 0, _GROUPS, "consumer groups are unknown"),
    ApiUse("DescribeGroups", 0, _GROUPS, "members of consumer groups are unknown"),
    ApiUse("OffsetFetch", 0, _GROUPS, "committed offsets of groups are unknown"),
    ApiUse("ListTransactions", 0, ("usage",), "transactional ids are unknown"),
    ApiUse("DescribeProducers", 0, ("usage", "infer"), "producers are unknown"),
    ApiUse("InitProducerId", 0, ("redrive",), "no record can be copied"),
    ApiUse("TxnOffsetCommit", 0, ("redrive",), "no record can be copied"),
    ApiUse("CreateTopics", 0, ("up",), "no topic can be created"),
    ApiUse("DeleteTopics", 0, ("up",), "no topic can be deleted"),
    ApiUse("CreatePartitions", 0, ("up",), "no partition can be added"),
    ApiUse(
        "IncrementalAlterConfigs",
        0,
        ("up", "rebalance"),
        "all settings of a topic are written at once, and rebalance cannot throttle",
    ),
    ApiUse("ListPartitionReassignments", 0, ("rebalance",), "no replica can be moved"),
    ApiUse("AlterPartitionReassignments", 0, ("rebalance",), "no replica can be moved"),
    ApiUse("ElectLeaders", 0, ("rebalance",), "preferred leaders are not elected after a move"),
)
"""What Kafka of every supported line offers, and managed services may lack."""


def missing_apis(offered: Mapping[str, int]) -> Iterator[AbsentApi]:
    """Yield the uses that brokers with the APIs ``offered`` (highest version by name) do not allow."""
    for use in API_USES:
        if offered.get(use.name, -1) < use.version:
            yield AbsentApi(name=use.name, version=use.version, commands=[*use.commands], lost=use.lost)
