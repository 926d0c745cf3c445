"""Test operations on several stacks: no stack stops another, and a matrix has only what differs."""

from __future__ import annotations

import itertools
import json
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import reports
from tests.support.command import project, topicwarden
from tests.unit.report import plans
from topicwarden.model.finding import Finding
from topicwarden.model.fleet_report import DifferenceKind, StackOutcome, worst_code
from topicwarden.model.planned_change import Action, TopicPlan
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.fleet import declared_differences, fleet_stacks, outcome_differences, run_stacks
from topicwarden.operations.operation_options import ProgressListener, ShareReport

TOPIC = "partitions: 3\nreplication_factor: 3\n"


class Recorder(ProgressListener):
    def __init__(self) -> None:
        self.lines: list[str] = []

    @contextmanager
    def stage(self, status: str, then: str = "") -> Iterator[ShareReport]:
        self.lines += filter(None, [status, then])
        yield lambda share: None

    def note(self, line: str) -> None:
        self.lines.append(line)

    def warn(self, line: str) -> None:
        self.lines.append(f"! {line}")


def well(stack: str, summary: str = "done") -> StackOutcome:
    return StackOutcome(stack=stack, exit_code=0, summary=summary)


@pytest.mark.parametrize("codes", list(itertools.product((0, 1, 2, 3), repeat=3)))
def test_the_worst_code_wins(codes: tuple[int, ...]) -> None:
    assert worst_code(codes) == next(code for code in (2, 1, 3, 0) if code in codes)


def test_no_stack_is_no_problem() -> None:
    assert worst_code([]) == 0


@pytest.mark.parametrize("error", [Refusal("no cluster answers"), OSError("disk"), RuntimeError("a bug"), KeyError(1)])
def test_an_error_is_the_outcome_of_its_stack(error: Exception) -> None:
    def operate(stack: str, listener: ProgressListener) -> StackOutcome:
        if stack == "b":
            raise error
        return well(stack)

    outcomes = run_stacks(["a", "b", "c"], operate, describe=lambda each: f"reason: {each}")
    assert [(each.stack, each.exit_code) for each in outcomes] == [("a", 0), ("b", 2), ("c", 0)]
    assert outcomes[1].summary == f"reason: {error}"


def test_a_signal_ends_all_stacks_even_if_a_library_fails_of_it() -> None:
    started = []

    def operate(stack: str, listener: ProgressListener) -> StackOutcome:
        started.append(stack)
        try:
            raise KeyboardInterrupt
        finally:
            raise ConnectionError("closed half-way")

    with pytest.raises(ConnectionError):
        run_stacks(["a", "b"], operate)
    assert started == ["a"]


def test_progress_names_the_stack() -> None:
    recorder = Recorder()

    def operate(stack: str, listener: ProgressListener) -> StackOutcome:
        with listener.stage("reading", then="judging"):
            listener.note("waiting")
            listener.warn("look")
        return well(stack)

    run_stacks(["a", "b"], operate, listener=recorder)
    of_one = ["{0}: reading", "{0}: judging", "{0}: waiting", "! {0}: look"]
    assert recorder.lines == [
        *(line.format("a") for line in of_one),
        "a (1 of 2): done",
        *(line.format("b") for line in of_one),
        "b (2 of 2): done",
    ]


def test_each_stack_is_taken_once_and_in_order(tmp_path: Path) -> None:
    found = find_project(project(tmp_path, {"topics/a.yaml": TOPIC}, ("west", "east")))
    assert fleet_stacks(found) == ["east", "west"]
    assert fleet_stacks(found, ["west", "east", "west"]) == ["west", "east"]
    with pytest.raises(Refusal, match="no stack wst; stacks: east, west; did you mean west"):
        fleet_stacks(found, ["east", "wst"])


def test_names_that_no_stack_can_have_are_none(tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    for name in (b"dev", b"", b".", b"..", b"\xff"):
        (tmp_path / "stacks" / os.fsdecode(b"Pulumi.%s.yaml" % name)).write_text("config: {}\n")
    assert fleet_stacks(Project(tmp_path)) == ["dev"]
    with pytest.raises(Refusal, match="no stack "):
        fleet_stacks(Project(tmp_path), ["dev", "\udcff"])


def test_a_project_without_stacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="no stacks"):
        fleet_stacks(find_project(project(tmp_path, {"topics/a.yaml": TOPIC}, ())))


