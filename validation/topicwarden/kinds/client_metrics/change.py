"""Client-metrics subscriptions as entries of access: by name, with Kafka's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from topicwarden.kinds.difference import AccessPart, setting_rows
from topicwarden.model.access import Part
from topicwarden.model.change_terms import AccessKind


@dataclass(frozen=True, order=True)
class Subscription:
    """A subscription, identified by its name."""

    name: str

    def __str__(self) -> str:
        return self.name


def items_of(text: str | None) -> list[str]:
    """Return the items of a list in Kafka's spelling, without empty ones."""
    return [item for each in (text or "").split(",") if (item := each.strip())]


def matchers(text: str | None) -> dict[str, str]:
    """Return the regular expressions of the setting ``match`` by what they match."""
    pairs = (item.partition("=") for item in items_of(text))
    return {selector.strip(): pattern.strip() for selector, _, pattern in pairs}


def equal_settings(name: str, one: str | None, other: str | None) -> bool:
    """Return whether brokers read both values of a setting alike; None is one that is not set.

    They read ``metrics`` as a set and ``match`` as a map (``ClientMetricsConfigs``), and an empty one as not set.
    """
    if name == "match":
        return matchers(one) == matchers(other)
    return {*items_of(one)} == {*items_of(other)}


def _has_settings(declared: Mapping[str, str], live: Mapping[str, str]) -> bool:
    return all(equal_settings(name, value, live.get(name)) for name, value in declared.items())


CLIENT_METRICS: Final[Part[Subscription, Mapping[str, str]]] = Part("client_metrics")
PART = AccessPart(
    AccessKind.CLIENT_METRICS,
    CLIENT_METRICS,
    "client metrics",
    lambda key: f"client metrics {key}",
    _has_settings,
    partial(setting_rows, kind=AccessKind.CLIENT_METRICS, part=CLIENT_METRICS, name=str),
)
