"""Test the habits of the command line: help, completion, progress, quiet and verbose commands."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.core import TyperCommand, TyperGroup

from tests.support.command import Outcome, process, project, topicwarden
from tests.support.documents import PARSER
from topicwarden.audit.check_docs import check_docs
from topicwarden.cli import completion, terminal
from topicwarden.cli.pages import MONITORING, PAGES
from topicwarden.policies.rules import ALL_RULES
from topicwarden.report.terminal_output import VERBOSITY

TOPIC = "partitions: 1\nreplication_factor: 1\n"
FILES = {
    "topics/orders/orders.placed.yaml": TOPIC,
    "topics/orders/_defaults.yaml": "owner: me\n",
    "topics/many.yaml": f"topic: orders.paid\n{TOPIC}---\ntopic: 'billing.invoices'  # quoted\n{TOPIC}",
    "topics/flow.yaml": "{topic: orders.flow, partitions: 1, replication_factor: 1}\n",
    "topics/orders.broken.yaml": "topic: [orders.\n\tbroken: {\n",
    "topics/bytes.yaml": "topic: orders.bytes\n\x00",
}


def _commands(group: TyperGroup = PARSER, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], TyperCommand]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from _commands(command, (*path, name))
        else:
            assert isinstance(command, TyperCommand)
            yield (*path, name), command


def completed(root: Path, line: str) -> list[str]:
    """Return what bash would complete at the end of ``line``."""
    words = line.split(" ")
    done = process(cwd=root, _TOPICWARDEN_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1))
    assert (done.code, done.err) == (0, "")
    return done.out.split()


@pytest.mark.parametrize(("path", "command"), [*_commands()], ids=[" ".join(path) for path, _ in _commands()])
def test_help_has_an_example_and_fits_80_columns(path: tuple[str, ...], command: TyperCommand, tmp_path: Path) -> None:
    shown = topicwarden(*path, "--help", cwd=tmp_path, COLUMNS="80").out
    assert max(map(len, shown.splitlines())) <= 80
    words = " ".join(shown.split())
    assert not re.search(r"\.(?:\s|$)", (command.epilog or "").partition("\n\n")[0])  # a copy would have the dot
    for text in (command.help or "", command.epilog or ""):
        for paragraph in text.split("\n\n"):
            assert " ".join(paragraph.split()) in words
    assert f"Example: topicwarden {' '.join(path)}" in words.replace("`", "") or "Example: eval" in words
    for parameter in command.params:
        text = getattr(parameter, "help", "") or ""
        assert " ".join(text.split()) in words, text
    assert not re.search(r"<[a-z]+[]>[]", shown)


@pytest.mark.parametrize("group", ["", "sandbox", "ci"])
def test_the_list_of_commands_has_their_summaries_as_a_whole(group: str, tmp_path: Path) -> None:
    shown = topicwarden(*group.split(), "--help", cwd=tmp_path, COLUMNS="80").out
    assert max(map(len, shown.splitlines())) <= 80
    words = " ".join(shown.split())
    assert "..." not in words.replace("[ARGS]...", "")
    for path, command in _commands():
        if path[:-1] == tuple(group.split()):
            summary, _, _ = (command.help or "").partition("\n\n")
            assert f"{path[-1]} {' '.join(summary.split())}" in words


@pytest.mark.parametrize("arguments", [["--help"], ["up", "--help"], ["chek"], ["up"]])
def test_the_help_and_usage_errors_have_no_escapes(arguments: list[str], tmp_path: Path) -> None:
    done = topicwarden(*arguments, cwd=tmp_path, FORCE_COLOR="1", GITHUB_ACTIONS="true")
    assert "\x1b" not in done.out + done.err


def test_topics_are_completed_from_the_text_of_their_files(tmp_path: Path) -> None:
    root = project(tmp_path, FILES, ("dev", "prod"))
    assert completed(root, "topicwarden show orders.p") == ["orders.paid", "orders.placed"]
    assert "billing.invoices" in completed(root, "topicwarden plan --topics ")
    assert {"orders.flow", "orders.bytes"} <= set(completed(root, "topicwarden audit -t orders."))
    assert not {"_defaults", "many"} & set(completed(root, "topicwarden show "))


def test_stacks_commands_rules_and_checks_are_completed(tmp_path: Path) -> None:
    root = project(tmp_path, FILES, ("dev", "prod"))
    assert completed(root, "topicwarden check --stack ") == ["dev", "prod"]
    assert completed(root, "topicwarden pl") == ["plan"]
    assert completed(root, "topicwarden rules compaction-l") == ["compaction-lag"]


def test_completion_outside_a_project_prints_nothing(tmp_path: Path) -> None:
    assert completed(tmp_path, "topicwarden check --stack ") == []


def test_a_completion_imports_neither_rules_nor_yaml(tmp_path: Path) -> None:
    code = (
        "import sys; from topicwarden.cli import completion, main; completion.topics(''); completion.documented('');"
        "print(sorted({'yaml', 'pydantic', 'rich', 'topicwarden.policies.rules'} & set(sys.modules)))"
    )
    root = project(tmp_path, FILES)
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_every_rule_and_check_can_be_completed_and_printed(tmp_path: Path) -> None:
    ids = {*ALL_RULES, *check_docs()}
    assert set(completion.documented("")) == {*ids, *PAGES, *MONITORING, "all"}
    for name, (_, write) in MONITORING.items():
        assert topicwarden("rules", name, cwd=tmp_path).out == write()
    for name in ("retention", "hot-key"):
        done = topicwarden("rules", name, cwd=tmp_path)
        assert (done.code, done.out.splitlines()[0], len(done.out) > 200) == (0, f"## {name}", True)
    unknown = topicwarden("rules", "retentoin", cwd=tmp_path)
    assert (unknown.code, "did you mean retention?" in unknown.err) == (2, True)


def test_rules_prints_a_screen_and_all_on_request(tmp_path: Path) -> None:
    shown = topicwarden("rules", cwd=tmp_path, COLUMNS="80").out
    assert len(shown.splitlines()) <= 60
    assert max(map(len, shown.splitlines())) <= 80
    words = set(shown.replace(",", " ").split())
    assert {*ALL_RULES, *check_docs(), *PAGES, *MONITORING, "all"} <= words
    whole = topicwarden("rules", "all", cwd=tmp_path).out
    assert all(write() in whole for write in PAGES.values())


def test_progress_without_a_terminal_is_printed_periodically(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "LINE_INTERVAL_S", 0.02)

    def lines(until: str) -> list[str]:
        deadline, text = time.monotonic() + 30, ""
        while until not in text and time.monotonic() < deadline:
            text += capsys.readouterr().err
        return text.splitlines()

    with terminal.waiting("reading the topics") as report:
        assert re.fullmatch(r"reading the topics: [0-9.]+ m?s", lines("\n")[0])
        report(0.42)
        assert re.fullmatch(r"reading the topics: 42% after [0-9.]+ m?s", lines("42%")[-1])
    with terminal.waiting("reading the topics", then="judging the topics") as report:
        report(1.0)
        assert re.fullmatch(r"judging the topics: [0-9.]+ m?s in all", lines("judging")[-1])
    capsys.readouterr()
    monkeypatch.setattr(VERBOSITY, "quiet", True)
    with terminal.waiting("reading the topics") as report:
        report(0.5)
        assert "progress-lines" not in [thread.name for thread in threading.enumerate()]
    assert capsys.readouterr().err == ""


def test_a_quiet_check_prints_problems_only(tmp_path: Path) -> None:
    root = project(tmp_path, {"topics/a.yaml": TOPIC})
    assert topicwarden("check", cwd=root) == Outcome(0, "", "1 topic: 0 errors, 0 warnings\n")
    assert topicwarden("--quiet", "check", cwd=root) == Outcome(0, "", "")
    (root / "topics" / "b.yaml").write_text("partitions: x\n")
    done = topicwarden("-q", "check", cwd=root)
    assert (done.code, "topics/b.yaml:1:13" in done.out, done.err) == (1, True, "")


def test_a_verbose_command_prints_the_details_of_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicwarden.operations.check.selected_stacks", lambda *_: 1 / 0)
    root = project(tmp_path, {"topics/a.yaml": TOPIC})
    brief, verbose = topicwarden("check", cwd=root), topicwarden("-v", "check", cwd=root)
    assert (brief.code, verbose.code) == (2, 2)
    assert "Traceback" not in brief.err
    assert len(brief.err.splitlines()) == 1
    assert "Traceback" in verbose.err


NOTE = (
    "from topicwarden.report.terminal_output import keep_notes_out_of_output, note; "
    "keep_notes_out_of_output(); note('reading'); print('{}')"
)


def test_notes_are_kept_out_of_output_for_machines() -> None:
    merged = subprocess.run(
        [sys.executable, "-c", NOTE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    )
    assert merged.stdout == "{}\n"
    apart = subprocess.run([sys.executable, "-c", NOTE], capture_output=True, text=True, check=True)
    assert (apart.stdout, apart.stderr) == ("{}\n", "reading\n")