def declared(tmp_path: Path, files: dict[str, str], stacks: tuple[str, ...] = ("dev", "prod")) -> Project:
    return find_project(project(tmp_path, {f"topics/{name}.yaml": text for name, text in files.items()}, stacks))


def test_settings_that_differ_are_listed_with_all_their_topics(tmp_path: Path) -> None:
    found = declared(
        tmp_path,
        {
            "b": TOPIC + "stacks: {dev: {partitions: 1}}\n",
            "a": TOPIC + "stacks: {dev: {partitions: 1, config: {retention.ms: 1d}}}\nconfig: {retention.ms: 7d}\n",
            "c": TOPIC + "access: {consume: [{principal: 'User:b', group: g}]}\n"
            "stacks: {prod: {access: {consume: null}, contents: {key: {required: true}}}}\n",
        },
    )
    rows = declared_differences(found, ["dev", "prod"])
    assert [(row.name, list(row.values.values()), row.topics) for row in rows] == [
        ("access.consume", ["User:b group=g", None], ["c"]),
        ("config.retention.ms", ["86400000", "604800000"], ["a"]),
        ("contents.key.required", [None, "true"], ["c"]),
        ("partitions", ["1", "3"], ["a", "b"]),
    ]
    assert declared_differences(found, ["dev", "prod"], ["b", "c", "!c"])[0].topics == ["b"]
    assert declared_differences(found, ["dev", "nope"]) == []


def test_a_thousand_topics_on_five_stacks_are_few_rows(tmp_path: Path) -> None:
    stacks = tuple(f"s{number}" for number in range(5))
    defaults = TOPIC + "stacks: {s0: {partitions: 1, replication_factor: 1}}\n"
    files = {f"t{number:04}": "description: t\n" for number in range(1_000)} | {"_defaults": defaults}
    found = declared(tmp_path, files, stacks)
    began = time.monotonic()
    rows = declared_differences(found, stacks)
    assert time.monotonic() - began < 20
    assert [(row.name, len(row.topics)) for row in rows] == [("partitions", 1_000), ("replication_factor", 1_000)]


def audit(stack: str, *findings: tuple[str, str, Verdict]) -> StackOutcome:
    found = [Finding(topic=topic, check=check, verdict=verdict) for topic, check, verdict in findings]
    return StackOutcome(stack=stack, exit_code=0, summary="", report=reports.report([], found))


def test_verdicts_differ_if_one_is_worse_than_pass() -> None:
    outcomes = [
        audit("a", ("t", "keys", Verdict.FAIL), ("t", "keys", Verdict.PASS), ("u", "keys", Verdict.FAIL)),
        audit("b", ("t", "keys", Verdict.PASS), ("u", "keys", Verdict.FAIL), ("v", "keys", Verdict.PASS)),
        StackOutcome(stack="c", exit_code=2, summary="no cluster answers"),
    ]
    (row,) = outcome_differences(outcomes)
    assert (row.kind, row.name, row.topics) == (DifferenceKind.VERDICT, "keys", ["t"])
    assert row.values == {"a": "fail", "b": "pass"}


def test_changes_differ_by_their_action_and_danger() -> None:
    update = TopicPlan(topic="t", action=Action.UPDATE, location=None, settings=[], consequences=[])
    outcomes = [
        StackOutcome(stack="a", exit_code=0, summary="", report=plans.report([update])),
        StackOutcome(stack="b", exit_code=0, summary="", report=plans.report([])),
        StackOutcome(stack="c", exit_code=1, summary="", report=plans.report([plans.retention_cut()])),
    ]
    rows = outcome_differences(outcomes)
    assert {topic: row.values for row in rows for topic in row.topics} == {
        "t": {"a": "update", "b": None, "c": None},
        plans.retention_cut().topic: {
            "a": None,
            "b": None,
            "c": f"{plans.retention_cut().action.value}, {plans.retention_cut().severity}",
        },
    }


