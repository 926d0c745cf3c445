"""Test what a rebalance says about throttle lists that others have written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from topicwarden.deploy.rebalance.throttling import ThrottleRemoval
from topicwarden.model.topic import Topic
from topicwarden.operations.rebalance import Rebalance


@pytest.mark.parametrize("chosen", [["a", "b"], ["a"]])
def test_a_declared_throttle_list_is_nobody_elses_whatever_topics_were_selected(chosen: list[str]) -> None:
    lists = {"leader.replication.throttled.replicas": "0:1"}
    declared: Any = [SimpleNamespace(topic=Topic("a", 1, 1)), SimpleNamespace(topic=Topic("b", 1, 1, lists))]
    selected: Any = tuple(each for each in declared if each.topic.name in chosen)
    unused: Any = None
    rebalance = Rebalance(unused, declared, selected, None, None, None, unused)
    assert rebalance.names == {"a", "b"}
    assert rebalance._without_declared(ThrottleRemoval(lists_of_others=("b", "c"))).lists_of_others == ("c",)
