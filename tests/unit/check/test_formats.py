"""Test each output format: its expected output, its own schema, what runners read, and other projects.

Run this module to write the expected outputs again.
"""

from __future__ import annotations

import json
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent

import pytest
import yaml
from jsonschema import Draft4Validator, Draft202012Validator

from tests.support.cases import cases
from tests.support.command import COMMAND, HERE, Outcome, bad_project, process, project, topicwarden
from topicwarden.cli.schema import SCHEMAS
from topicwarden.model.problem import Level, Location, Problem
from topicwarden.policies.rules import ALL_RULES
from topicwarden.report.problems import FORMATS
from topicwarden.report.problems.digest import ProblemDigest
from topicwarden.report.problems.sarif import describe
from topicwarden.report.problems.text import render as render_text

EXPECTED = Path(__file__).with_name("expected_outputs.yaml")


def outputs(bad: Path) -> dict[str, str]:
    """Return the output of each format for the bad project."""
    return {form: topicwarden("check", "--format", form, cwd=bad).out for form in FORMATS}


# Every format on one project with many kinds of problems.

PLAIN = re.compile(r"(\S+):([0-9]+):([0-9]+): (warning: )?(.+) \[([a-z-]+)\]")


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bad_project(tmp_path_factory.mktemp("repository"))


@pytest.fixture(scope="module")
def seen(bad: Path) -> dict[str, str]:
    return outputs(bad)


@pytest.mark.parametrize("form", FORMATS)
def test_the_whole_output(seen: dict[str, str], form: str) -> None:
    assert seen[form] == yaml.safe_load(EXPECTED.read_text(encoding="utf-8"))[form]


def test_errors_end_with_one_and_are_counted_on_standard_error(bad: Path) -> None:
    done = topicwarden("check", cwd=bad)
    lines = [line for line in done.out.splitlines() if PLAIN.fullmatch(line)]
    warnings = sum(": warning: " in line for line in lines)
    assert done.code == 1
    assert f"{len(lines) - warnings} errors, {warnings} warnings" in done.err


def test_warnings_alone_end_with_zero(tmp_path: Path) -> None:
    topic = "owner: x\npartitions: 1\nreplication_factor: 1\n"
    root = project(tmp_path, {"topics/a.yaml": topic, "topics/b.yaml": f"topic: A\n{topic}"})
    done = topicwarden("check", cwd=root)
    assert (done.code, "[topic-case]" in done.out) == (0, True)


@pytest.mark.parametrize(
    ("key", "lines"),
    [("ownr", 1), ("ownr{}", 5)],
    ids=["the same unknown key", "unknown keys of their own"],
)
def test_errors_of_many_files_share_a_line_only_if_their_messages_are_equal(
    key: str, lines: int, tmp_path: Path
) -> None:
    files = {f"topics/t{n}.yaml": f"partitions: 1\nreplication_factor: 1\n{key.format(n)}: x\n" for n in range(5)}
    root = project(tmp_path, files)
    shown = [line for line in topicwarden("check", cwd=root).out.splitlines() if line.endswith("[unknown-key]")]
    assert len(shown) == lines
    assert ("(4 more problems in topics/)" in shown[0]) == (lines == 1)
    assert len(json.loads(topicwarden("check", "-f", "json", cwd=root).out)["problems"]) == 5


def test_a_terminal_shows_a_screen_of_many_problems_the_errors_first_and_counts_the_others() -> None:
    problems = [
        Problem(Location(f"topics/d{n % 2}/t{n:03}.yaml", 1, 1), f"no {n}", "unknown-key", level)
        for n, level in enumerate([Level.WARNING] * 20 + [Level.ERROR] * 25)
    ]
    page = ProblemDigest(Path(), tuple(problems), (), 45)
    lines = render_text(page, whole=False).splitlines()
    assert [line.split(": ")[1] for line in lines[:-1]].count("warning") == 5
    assert len(lines) == 31
    counts = "and 15 more problems: 15 unknown-key; in 10 topics/d1, 5 topics/d0"
    assert lines[-1] == f"{counts}; `topicwarden --verbose check` prints all"
    assert len(render_text(page).splitlines()) == 45


def test_a_rule_in_few_files_is_shown_with_its_lines(tmp_path: Path) -> None:
    files = {f"topics/t{n}.yaml": "partitions: 1\nreplication_factor: 1\n" for n in range(3)}
    root = project(tmp_path, files | {"policies/p.yaml": "rules: {owner: {level: error}}\n"})
    shown = topicwarden("check", cwd=root).out
    assert (shown.count("[owner]"), shown.count("^"), "more problem" in shown) == (3, 3, False)


