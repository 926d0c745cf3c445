from __future__ import annotations

from pathlib import Path

from topicwarden.cli.rules import rules_page
from topicwarden.policies.rules import RULES, STACK_RULES

DOCS = Path(__file__).parents[2] / "docs" / "rules.md"


def test_the_page_is_in_step_with_the_rules() -> None:
    """To mend it: ``topicwarden rules > docs/rules.md``."""
    assert DOCS.read_text(encoding="utf-8") == rules_page()


def test_every_rule_has_a_bad_example() -> None:
    bad = Path(__file__).parent / "bad"
    told = "".join(path.read_text(encoding="utf-8") for path in bad.glob("*/expected.txt"))
    assert [name for name in (*RULES, *STACK_RULES) if f"[{name}]" not in told] == []
