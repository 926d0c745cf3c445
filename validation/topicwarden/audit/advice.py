"""Advice on topics that nobody has declared, from the rules of good practice: notes of a report, never failures."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.model.message_text import first_of
from topicwarden.model.topic import Topic
from topicwarden.policies.good_practice import good_practice
from topicwarden.policies.rules.min_insync_replicas import SETTING as MIN_INSYNC

_MOST_LISTED: Final = 3


def advice(snapshot: Snapshot) -> list[str]:
    """Return what the rules of good practice say of the topics, one line for each rule and message."""
    topics = [
        _with_effective_minimum(live)
        for name, live in snapshot.topics.items()
        if not (live.topic.internal or name.startswith("__"))
    ]
    found = good_practice(topics, len(snapshot.racks))
    return [f"{message} ({rule}): {_listed(names)}" for (rule, message), names in found.items()]


def _with_effective_minimum(live: LiveTopic) -> Topic:
    """Return the topic with its own settings, and the ``min.insync.replicas`` that its brokers may give it."""
    effective = live.topic.config.get(MIN_INSYNC)
    return replace(live.topic, config={**live.own_config, **({MIN_INSYNC: effective} if effective else {})})


def _listed(names: list[str]) -> str:
    return first_of(names, _MOST_LISTED, "topic")
