"""Compare the reader, and the schemas that ``check`` accepts, with the public suites of JSON and JSON Schema."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.campaigns.conformance.library_versions import Selection, night_only
from tests.campaigns.conformance.suites import DRAFTS, cases, remotes
from tests.spark.codecs.judge import INVALID, VALID, Judge, compiles
from tests.support.conformance_data import suite
from topicwarden.specs.record_schemas import COMPILERS

# JSON against RFC 8259: nst/JSONTestSuite.

CONTRACTS = pytest.mark.parametrize(
    "contract",
    [{"value": {"format": "json"}}, {"value": {"format": "json", "schema": "{}"}}],
    ids=["plain", "with a schema"],
)


@night_only("with a schema")
@CONTRACTS
def test_public_suite(judge: Judge, selection: Selection, contract: dict[str, object]) -> None:
    files = selection.of(sorted(suite("json-parsing").glob("test_parsing/*.json")))
    verdicts = judge.values(contract, [file.read_bytes() for file in files])
    wrong = [
        f"{file.name}: {verdict}"
        for file, verdict in zip(files, verdicts, strict=True)
        if verdict.outcome != {"y": VALID, "n": INVALID}.get(file.name[0], verdict.outcome)
    ]
    assert len(files) > 300 // selection.share
    assert wrong == []


# JSON Schema against the public suite.

OPTIONAL = Path(__file__).parent / "optional.txt"


def differences(judge: Judge, draft: str, selection: Selection, *, optional: bool) -> tuple[list[tuple[str, str]], int]:
    """Return each test whose verdict differs from the suite, with that verdict, and the number of tests."""
    found, count = [], 0
    for case in cases(draft, selection, optional=optional):
        verdicts = judge.json_schema(case.schema, remotes(draft), [value for _, value, _ in case.tests])
        for number, (name, _, valid) in enumerate(case.tests):
            seen = verdicts if isinstance(verdicts, str) else verdicts[number].outcome
            count += 1
            if seen != (VALID if valid else INVALID):
                found.append((f"{case.name}: {name}", seen))
    return found, count


@night_only("draft7")
@pytest.mark.parametrize("draft", DRAFTS)
def test_every_required_test_of_the_suite(judge: Judge, selection: Selection, draft: str) -> None:
    found, count = differences(judge, draft, selection, optional=False)
    assert count > (600 if selection.share == 1 else 60)  # the files have different numbers of tests
    assert found == []


@night_only("draft2020-12")
@pytest.mark.parametrize("draft", DRAFTS)
def test_optional_tests_differ_only_where_the_list_says_why(judge: Judge, selection: Selection, draft: str) -> None:
    lines = (line.partition(" -- ")[0].split() for line in OPTIONAL.read_text(encoding="utf-8").splitlines())
    listed = {file: int(count) for of, file, count in lines if of == draft}
    selected = {case.name.partition(":")[0] for case in cases(draft, selection, optional=True)}
    found, _ = differences(judge, draft, selection, optional=True)
    assert {seen for _, seen in found} <= {VALID}
    assert Counter(name.partition(":")[0] for name, _ in found) == {
        file: count for file, count in listed.items() if file in selected
    }
    assert selection.share > 1 or listed.keys() <= selected


# The schemas that `topicwarden check` accepts.

REFUSED = {
    "vocabulary.json": "a draft of one's own",
    "optional/format-assertion.json": "a draft of one's own",
    "optional/cross-draft.json": "a draft of one's own",
}
"""Suite files with self-contained schemas that are rejected."""


@night_only("draft2019-09")
@pytest.mark.parametrize("draft", DRAFTS)
def test_every_schema_of_the_suite_that_stands_alone_is_accepted_and_compiles(
    judge: Judge, selection: Selection, draft: str
) -> None:
    wrong, count = [], 0
    for case in (case for optional in (False, True) for case in cases(draft, selection, optional=optional)):
        error = COMPILERS["json"](case.schema, None)
        if case.remote or case.name.partition(":")[0] in REFUSED:
            continue
        count += 1
        if error or (error := compiles(judge, "json", case.schema)):
            wrong.append(f"{case.name}: {error}")
    assert count > (150 if selection.share == 1 else 20)
    assert wrong == []


@night_only("draft2020-12")
@pytest.mark.parametrize("draft", DRAFTS)
def test_the_suite_gets_the_same_verdicts_from_the_contract_of_an_audit(
    judge: Judge, selection: Selection, draft: str
) -> None:
    """For schemas that ``check`` accepts, the reader's verdicts match the suite."""
    wrong = []
    for case in cases(draft, selection, optional=False):
        if COMPILERS["json"](case.schema, None) is None:
            contract = {"value": {"format": "json", "schema": case.schema}}
            verdicts = judge.values(contract, [value for _, value, _ in case.tests])
            wrong += [
                f"{case.name}: {name}: {verdict}"
                for (name, _, valid), verdict in zip(case.tests, verdicts, strict=True)
                if verdict.outcome != (VALID if valid else INVALID)
            ]
    assert wrong == []
