"""Test the table of what a change can harm: it is complete, and it matches the consequences."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from topicwarden.cli.pages.guards_page import CHANGES
from topicwarden.kafka_facts.configs import definitions, kafka_lines
from topicwarden.kinds.topic.consequences import CONSEQUENCES
from topicwarden.kinds.topic.setting_effects import EFFECTS, SettingEffect, SettingRisk, lowered, riskiest, safest


@pytest.mark.parametrize("kafka", [None, *kafka_lines()])
def test_every_setting_of_kafkas_has_a_row(kafka: str | None) -> None:
    """This test fails if a new Kafka version has a new setting: add a row with the effect of a change."""
    assert [name for name in definitions(kafka) if name not in EFFECTS] == []


def test_every_row_has_an_existing_setting() -> None:
    assert [name for name in EFFECTS if name not in definitions()] == []


@pytest.mark.parametrize("effect", [*EFFECTS.values(), *CHANGES.values()])
def test_every_danger_names_its_consequence(effect: SettingEffect) -> None:
    text = "".join(Path(inspect.getfile(rule.evaluate)).read_text() for rule in CONSEQUENCES.values())
    for kind in effect.consequence.replace(", and the consequence of the setting", "").split(", "):
        assert not kind or kind.startswith("(") or f'kind="{kind}"' in text, kind
    assert bool(effect.harms) == (effect.risk is not SettingRisk.NONE)
    assert effect.why or effect.risk is SettingRisk.NONE


@pytest.mark.parametrize(
    ("setting", "values", "safe", "risky"),
    [
        ("retention.ms", ["3600000", "-1", "86400000"], "-1", "3600000"),
        ("segment.jitter.ms", ["0", "1000"], "0", "1000"),
        ("unclean.leader.election.enable", ["true", "false"], "false", "true"),
        ("min.insync.replicas", ["1", "2"], "2", "1"),
        ("min.cleanable.dirty.ratio", ["0.5", "0.9"], "0.9", "0.5"),
        ("cleanup.policy", ["delete", "compact", "compact,delete"], "", "compact,delete"),
        ("compression.type", ["zstd", "gzip"], "gzip", "gzip"),
    ],
)
def test_brokers_that_differ_are_judged_by_the_worst(setting: str, values: list[str], safe: str, risky: str) -> None:
    assert (safest(setting, values), riskiest(setting, values)) == (safe, risky)


def test_an_unknown_value_is_not_lower() -> None:
    assert lowered("retention.ms", "-1", "5")
    assert not lowered("retention.ms", "5", "-1")
    assert not lowered("retention.ms", None, "5")
    assert not lowered("retention.ms", "5", None)
