"""The sizes of logs in the responses to DescribeLogDirs (KIP-113)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def log_sizes(responses: Iterable[Mapping[str, Any]]) -> dict[tuple[str, int, int], int]:
    """Return bytes on disk by topic, partition and broker, from the responses that kafka-python returns.

    While a broker moves a replica to another of its disks, it reports the log twice. The incomplete copy is left out.
    """
    return {
        (topic["name"], partition["partition_index"], response["broker"]): partition["partition_size"]
        for response in responses
        for directory in response["log_dirs"]
        for topic in directory["topics"]
        for partition in topic["partitions"]
        if not partition["is_future_key"]
    }