def test_the_order_of_differences_is_always_the_same() -> None:
    findings = [(f"t{n}", f"check-{n % 7}", random.Random(n).choice(list(Verdict))) for n in range(60)]
    shown = []
    for seed in range(5):
        mixed = random.Random(seed).sample(findings, len(findings))
        shown.append(outcome_differences([audit("a", *mixed), audit("b")]))
    assert all(each == shown[0] for each in shown)


# The commands, in this process: nothing here needs a cluster that answers.


BROKEN_FILES = {
    "syntax": "config: {kafka:bootstrapServers: [",
    "setting": "config: {kafka:tlsEnabld: false, kafka:bootstrapServers: [127.0.0.1:1]}\n",
    "no-cluster": "config: {}\n",
    "secret": "encryptionsalt: v1:AAAA\nconfig:\n  kafka:bootstrapServers: [127.0.0.1:1]\n"
    "  kafka:saslMechanism: plain\n  kafka:saslUsername: u\n  kafka:saslPassword: {secure: v1:AAAA:AAAA}\n",
    "rule": "config: {kafka:bootstrapServers: [127.0.0.1:1], kafka:tlsEnabled: false}\n",
    "dead": "config: {kafka:bootstrapServers: [127.0.0.1:1], kafka:tlsEnabled: false}\n",
}


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    root = project(tmp_path, {"topics/a.yaml": TOPIC + "stacks: {rule: {replication_factor: 1}}\n"}, ("rule",))
    (root / "policies").mkdir()
    policy = "rules: {replication-factor: {min: 2}}\n"
    (root / "policies" / "p.yaml").write_text(policy, encoding="utf-8")
    for stack, text in BROKEN_FILES.items():
        (root / "stacks" / f"Pulumi.{stack}.yaml").write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize("command", ["usage", "audit"])
def test_every_stack_has_a_line_with_its_own_reason(fleet: Path, command: str) -> None:
    done = topicwarden(command, "--all-stacks", "--format", "json", cwd=fleet, PATH="")
    report = json.loads(done.out)
    reasons = {each["stack"]: each["summary"] for each in report["stacks"]}
    assert (done.code, {each["exit_code"] for each in report["stacks"]}) == (2, {2})
    assert list(reasons) == sorted(BROKEN_FILES)
    assert "stacks/Pulumi.syntax.yaml:1:" in reasons["syntax"] or "stacks/Pulumi.syntax.yaml:2:" in reasons["syntax"]
    assert "tlsEnabld" in reasons["setting"]
    assert "names no cluster" in reasons["no-cluster"]
    assert "encrypted settings" in reasons["secret"]
    assert "127.0.0.1:1" in reasons["dead"] or "Java" in reasons["dead"]
    assert "topics/a.yaml:3:" in reasons["rule"]
    assert not any("unexpected error" in reason for reason in reasons.values())
    assert [row["name"] for row in report["differences"]] == ["replication_factor"]


def test_one_name_twice_is_one_stack(fleet: Path) -> None:
    once = topicwarden("usage", "--stack", "dead", cwd=fleet)
    assert topicwarden("usage", "--stack", "dead", "-s", "dead", cwd=fleet) == once
    assert (once.code, once.out) == (2, "")


@pytest.mark.parametrize("command", ["check", "plan", "audit", "usage"])
def test_all_stacks_and_one_stack_are_refused(fleet: Path, command: str) -> None:
    done = topicwarden(command, "--all-stacks", "--stack", "dead", cwd=fleet)
    assert (done.code, done.out) == (2, "")
    assert "remove --stack, or remove --all-stacks" in done.err


@pytest.mark.parametrize("command", ["plan", "audit", "usage"])
def test_no_stack_is_a_missing_option(fleet: Path, command: str) -> None:
    done = topicwarden(command, cwd=fleet)
    assert done.code == 2
    assert "Missing option '--stack' / '-s'" in done.err


