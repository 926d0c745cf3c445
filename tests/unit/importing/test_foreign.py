"""Test the files of other tools: each case of ``cases/`` is one import, with its expected result."""

from __future__ import annotations

import pytest

from tests.support.cases import Case, cases, find_case
from tests.support.import_cases import CASES, source, sources
from topicwarden.interchange.convert import FORMATS, SourceFile, read_all
from topicwarden.model.problem import Problem
from topicwarden.specs.fix import apply_fixes
from topicwarden.specs.load import LoadedSpecs
from topicwarden.specs.write import draft


def notes(problems: tuple[Problem, ...]) -> str:
    return "".join(f"== note\n{problem}\n" for problem in problems)


@pytest.mark.parametrize("case", cases(CASES, "good"), ids=lambda case: case.name)
def test_good_files_are_converted_to_the_expected_yaml(case: Case) -> None:
    read = read_all(sources(case))
    assert read.problems == ()
    comments = {one.topic.name: one.comments for one in read.topics}
    schemas = {one.topic.name: one.schemas for one in read.topics}
    assert not any(one.missing for one in read.topics)
    topics, nothing = [one.topic for one in read.topics], LoadedSpecs((), {}, ("dev",), ())
    made = draft(topics, nothing, None, (), comments=comments, schemas=schemas)
    assert made.refused == {}
    files = "".join(f"== {file.path}\n{file.text}" for file in made.files)
    assert files + notes(read.notes) == case.expected
    for file in made.files:
        if file.is_schema:
            continue
        assert apply_fixes(file.text.encode(), file.topic is None) == file.text.encode(), "as `check --fix` likes it"


@pytest.mark.parametrize("case", cases(CASES, "bad"), ids=lambda case: case.name)
def test_every_invalid_entry_is_a_problem_at_its_location(case: Case) -> None:
    read = read_all(sources(case))
    problems = "".join(f"{problem}\n" for problem in read.problems)
    assert problems + notes(read.notes) == case.expected


def test_every_format_has_a_good_and_a_bad_file() -> None:
    read = {
        name: [case for case in cases(CASES, "good") if all(map(one.recognises, sources(case)))]
        for name, one in FORMATS.items()
    }
    assert all(read.values())
    for case in cases(CASES, "good"):
        assert case.name.startswith(next(name for name, found in read.items() if case in found))
    for name in FORMATS:
        assert any(case.name.startswith(name) for case in cases(CASES, "bad"))


def test_a_forced_format_must_match_the_file() -> None:
    strimzi = source(find_case(CASES, "good", "strimzi"))
    assert read_all([strimzi], "strimzi") == read_all([strimzi])
    [problem] = read_all([strimzi], "describe").problems
    message = "expected topics in the format describe, got none; select the format with --from-format"
    assert str(problem) == f"kafka-topics.yaml:1:1: {message} [value]"


def test_a_topic_declared_twice_is_reported_with_both_locations() -> None:
    two = [source(find_case(CASES, "good", name)) for name in ("terraform-state", "terraform-show")]
    assert [problem.message for problem in read_all(two).problems] == [
        "systemd_logs is declared twice, first at terraform.tfstate:22:21; keep one",
        "orders.placed is declared twice, first at terraform.tfstate:44:21; keep one",
    ]


def test_a_note_counts_comments_that_are_too_many_to_list() -> None:
    strimzi = source(find_case(CASES, "good", "strimzi"))
    commented = SourceFile(strimzi.file, strimzi.data + b"# more\n" * 1000)
    [note] = [note for note in read_all([commented]).notes if "comments" in note.message]
    assert note.message.endswith(", and 980 more lines")
