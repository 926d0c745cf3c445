"""Test which size counts while a broker moves a replica to another of its disks."""

from __future__ import annotations

from typing import Any

import pytest

from topicwarden.kafka.read.log_sizes import log_sizes


@pytest.mark.parametrize("order", [1, -1])
def test_the_incomplete_copy_on_another_disk_does_not_count(order: int) -> None:
    def directory(size: int, *, copy: bool) -> dict[str, Any]:
        partition = {"partition_index": 0, "partition_size": size, "offset_lag": 0, "is_future_key": copy}
        return {"error_code": 0, "log_dir": "/disk", "topics": [{"name": "orders", "partitions": [partition]}]}

    directories = [directory(5_000, copy=False), directory(17, copy=True)][::order]
    assert log_sizes([{"broker": 2, "log_dirs": directories}]) == {("orders", 0, 2): 5_000}