@pytest.mark.parametrize("command", ["plan", "audit", "usage"])
def test_a_command_that_only_reads_takes_the_only_stack(tmp_path: Path, command: str) -> None:
    root = project(tmp_path, {"topics/one.yaml": "partitions: 1\nreplication_factor: 1\n"})
    (root / "stacks" / "Pulumi.dev.yaml").write_text("config: {no-such-setting: 1}\n")
    done = topicwarden(command, cwd=root)
    assert (done.code, "Missing option" in done.err) == (2, False)
    assert done == topicwarden(command, "--stack", "dev", cwd=root)
    assert "Missing option" in topicwarden("up", cwd=root).err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("audit", "--format", "junit"), "no format 'junit'"),
        (("audit", "--authorizer-log", "logs"), "--authorizer-log"),
        (("audit", "--out", "s3a://bucket/reports"), "--out of several stacks"),
        (("usage", "--write"), "--write"),
        (("usage", "--format", "openmetrics"), "no format 'openmetrics'"),
        (("usage", "--format", "yaml"), "no format 'yaml'"),
        (("plan", "--format", "sarif"), "no format 'sarif'"),
        (("check", "topics"), "remove PATH"),
        (("check", "--fix"), "remove PATH"),
    ],
)
def test_what_is_about_one_stack_is_refused(fleet: Path, arguments: tuple[str, ...], reason: str) -> None:
    done = topicwarden(*arguments, "--all-stacks", cwd=fleet)
    assert (done.code, done.out) == (2, "")
    assert reason in done.err
    assert "unexpected error" not in done.err


def test_a_plan_in_github_actions_has_an_error_for_each_stack_that_could_not_run(fleet: Path) -> None:
    done = topicwarden("plan", "--all-stacks", cwd=fleet, GITHUB_ACTIONS="true", PATH="")
    *errors, last = done.out.splitlines()
    assert (done.code, last) == (2, "6 stacks: 6 could not run; exit code 2")
    assert len(errors) == len(BROKEN_FILES)
    for stack, line in zip(sorted(BROKEN_FILES), errors, strict=True):
        assert line.startswith(f"::error title=topicwarden plan::stack {stack} could not be planned: ")


# `check` has always looked at all stacks; with --all-stacks it also compares them.


def test_a_check_of_all_stacks_has_the_same_problems_and_a_matrix(fleet: Path) -> None:
    plain = topicwarden("check", cwd=fleet)
    done = topicwarden("check", "--all-stacks", cwd=fleet)
    assert (plain.code, done.code) == (1, 1)
    assert done.out.startswith(plain.out)
    assert done.err == plain.err
    matrix = done.out.removeprefix(plain.out)
    assert "=== settings that differ" in matrix
    assert "✗ rule: 1 topic: 1 error" in matrix
    assert "✗ syntax: 1 topic: 1 error" in matrix
    assert max(map(len, matrix.splitlines())) <= 80


def test_a_check_counts_the_errors_of_each_stack(tmp_path: Path) -> None:
    files = {"topics/a.yaml": TOPIC + "stacks: {b: {config: {retention.ms: -5}}}\nconfig: {bad.name: 1}\n"}
    done = topicwarden("check", "--all-stacks", "--format", "json", cwd=project(tmp_path, files, ("a", "b")))
    report = json.loads(done.out)
    assert report["check"]["errors"] == len(report["check"]["problems"])
    assert [each["exit_code"] for each in report["stacks"]] == [1, 1]


def test_a_check_of_several_stacks_writes_the_files_of_one_and_the_comparison(tmp_path: Path) -> None:
    root = project(tmp_path, {"topics/a.yaml": TOPIC}, ("dev", "prod"))
    done = topicwarden("check", "--stack", "dev", "--stack", "prod", "--out", "out", cwd=root)
    assert done.code == 0
    assert "✓ dev: 1 topic: 0 errors" in done.out
    assert json.loads((root / "out" / "fleet.json").read_text(encoding="utf-8"))["exit_code"] == 0
    assert {each.name for each in (root / "out").iterdir()} == {"check.json", "check.sarif", "check.xml", "fleet.json"}


def test_formats_for_build_servers_have_the_problems_only(fleet: Path) -> None:
    for form in ("github", "sarif", "junit"):
        plain = topicwarden("check", "--format", form, cwd=fleet)
        assert topicwarden("check", "--all-stacks", "--format", form, cwd=fleet).out == plain.out
