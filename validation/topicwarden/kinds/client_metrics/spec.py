"""The YAML of a client-metrics subscription, in a file below ``access/``.

Source: ``ClientMetricsConfigs``, KIP-714.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from topicwarden.kafka_facts.java_regex import java_regex_problem
from topicwarden.kinds.access_spec import AccessFile, AccessSpec, Entry
from topicwarden.kinds.client_metrics.change import CLIENT_METRICS, Subscription, items_of, matchers
from topicwarden.model.field_types import Name, Nullable, Period, StrictModel, custom_error
from topicwarden.model.message_text import quoted

SHORTEST_MS, LONGEST_MS = 100, 3_600_000
_MATCH: Final = "match."


def _interval(value: int) -> int:
    if not SHORTEST_MS <= value <= LONGEST_MS:
        raise custom_error("value", f"expected an interval of 100ms to 1h, got {value:,} ms")
    return value


def _one_item(value: str) -> str:
    if "," in value or value.strip() != value:
        raise custom_error("value", f"expected text without commas and outer spaces, got {quoted(value)}")
    return value


def _distinct(items: list[str]) -> list[str]:
    """Refuse an item that appears twice, as brokers do from Kafka 4.2 on (KIP-1161)."""
    if twice := sorted({item for item in items if items.count(item) > 1}):
        raise custom_error("value", f"expected each item once, got {', '.join(map(quoted, twice))} twice")
    return items


def _pattern(value: str) -> str:
    """Return a pattern that brokers compile (``ClientMetricsConfigs.parseMatchingPatterns``)."""
    if "=" in value:
        raise custom_error(
            "value",
            f"expected a regular expression without =, where brokers split the text, got {quoted(value)}; write \\x3d",
        )
    if problem := java_regex_problem(value):
        raise custom_error("value", f"expected a Java regular expression, got {quoted(value)}: {problem}")
    return value


Item = Annotated[str, Field(strict=True, min_length=1), AfterValidator(_one_item)]
Selector = Literal[
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
]


class ClientMetricsSpec(StrictModel):
    """A subscription: the metrics that matching clients push, and how often."""

    interval: Annotated[Period, AfterValidator(_interval)] | None = Field(
        default=None, alias="interval.ms", description="The time between two pushes of a client: 30s; by default 5m."
    )
    metrics: Annotated[list[Item], AfterValidator(_distinct)] | None = Field(
        default=None, description="Prefixes of names of metrics, such as `org.apache.kafka.producer.`; `*` for all."
    )
    match: dict[Selector, Annotated[Item, AfterValidator(_pattern)]] | None = Field(
        default=None,
        description="Java regular expressions of clients, by what they match; by default, all clients match.",
    )


def kafka_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the validated settings of one subscription in Kafka's spelling."""
    match = {key.removeprefix(_MATCH): value for key, value in settings.items() if key.startswith(_MATCH)}
    found = {
        "interval.ms": str(settings["interval.ms"]) if "interval.ms" in settings else "",
        "match": ",".join(f"{selector}={pattern}" for selector, pattern in sorted(match.items())),
        "metrics": ",".join(settings.get("metrics", ())),
    }
    return {name: value for name, value in found.items() if value}


def yaml_settings(settings: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings of a live subscription as YAML has them; the inverse of ``kafka_settings``."""
    found: dict[str, Any] = dict(settings)
    if "interval.ms" in settings:
        found["interval.ms"] = int(settings["interval.ms"])
    if "metrics" in settings:
        found["metrics"] = list(dict.fromkeys(items_of(settings["metrics"])))
    if "match" in settings:
        found["match"] = matchers(settings["match"])
    return found


class ClientMetricsSettings(StrictModel):
    """The key of subscriptions in a file below ``access/``."""

    client_metrics: Nullable[dict[Name, Nullable[ClientMetricsSpec]]] = Field(
        default={}, description="The metrics that clients push to the brokers (KIP-714), by subscription."
    )


def _entries(file: AccessFile) -> Iterator[Entry]:
    for name, settings, locate in file.items(CLIENT_METRICS):
        if own := kafka_settings(settings):
            yield Entry(Subscription(name), own, locate(""), f"the client metrics {name}")


SPEC: Final = AccessSpec(CLIENT_METRICS, ClientMetricsSettings, _entries)
