"""Test the waivers that an import writes, and what it prints, with clusters that people made over years."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.command import Outcome, topicwarden
from tests.support.grown_clusters import described, grown_topics
from topicwarden.model.timestamps import today

UNTIL = "2999-12-31"
SCREEN = 60
OWNER = "rules: {owner: {level: error}, description: {level: warning}}\n"


def empty_project(root: Path, text: str, policies: str | None = None) -> Path:
    """Create a project without topics, and with the source ``text``; ``policies`` replace those of ``init``."""
    assert topicwarden("init", "--empty", "project", cwd=root).code == 0
    project = root / "project"
    (project / "source").write_text(text)
    if policies is not None:
        (project / "policies" / "topics.yaml").write_text(policies)
    return project


def adopt(project: Path, *arguments: str) -> Outcome:
    return topicwarden("import", "--from", "source", *arguments, cwd=project)


def waivers(project: Path, name: str = "imported.yaml") -> list[dict[str, Any]]:
    text = (project / "policies" / name).read_text()
    loaded: dict[str, list[dict[str, Any]]] = yaml.safe_load(text)
    return loaded["waivers"]


@pytest.mark.nightly("The suite keeps one seed.", stays=("0",))
@pytest.mark.parametrize("seed", range(3))
def test_three_hundred_topics_have_no_error_with_waivers(tmp_path: Path, seed: int) -> None:
    topics = grown_topics(seed, 300)
    project = empty_project(tmp_path, described(topics))
    done = adopt(project, "--waive-until", UNTIL)
    assert done.code == 0, done.out + done.err
    assert "0 errors" in done.err
    checked = topicwarden("check", cwd=project)
    assert checked.code == 0, checked.out
    assert "300 topics: 0 errors" in checked.err
    assert sum(len(waiver["topics"]) for waiver in waivers(project)) > 300
    folders = len({path.parent for path in (project / "topics").rglob("*.yaml")})
    rules = {waiver["rule"] for waiver in waivers(project)}
    assert len(waivers(project)) <= folders * len(rules)


@pytest.mark.nightly("The suite keeps one seed.", stays=("0",))
@pytest.mark.parametrize("seed", range(3))
def test_the_problems_of_many_topics_fit_a_screen(tmp_path: Path, seed: int) -> None:
    project = empty_project(tmp_path, described(grown_topics(seed, 200)))
    done = adopt(project)
    assert done.code == 1
    problems = [line for line in done.out.splitlines() if "]" in line or "|" in line]
    assert len(problems) <= SCREEN, done.out
    assert "--waive-until DATE writes waivers" in done.err
    everything = json.loads(topicwarden("check", "--format", "json", cwd=project).out)["problems"]
    assert len(everything) > 400, "programs get every problem"


def test_a_folder_without_owners_is_one_line_with_its_repair(tmp_path: Path) -> None:
    names = [f"{folder}.topic{number}" for folder in "abcdef" for number in range(50)]
    project = empty_project(tmp_path, ",".join(f"{name}:1:1" for name in names), "rules: {owner: {level: error}}\n")
    lines = [line for line in adopt(project).out.splitlines() if line.endswith("[owner]")]
    assert lines == [
        f"topics/{folder}/{folder}.topic0.yaml:1:1: {folder}.topic0 has no owner; write owner: with the responsible "
        f"team (49 more problems in topics/{folder}/; for all: `owner: TEAM` in topics/{folder}/_defaults.yaml) [owner]"
        for folder in "abcdef"
    ]
    for folder in "abcdef":
        with (project / "topics" / folder / "_defaults.yaml").open("a") as file:
            file.write("owner: TEAM\n")
    assert topicwarden("check", cwd=project).code == 0


def test_a_waiver_names_the_topics_of_one_rule_and_folder(tmp_path: Path) -> None:
    project = empty_project(tmp_path, "a.one:1:1,a.two:1:1,b.one:1:1,null:1:1,1e3:1:1", OWNER)
    assert adopt(project, "--waive-until", UNTIL).code == 0
    assert [(waiver["rule"], waiver["topics"]) for waiver in waivers(project)] == [
        ("owner", ["1e3", "null"]),
        ("owner", ["a.one", "a.two"]),
        ("owner", ["b.one"]),
    ]
    assert {str(waiver["until"]) for waiver in waivers(project)} == {UNTIL}
    (project / "topics" / "a" / "a.three.yaml").write_text("partitions: 1\nreplication_factor: 1\n")
    later = topicwarden("check", cwd=project)
    assert later.code == 1
    assert "a.three has no owner" in later.out, "a new topic obeys the rules"


def test_warnings_are_shown_and_not_waived(tmp_path: Path) -> None:
    project = empty_project(tmp_path, "a:1:1,b:1:1", "rules: {description: {level: warning}}\n")
    done = adopt(project, "--waive-until", UNTIL)
    assert done.code == 0
    assert "has no description" in done.out
    assert not (project / "policies" / "imported.yaml").exists()


def test_without_the_option_no_waiver_is_written(tmp_path: Path) -> None:
    project = empty_project(tmp_path, "a:1:1", OWNER)
    assert adopt(project).code == 1
    assert sorted(path.name for path in (project / "policies").glob("*.yaml")) == ["PulumiPolicy.yaml", "topics.yaml"]


def test_a_second_import_waives_what_the_first_left(tmp_path: Path) -> None:
    project = empty_project(tmp_path, "a:1:1", OWNER)
    assert adopt(project).code == 1
    again = adopt(project, "--waive-until", UNTIL)
    assert again.code == 0, again.out + again.err
    first = (project / "policies" / "imported.yaml").read_text()
    assert adopt(project, "--waive-until", UNTIL).code == 0
    assert not (project / "policies" / "imported-2.yaml").exists()
    (project / "source").write_text("a:1:1,b:1:1")
    assert adopt(project, "--waive-until", UNTIL).code == 0
    assert [waiver["topics"] for waiver in waivers(project, "imported-2.yaml")] == [["b"]]
    assert (project / "policies" / "imported.yaml").read_text() == first


def test_only_selected_topics_are_waived(tmp_path: Path) -> None:
    project = empty_project(tmp_path, "a:1:1,b:1:1", OWNER)
    assert adopt(project).code == 1
    adopt(project, "--waive-until", UNTIL, "b")
    assert [waiver["topics"] for waiver in waivers(project)] == [["b"]]


def test_a_budget_of_the_stack_does_not_count_imported_topics(tmp_path: Path) -> None:
    project = empty_project(tmp_path, "a:1:1,b:1:1", "rules: {partition-budget: {topics_max: 1}}\n")
    assert adopt(project, "--waive-until", UNTIL).code == 0
    assert topicwarden("check", cwd=project).code == 0
    assert [(waiver["rule"], waiver["topics"]) for waiver in waivers(project)] == [("partition-budget", ["a", "b"])]


def test_a_dry_run_shows_the_waivers_and_writes_none(tmp_path: Path) -> None:
    project = empty_project(tmp_path, "a:1:1", OWNER)
    dry = adopt(project, "--dry-run", "--waive-until", UNTIL)
    assert dry.code == 0
    assert "+++ b/policies/imported.yaml" in dry.out
    assert not (project / "policies" / "imported.yaml").exists()


def test_a_waiver_may_end_today(tmp_path: Path) -> None:
    project = empty_project(tmp_path, "a:1:1", OWNER)
    assert adopt(project, "--waive-until", str(today())).code == 0


@pytest.mark.parametrize(
    ("day", "output"),
    [
        ("2020-01-31", "waivers until 2020-01-31 have expired: expected a day from"),
        ("2027-02-30", "expected a day of the calendar such as 2027-01-31, got the text"),
        ("soon", "expected a day of the calendar such as 2027-01-31, got the text"),
    ],
)
def test_a_day_that_is_over_or_none_is_refused(tmp_path: Path, day: str, output: str) -> None:
    project = empty_project(tmp_path, "a:1:1", OWNER)
    done = adopt(project, "--waive-until", day)
    assert done.code == 2
    assert output in done.err
    assert not list((project / "topics").rglob("a.yaml"))
