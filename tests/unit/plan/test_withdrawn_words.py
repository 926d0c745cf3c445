"""Test that a destroy follows the YAML of the last deploy, unless a file that is there now withdraws a word."""

from __future__ import annotations

from datetime import date

import pytest

from tests.support.access_parts import declared_access, deployed_access
from topicwarden.model.deployed_stack import DeployedStack, DeployedTopic
from topicwarden.model.planned_change import RegistryPlan, Severity
from topicwarden.model.problem import Location
from topicwarden.model.subject import DeclaredSubject, DeclaredSubjects, DeployedSubject, RegisteredSchema
from topicwarden.model.topic import Allowance, AllowedChange, Topic
from topicwarden.plan.withdrawn_words import with_withdrawn_subjects, without_withdrawn
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.validated_document import SettingLocations
from topicwarden.specs.yaml_nodes import ParsedDocument

TODAY = date(2030, 1, 2)
BOTH = frozenset({Allowance(AllowedChange.DELETE), Allowance(AllowedChange.REVOKE_ACCESS)})
ONE = frozenset({Allowance(AllowedChange.DELETE)})
"""What remains of both."""
FILE = "access/a.yaml"
STATE = DeployedStack(
    {"t": DeployedTopic("t", 1, 1, {}, Topic("t", 1, 1, allow=BOTH))},
    access=deployed_access(allow={FILE: BOTH}),
    allow={"t": BOTH},
)


@pytest.mark.parametrize(
    ("now", "remaining"),
    [
        (None, BOTH),
        (BOTH, BOTH),
        (ONE, ONE),
        (frozenset({Allowance(AllowedChange.DELETE, date(2030, 1, 1))}), frozenset()),
        (frozenset({Allowance(AllowedChange.DELETE, TODAY), Allowance(AllowedChange.RECREATE)}), ONE),
    ],
)
def test_only_words_that_a_file_which_is_there_still_has_remain(
    now: frozenset[Allowance] | None, remaining: frozenset[Allowance]
) -> None:
    declarations = (
        []
        if now is None
        else [Declaration(Topic("t", 1, 1, allow=now), SettingLocations(ParsedDocument("topics/t.yaml"), (), {}))]
    )
    access = declared_access(allow={} if now is None else {FILE: now})
    found = without_withdrawn(STATE, declarations, access, TODAY)
    declared = found.topics["t"].declared
    assert declared is not None
    assert (declared.allow, found.allow["t"], found.access.allow[FILE]) == (remaining, remaining, remaining)


@pytest.mark.parametrize(("deployed", "now", "refused"), [(True, False, 1), (True, True, 0), (False, False, 0)])
def test_a_subject_whose_word_is_withdrawn_is_refused(deployed: bool, now: bool, refused: int) -> None:
    word, schema = frozenset({Allowance(AllowedChange.DELETE_SUBJECT)}), RegisteredSchema("json", "{}")
    state = DeployedStack(
        subjects={"s": DeployedSubject("s", schema, None, 1, 1, word if deployed else frozenset(), 0)}
    )
    subject = DeclaredSubject("s", schema, "s.json", Location("subjects/s.yaml"), allow=word if now else frozenset())
    plan = with_withdrawn_subjects(RegistryPlan(subjects=[]), state, DeclaredSubjects({"s": subject}), TODAY)
    assert plan is not None
    assert [each.severity for each in plan.consequences] == [Severity.REFUSED] * refused
