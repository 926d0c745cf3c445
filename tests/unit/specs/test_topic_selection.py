"""The message for ``--topics`` that match nothing."""

from __future__ import annotations

import pytest

from topicwarden.model.topic_selection import none_selected

NAMES = ["shop.orders", "shop.customers", "billing.invoices"]


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        (["shop.odrers"], "no declared topic matches --topics shop.odrers; did you mean shop.orders?"),
        (["shpo.*"], "no declared topic matches --topics shpo.*; did you mean shop.*?"),
        (
            ["shop.odrers", "biling.*"],
            "no declared topic matches --topics shop.odrers or biling.*; did you mean shop.orders or billing.*?",
        ),
        (["zzz"], "no declared topic matches --topics zzz"),
        (["!*"], "no declared topic matches --topics !*"),
        ([], "there is no declared topic"),
    ],
)
def test_patterns_without_a_match_have_a_suggestion(patterns: list[str], message: str) -> None:
    assert str(none_selected("declared topic", patterns, NAMES)) == message
