"""Test which parts of the demo run, and the chapter of the contract, without a cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from topicwarden.cli.demo import chapters as table
from topicwarden.cli.demo import schemas_chapter, story
from topicwarden.cli.demo.chapters import CHAPTERS, Chapter, Run
from topicwarden.cli.demo.demo import demo
from topicwarden.cli.demo.demo_run import DemoResult, DemoRun
from topicwarden.extensions.sandbox.scenarios import compaction, flights, new_producer, planted_faults
from topicwarden.kafka.connect.stack_connection import on_sandbox_registry
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.operations.check import check_topics
from topicwarden.toolchain import prerequisites

EXAMPLE = Project(REPOSITORY / "examples" / "payments")


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The parts that ran, in their order. Each says only that it ran."""
    names: list[str] = []

    def part(name: str) -> Run:
        def run(prepared: DemoRun) -> Iterator[DemoResult]:
            names.append(name)
            yield name, 1, 1

        return run

    chapters = {name: Chapter(chapter.shows, part(name), chapter.needs) for name, chapter in CHAPTERS.items()}
    monkeypatch.setattr(table, "CHAPTERS", chapters)
    monkeypatch.setattr(story, "prepare", lambda *_: names.append("prepared"))
    monkeypatch.setattr(story, "run", part("story"))
    monkeypatch.chdir(REPOSITORY)
    return names


def test_the_demo_is_the_story_and_names_the_chapters(
    ran: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert demo(tmp_path) == 0
    assert ran == ["prepared", "story"]
    printed = capsys.readouterr().out
    assert [name for name in CHAPTERS if f"\n  {name} " not in printed] == []


def test_selected_chapters_run_in_the_order_of_the_table_without_the_story(ran: list[str], tmp_path: Path) -> None:
    assert demo(tmp_path, ["watch", "usage"]) == 0
    assert ran == ["prepared", "usage", "watch"]


@pytest.mark.usefixtures("registry_java")
def test_all_is_the_story_and_every_chapter(ran: list[str], tmp_path: Path) -> None:
    assert demo(tmp_path, every=True) == 0
    assert ran == ["prepared", "story", *CHAPTERS]


def test_an_unexpected_result_is_exit_code_1(
    ran: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(story, "run", lambda prepared: iter([("records", 2, 3)]))
    assert demo(tmp_path) == 1
    assert "NOT AS EXPECTED  records: 3" in capsys.readouterr().out


def test_an_unknown_chapter_is_refused_with_the_known_ones(ran: list[str], tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=r"there is no chapter 'wath': expected one of contract, access, .*, watch"):
        demo(tmp_path, ["wath"])
    assert ran == []


@pytest.mark.parametrize("every", [False, True])
def test_without_a_newer_java_only_the_schemas_are_refused_and_before_anything_starts(
    ran: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: bool
) -> None:
    monkeypatch.setattr(prerequisites, "_javas", lambda: iter(()))
    with pytest.raises(Refusal, match="Schema Registry needs Java 21"):
        demo(tmp_path, [] if every else ["schemas"], every=every)
    assert ran == []
    assert demo(tmp_path, ["usage"]) == 0


def test_each_chapter_is_a_module_of_its_name() -> None:
    folder = Path(story.__file__).parent
    modules = {path.stem.removesuffix("_chapter").replace("_", "-") for path in folder.glob("*_chapter.py")}
    assert modules == set(CHAPTERS)


def test_only_the_example_of_payments_uses_the_registry() -> None:
    assert on_sandbox_registry(EXAMPLE, "dev")
    assert not on_sandbox_registry(Project(REPOSITORY), "dev")


def test_the_example_of_payments_passes_its_check() -> None:
    report = check_topics(EXAMPLE, None, (), None, print)
    assert (report.topics, report.errors, report.warnings) == (1, 0, 0)


def test_the_chapter_of_schemas_finds_its_example(tmp_path: Path) -> None:
    assert schemas_chapter.example_of(Project(REPOSITORY)) == EXAMPLE
    with pytest.raises(Refusal, match="run the demo in a clone of the topicwarden repository"):
        schemas_chapter.example_of(Project(tmp_path))


@pytest.mark.parametrize(("written", "steps"), [(0, ["fill"]), (53_790, ["delete", "fill"]), (336_776, [])])
def test_the_flights_of_a_demo_that_was_stopped_are_written_again(
    written: int, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def fill(servers: list[str]) -> int:
        made.append("fill")
        return flights.RECORDS

    monkeypatch.setattr(story, "offset_count", lambda servers, topic: written)
    monkeypatch.setattr(story, "delete_topic_records", lambda servers, topic: made.append("delete"))
    monkeypatch.setattr(flights, "fill", fill)
    story.write_flights(["localhost:1"])
    assert made == steps


def test_the_log_cleaner_is_paused_until_the_demo_ends_also_if_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    for function in ("speed_up", "wait_until_clean", "pause", "fill", "restore_default"):
        monkeypatch.setattr(compaction, function, lambda *_, name=function: steps.append(name))
    monkeypatch.setattr(story, "write_flights", lambda _: None)
    monkeypatch.setattr(story, "has_records", lambda *_: True)
    monkeypatch.setattr(planted_faults, "plant", lambda _: None)
    sandbox: Any = SimpleNamespace(bootstrap_servers=["localhost:1"])
    with pytest.raises(Refusal), ExitStack() as resources:
        story._fill(sandbox, resources)
        steps.append("audit")
        raise Refusal("a chapter failed")
    assert steps == ["speed_up", "wait_until_clean", "pause", "fill", "audit", "restore_default"]


class _Writer:
    def __init__(self) -> None:
        self.flights: list[dict[str, Any]] = []

    def send(self, topic: str, key: str | None, value: str, timestamp: int) -> None:
        assert topic == new_producer.TOPIC
        self.flights.append(json.loads(value))


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record what happens to the topic of the new producer, in order."""
    done: list[str] = []
    monkeypatch.setattr(new_producer, "create_topic", lambda *_: done.append("create"))
    monkeypatch.setattr(new_producer, "delete_topic", lambda *_: done.append("delete"))
    return done


def test_the_new_producer_forgets_the_destination_of_exactly_one_flight(
    steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = _Writer()

    @contextmanager
    def writing(servers: list[str]) -> Iterator[_Writer]:
        yield writer

    monkeypatch.setattr(new_producer, "writing", writing)
    with new_producer.producing(["localhost:1"]):
        assert steps == ["delete", "create"]
    assert steps == ["delete", "create", "delete"]
    assert len(writer.flights) == new_producer.RECORDS
    without = [number for number, flight in enumerate(writer.flights) if "dest" not in flight]
    assert without == [new_producer.FAULT]
    ((_, _, first),) = flights.read_first(1)
    assert {frozenset({*flight, "dest"}) for flight in writer.flights} == {frozenset(json.loads(first))}


def test_the_topic_is_deleted_if_a_record_is_not_accepted(steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(servers: list[str]) -> None:
        raise OSError

    monkeypatch.setattr(new_producer, "writing", refuse)
    with pytest.raises(OSError), new_producer.producing(["localhost:1"]):
        pass
    assert steps == ["delete", "create", "delete"]