def test_all_formats_have_the_same_content(seen: dict[str, str]) -> None:
    reported = [
        (match[1], int(match[2]), match[6], match[5])
        for line in seen["text"].splitlines()
        if (match := PLAIN.fullmatch(line))
    ]
    entries = json.loads(seen["json"])["problems"]
    assert reported == [(each["file"], each["line"], each["rule"], each["message"]) for each in entries]
    results = json.loads(seen["sarif"])["runs"][0]["results"]
    assert [(rule, message) for _, _, rule, message in reported] == [
        (r["ruleId"], r["message"]["text"]) for r in results
    ]
    commands = [line for line in seen["github"].splitlines() if line.startswith(("::error ", "::warning "))]
    assert len(commands) == len(reported) == len(seen["github"].splitlines())
    cases = {case.get("file") for case in ET.fromstring(seen["junit"]).iter("testcase") if len(case)}
    assert cases == {file for file, _, _, _ in reported}


def test_sarif_meets_the_official_schema(seen: dict[str, str]) -> None:
    """The schema is OASIS's own, 2.1.0-rtm.5, from the npm package @microsoft/jest-sarif (MIT)."""
    official = json.loads((HERE / "sarif" / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
    log = json.loads(seen["sarif"])
    assert [error.message for error in Draft4Validator(official).iter_errors(log)] == []
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    for result in log["runs"][0]["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_sarif_counts_columns_in_utf16_and_people_count_characters(seen: dict[str, str]) -> None:
    (entry,) = [each for each in json.loads(seen["json"])["problems"] if "ownr" in each["message"]]
    (result,) = [r for r in json.loads(seen["sarif"])["runs"][0]["results"] if "ownr" in r["message"]["text"]]
    column = result["locations"][0]["physicalLocation"]["region"]["startColumn"]
    assert (entry["column"], column) == (20, 21)


def test_json_meets_its_published_schema(seen: dict[str, str]) -> None:
    Draft202012Validator(SCHEMAS["check"]()).validate(json.loads(seen["json"]))


def test_a_caret_is_below_the_location_after_wide_characters(seen: dict[str, str]) -> None:
    lines = seen["text"].splitlines()
    at = next(number for number, line in enumerate(lines) if '"ownr"' in line)
    # The elephant is two cells wide, so the caret is one column to the right of the key's index in the string.
    assert lines[at + 2].index("^") == lines[at + 1].index("ownr") + 1


def test_every_id_of_a_problem_is_explained(seen: dict[str, str]) -> None:
    ids = {each["rule"] for each in json.loads(seen["json"])["problems"]}
    for case in cases(HERE.parent / "specs" / "cases", "bad"):
        ids |= set(re.findall(r"\[([a-z-]+)\]$", case.expected, re.MULTILINE))
    assert [each for each in sorted({*ids, *ALL_RULES}) if "a rule of this project" in describe(each)[0]] == []


def test_the_github_format_is_the_default_in_actions_and_escapes(tmp_path: Path) -> None:
    root = project(tmp_path, {"topics/a,b%.yaml": 'topic: "50%"\npartitions: 1\nreplication_factor: 1\n'})
    (root / ".git").mkdir()
    done = topicwarden("check", cwd=root, GITHUB_ACTIONS="true")
    assert done.out.startswith("::error file=topics/a%2Cb%25.yaml,line=1,col=8,title=topicwarden%3A topic-name::")
    assert '"50%25"' in done.out
    assert topicwarden("check", "--format", "text", cwd=root, GITHUB_ACTIONS="true").out.startswith("topics/a,b%.yaml:")


def test_locations_are_relative_to_the_repository(tmp_path: Path) -> None:
    root = project(tmp_path / "kafka topics", {"topics/a.yaml": "ownr: x\n"})
    (tmp_path / ".git").mkdir()
    assert "file=kafka topics/topics/a.yaml," in topicwarden("check", "-f", "github", cwd=root).out
    assert '"uri": "kafka%20topics/topics/a.yaml"' in topicwarden("check", "-f", "sarif", cwd=root).out


def test_colours_are_used_only_if_enabled(bad: Path) -> None:
    plain = topicwarden("check", cwd=bad).out
    coloured = topicwarden("check", cwd=bad, FORCE_COLOR="1").out
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert topicwarden("check", cwd=bad, FORCE_COLOR="1", NO_COLOR="1").out == plain


def test_characters_outside_of_the_encoding_are_escaped(bad: Path) -> None:
    done = process("check", cwd=bad, PYTHONIOENCODING="ascii")
    assert done.code == 1
    assert "\\U0001f418" in done.out


def test_control_characters_of_a_file_are_escaped_on_the_terminal(tmp_path: Path) -> None:
    root = project(tmp_path, {"topics/a.yaml": 'ownr: "\x1b[31m\u202e"\n'})
    assert not set(topicwarden("check", cwd=root).out) & {"\x1b", "\u202e"}


def test_an_unknown_format_or_stack_says_what_there_is(bad: Path) -> None:
    done = topicwarden("check", "--format", "xml", cwd=bad)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"topicwarden: there is no format 'xml': expected one of {', '.join(FORMATS)}\n"
    done = topicwarden("check", "--stack", "prd", cwd=bad)
    assert done.code == 2
    assert "no stack prd; stacks: " in done.err
    assert "did you mean prod?" in done.err


def test_a_closed_reader_is_no_error(bad: Path) -> None:
    piped = f"'{COMMAND}' check --format json | head -c 10; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", piped], cwd=bad, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


@pytest.mark.parametrize("form", FORMATS)
def test_no_format_prints_a_password_of_a_stack_file(tmp_path: Path, form: str) -> None:
    topic = "{owner: x, partitions: 1, replication_factor: 1, description: x}\n"
    stack = "config:\n  kafka:bootstrapServers: [a:1]\n  kafka:saslUsername: me\n  kafka:saslPassword: 70713\n"
    root = project(tmp_path, {"topics/a.yaml": topic, "stacks/Pulumi.dev.yaml": stack})
    done = topicwarden("check", "--format", form, cwd=root)
    assert (done.code, "expected text, got another type" in done.out) == (1, True)
    assert "70713" not in done.out + done.err


# Test that user input never becomes a workflow command of GitHub Actions, which reads all output of a step.

ATTACK = "first\\n  ::error::planted\\r::warning::planted ##[error]planted \\e[31mred"
TOPIC = "partitions: 1\nreplication_factor: 1\n"


def _commands(done: Outcome) -> list[str]:
    lines = [line.strip() for line in (done.out + done.err).splitlines()]
    return [line for line in lines if line.startswith("::") or "##[" in line]


@pytest.fixture
def attacked(tmp_path: Path) -> Path:
    policy = (
        f'expressions:\n  - {{id: never, require: "false", message: "{ATTACK}"}}\n'
        f'rules:\n  owner: {{allowed: ["{ATTACK}"]}}\n'
        f'waivers:\n  - {{rule: owner, topics: "*", until: 2020-01-01, reason: "{ATTACK}", by: "{ATTACK}"}}\n'
    )
    topic = f'{TOPIC}owner: "x{ATTACK}"\ndescription: "{ATTACK}"\n'
    return project(tmp_path, {"policies/p.yaml": policy, "topics/a.yaml": topic})


@pytest.mark.parametrize("coloured", ["", "1"])
def test_a_problem_is_one_line_of_text(attacked: Path, coloured: str) -> None:
    done = topicwarden("check", "--format", "text", cwd=attacked, GITHUB_ACTIONS="true", FORCE_COLOR=coloured)
    assert (done.code, _commands(done)) == (1, [])
    assert done.out.count("first ") == 6
    assert "\x1b[31mred" not in done.out


def test_the_name_of_a_stack_is_never_run_as_a_command(attacked: Path) -> None:
    (attacked / "stacks/Pulumi.a\n::error::planted.yaml").write_text("config: []\n")
    done = topicwarden("check", "--format", "text", cwd=attacked, GITHUB_ACTIONS="true")
    assert (done.code, _commands(done)) == (1, [])


@pytest.mark.parametrize("arguments", [("show",), ("show", "a"), ("plan", "--stack", "dev"), ("check", "--stack", "x")])
def test_other_commands_print_none_either(attacked: Path, arguments: tuple[str, ...]) -> None:
    done = topicwarden(*arguments, cwd=attacked, GITHUB_ACTIONS="true")
    assert _commands(done) == []


def test_a_message_of_several_lines_stays_whole_for_machines(attacked: Path) -> None:
    done = topicwarden("check", "--format", "json", cwd=attacked)
    assert "first\\n  ::error::planted" in done.out


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        texts = outputs(bad_project(Path(folder))).items()
        EXPECTED.write_text("".join(f"{form}: |2\n{indent(text, '  ')}" for form, text in texts), encoding="utf-8")
