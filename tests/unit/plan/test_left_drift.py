"""Test the remedy for changes made by hand that a deploy leaves, because reverting them would lose records."""

from __future__ import annotations

import pytest

from tests.unit.plan.consequences.scenario import DAY, NOW, Scenario, hourly
from topicwarden.model.planned_change import Action, Severity
from topicwarden.plan.consequences import CONSEQUENCES
from topicwarden.plan.predict import _plan


@pytest.mark.parametrize(
    ("setting", "declared", "by_hand", "rule", "word"),
    [
        ("retention.ms", str(DAY), str(30 * DAY), "retention-cut", "shrink-retention"),
        ("cleanup.policy", "compact", "delete", "compaction", "compact"),
    ],
)
def test_the_remedy_names_the_word_that_allows_the_loss(
    setting: str, declared: str, by_hand: str, rule: str, word: str
) -> None:
    scenario = Scenario({setting: declared}, {setting: by_hand}, (hourly(100),), deployed={setting: declared})
    change = scenario.change()
    needs = CONSEQUENCES[rule].needs(change, NOW)
    assert needs
    plan = _plan(change, [rule], scenario.evidence(needs))
    assert (plan.action, plan.held, [each.severity for each in plan.consequences]) == (
        Action.DRIFT,
        True,
        [Severity.DANGER],
    )
    assert plan.consequences[0].remedy == (
        f"declare it as it is now, or allow the loss: write `allow: [{word}]` into the topic's YAML"
    )
