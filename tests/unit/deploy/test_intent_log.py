"""Test the record of what a provider was about to send."""

from __future__ import annotations

from pathlib import Path

from topicwarden.deploy.intent_log import Intent, IntentLog, intent_log, orphans, unfinished
from topicwarden.model.project import Project


def test_the_last_intent_counts_and_a_torn_line_is_ignored(tmp_path: Path) -> None:
    log = IntentLog(tmp_path / "folder" / "dev.jsonl")
    assert log.read() == {}
    log.write(Intent.CREATE, ["a", "b"])
    log.write(Intent.DELETE, ["b"])
    with log.path.open("ab") as file:
        file.write(b'["create", ["c"')
    assert log.read() == {"a": Intent.CREATE, "b": Intent.DELETE}
    log.keep({"a": Intent.CREATE})
    assert log.read() == {"a": Intent.CREATE}


def test_nothing_is_written_for_a_stack_without_a_record(tmp_path: Path) -> None:
    log = IntentLog(tmp_path / "dev.jsonl")
    log.keep({})
    assert not log.path.exists()


def test_only_topics_missing_in_the_state_are_unfinished() -> None:
    intents = {
        "created": Intent.CREATE,
        "in state": Intent.CREATE,
        "refused": Intent.CREATE,
        "deleted": Intent.DELETE,
        "done": Intent.DELETE,
    }
    assert unfinished(intents, deployed=["in state", "deleted"], live=["created", "in state"]) == {
        "created": Intent.CREATE,
        "deleted": Intent.DELETE,
    }


def test_created_topics_that_nobody_declares_are_named_in_one_problem() -> None:
    intents = {f"t{number:02}": Intent.CREATE for number in range(12)} | {"gone": Intent.DELETE}
    (problem,) = orphans(intents, declared=["t00"])
    assert problem.message.startswith("t01, t02, t03, t04, t05, t06, t07, t08, t09, t10 and 1 more: a deploy that was")
    assert orphans(intents, declared=list(intents)) == []


def test_each_project_and_stack_has_its_own_record(tmp_path: Path) -> None:
    logs = [
        intent_log(Project(tmp_path / project), stack)
        for project, stack in (("a", "dev"), ("b", "dev"), ("a", "prod"), ("a", "organization/a/prod"))
    ]
    assert len({log.path for log in logs}) == 3
    assert logs[2].path == logs[3].path
