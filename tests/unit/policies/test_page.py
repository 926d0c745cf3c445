from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cases import cases
from tests.support.policy_cases import CASES
from topicwarden.audit.checks import check_docs
from topicwarden.pages import PAGES
from topicwarden.policies.rules import RULES, STACK_RULES

_PARTS = ["Example", "Confirm", "Remedy", "Prevent", "Source"]
DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_are_in_step_with_the_rules_and_checks(name: str) -> None:
    """Run ``topicwarden rules NAME > docs/NAME.md`` to update a page."""
    assert (DOCS / f"{name}.md").read_text(encoding="utf-8") == PAGES[name]()


def test_every_rule_has_a_bad_example() -> None:
    reported = "".join(case.expected for case in cases(CASES, "bad"))
    assert [name for name in (*RULES, *STACK_RULES) if f"[{name}]" not in reported] == []


@pytest.mark.parametrize("check", check_docs())
def test_every_check_documents_its_proof_example_and_source(check: str) -> None:
    """The first sentence says what the check reports. The other parts are paragraphs in this order."""
    lead, *parts = check_docs()[check].split("\n\n")
    assert lead.endswith("."), check
    assert "**fail**" in "".join(parts), check
    assert [part.partition(":")[0] for part in parts[-5:]] == _PARTS, check
