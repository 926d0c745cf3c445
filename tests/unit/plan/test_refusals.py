"""Test that a refused deploy explains each kind of refusal once, and names what else is refused."""

from __future__ import annotations

from topicwarden.model.problem import Location, Problem
from topicwarden.plan.predict import refusal_text


def refused(number: int, kind: str = "destroyed") -> list[Problem]:
    return [
        Problem(Location(f"topics/t{each:03}.yaml"), f"t{each:03}: it would be deleted: {'x' * 400}", rule=kind)
        for each in range(number)
    ]


def test_a_few_refusals_are_all_explained() -> None:
    problems = [*refused(5), *refused(5, "foreign")]
    assert refusal_text(problems, "dev").splitlines() == list(map(str, problems))


def test_the_first_of_many_equal_refusals_is_explained_and_the_others_are_named() -> None:
    problems = [*refused(300), *refused(1, "foreign")]
    first, others, foreign = refusal_text(problems, "dev").splitlines()
    assert (first, foreign) == (str(problems[0]), str(problems[-1]))
    assert others.startswith("destroyed also refuses t001, t002, ")
    assert others.endswith("t020 and 279 more; `topicwarden plan --stack dev` has the reasons")
