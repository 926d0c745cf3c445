"""Test a watch of several stacks: no stack stops or hides another, and each has its own lock, metrics and report."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.support.clients import until
from tests.support.command import project, topicwarden
from tests.support.reports import empty, rich
from tests.support.stopped_clock import Clock
from tests.support.watched import get
from topicwarden.audit.request import AuditRequest
from topicwarden.extensions.watch import watched_stack
from topicwarden.extensions.watch.audit_loop import AuditLoop, Schedule, WatchState, run_in_turn
from topicwarden.extensions.watch.history_lock import HistoryInUse, history_lock, lock_path
from topicwarden.extensions.watch.http_server import PageRequest
from topicwarden.extensions.watch.served_pages import ServedPages
from topicwarden.extensions.watch.watch_operation import watch_stacks
from topicwarden.model.finding import AuditReport
from topicwarden.model.fleet_report import FleetReport
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.operations.operation_options import ProgressListener, WatchOptions
from topicwarden.report.audit.background import ReportBackground

VALID = "partitions: 1\nreplication_factor: 1\n"
SERVER = "config: {'kafka:bootstrapServers': ['127.0.0.1:1'], 'kafka:tlsEnabled': false}\n"
UNREACHABLE = Refusal("the cluster does not respond")
EVERY = 60.0


@dataclass
class Lines(ProgressListener):
    """The lines of a watch."""

    lines: list[str] = field(default_factory=list)

    def note(self, line: str) -> None:
        self.lines.append(line)

    def warn(self, line: str) -> None:
        self.lines.append(line)


def starts(seconds: float, stacks: dict[str, tuple[float, bool]]) -> list[tuple[str, float]]:
    """Return the audits of ``stacks``, which have the duration of an audit and whether it succeeds, with their time."""
    clock, found = Clock(seconds), list[tuple[str, float]]()

    def loop_of(stack: str, took: float, succeeds: bool) -> AuditLoop:
        def audit() -> AuditReport:
            found.append((stack, clock.now))
            clock.now += took
            if succeeds:
                return empty()
            raise UNREACHABLE

        return AuditLoop(
            WatchState(stack, EVERY), Schedule(EVERY), lambda: None, audit, lambda _: None, Lines(),
            clock=clock, monotonic=clock,
        )  # fmt: skip

    run_in_turn([loop_of(stack, *behaviour) for stack, behaviour in stacks.items()], clock, clock)
    return found


def test_audits_run_in_turn_and_each_stack_keeps_its_interval() -> None:
    assert starts(125, {"a": (2, True), "b": (3, True)}) == [
        *(("a", 0), ("b", 2)),
        *(("a", 60), ("b", 62)),
        *(("a", 120), ("b", 122)),
    ]


def test_a_stack_that_fails_late_delays_the_others_by_one_audit_at_most() -> None:
    late = 40.0
    found = starts(100 * EVERY, {"lost": (late, False), "a": (1, True), "b": (1, True)})
    for stack in ("a", "b"):
        times = [time for name, time in found if name == stack]
        assert max(later - earlier for earlier, later in itertools.pairwise(times)) <= EVERY + late + 2
    assert len([name for name, _ in found if name == "lost"]) > 50


def test_many_lost_stacks_leave_turns_to_a_good_one() -> None:
    found = starts(200 * EVERY, {**{f"lost-{number}": (20, False) for number in range(5)}, "good": (1, True)})
    times = [time for name, time in found if name == "good"]
    assert max(later - earlier for earlier, later in itertools.pairwise(times)) <= EVERY + 5 * 20 + 2


def served(*states: WatchState) -> ServedPages:
    def compare(outcomes: Any) -> FleetReport:
        return FleetReport("audit", outcomes, [])

    return ServedPages(states, ReportBackground(), lambda: True, compare)


def page(pages: ServedPages, path: str, *, authorized: bool = True) -> tuple[int, str]:
    found = pages(PageRequest(path, "", authorized))
    return (404, "") if found is None else (found.status, found.body.decode())


GOOD = WatchState("dev", EVERY, report=rich(), last_audit=20.0, last_success=20.0, declarations_valid=True)
LOST = WatchState("prod", EVERY, last_audit=30.0, failed_audits=2, failure="the cluster does not respond")
BROKEN = WatchState(
    "test", EVERY, report=empty(), last_audit=9.0, last_success=9.0, failed_audits=1, failure="no access",
    declarations_valid=False, declarations_problem="topics/a.yaml:1:1: broken",
)  # fmt: skip


def test_one_page_has_the_metrics_of_all_stacks_as_valid_openmetrics() -> None:
    pages = served(GOOD, LOST, BROKEN)
    pages.add_metrics("prod", lambda: {"watch_pending_deliveries": ("Waiting.", [({"receiver": "hook"}, 3)])})
    _, text = page(pages, "/metrics")
    parse: Any = text_string_to_metric_families
    families = {family.name: family for family in parse(text)}  # fails if a family is not in one piece

    def by_stack(name: str) -> dict[str, float]:
        return {each.labels["stack"]: each.value for each in families[f"topicwarden_{name}"].samples}

    assert by_stack("watch_failed_audits") == {"dev": 0, "prod": 2, "test": 1}
    assert by_stack("watch_declarations_valid") == {"dev": 1, "test": 0}
    assert by_stack("watch_pending_deliveries") == {"prod": 3}
    assert by_stack("audit_coverage_ratio").keys() == {"dev", "test"}


def test_the_first_page_is_the_report_on_all_stacks() -> None:
    pages = served(GOOD, LOST)
    assert page(pages, "/") == page(pages, "/report")
    assert page(pages, "/")[0] == 200


def test_the_open_page_of_all_stacks_is_loaded_again_after_the_next_audit_of_any() -> None:
    soon, later = (replace(GOOD, stack=name, next_audit=time.time() + s) for name, s in (("a", 60), ("b", 600)))
    pages = served(later, soon)
    shown, data = (pages(PageRequest(path, "", authorized=True)) for path in ("/report", "/report.json"))
    assert shown is not None
    assert data is not None
    assert shown.again_s is not None
    assert 55 <= shown.again_s <= 62
    assert data.again_s is None


def test_each_stack_has_its_report_and_all_have_one_with_links() -> None:
    pages = served(GOOD, LOST, BROKEN)
    assert page(pages, "/stacks/dev/report.json")[0] == 200
    assert "orders.placed.v1" in page(pages, "/stacks/dev/report")[1]
    status, text = page(pages, "/stacks/prod/report")
    assert (status, "No audit has finished: the last one failed (the cluster does not respond)" in text) == (503, True)
    for path in (
        "/stacks/other/report",
        "/stacks/dev",
        "/stacks/",
        "/stacks/dev/report/",
        "/usage.html",
        "/dev/report",
    ):
        assert page(pages, path)[0] == 404, path
    status, text = page(pages, "/report")
    assert status == 200
    assert 'href="stacks/dev/report"' in text
    assert 'href="stacks/test/report"' in text
    assert "stacks/prod/report" not in text
    assert "could not run: the cluster does not respond" in text
    assert "could not run: no access; its report is of 1970-01-01T00:00:09Z" in text
    document = page(pages, "/report.json")[1]
    assert '"exit_code": 2' in document
    pages.publish(BROKEN.__class__("prod", EVERY, report=empty(), last_audit=40.0, last_success=40.0))
    assert 'href="stacks/prod/report"' in page(pages, "/report")[1]


def test_a_watch_is_ready_once_one_stack_has_a_report_and_shows_details_with_a_token_only() -> None:
    fresh = WatchState("dev", EVERY)
    pages = served(fresh, LOST)
    assert page(pages, "/readyz", authorized=False) == (503, "not ready: no audit has finished\n")
    pages.publish(GOOD)
    assert page(pages, "/readyz", authorized=False) == (200, "ready\n")
    status, text = page(pages, "/readyz")
    assert status == 200
    assert text.index("stack: dev") < text.index("stack: prod") < text.index("2 audits failed in a row: the cluster")
    pages.stop()
    assert page(pages, "/readyz")[0] == 503


def test_only_the_pages_of_one_stack_are_kept() -> None:
    pages = served(*(WatchState(f"s{number}", EVERY, report=rich()) for number in range(20)))
    for number in range(20):
        page(pages, f"/stacks/s{number}/report")
        page(pages, f"/stacks/s{number}/report.json")
    (of, kept) = pages._rendered
    assert (len(of), sorted(kept)) == (1, ["/report", "/report.json"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a project in which only the stack ``good`` is as it must be."""
    return project(
        tmp_path,
        {
            "topics/a.v1.yaml": VALID + "stacks: {typo: {config: {min.insync.replicas: 3}}}\n",
            "stacks/Pulumi.broken.yaml": "config: {'kafka:bootstrapServers': [\n",
            "stacks/Pulumi.good.yaml": SERVER,
            "stacks/Pulumi.lost.yaml": SERVER,
            "stacks/Pulumi.typo.yaml": SERVER,
        },
        (),
    )


@dataclass
class Watch:
    """A watch in a thread of this process, whose audits read nothing."""

    listener: Lines = field(default_factory=Lines)
    finished: list[bool] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.listener.lines[0].rpartition(":")[2])

    def text(self, path: str) -> str:
        return get(self.port, path).text


@contextmanager
def watching(folder: Path, *stacks: str) -> Iterator[Watch]:
    watch, ending = Watch(), threading.Event()

    def run() -> None:
        options = WatchOptions(every=1, listen="127.0.0.1:0")
        watch.finished.append(
            watch_stacks(Project(folder), stacks, options, stopped=ending.is_set, listener=watch.listener)
        )

    thread = threading.Thread(target=run)
    thread.start()
    try:
        until(lambda: bool(watch.listener.lines), "the address", 20)
        yield watch
    finally:
        ending.set()
        thread.join(30)


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Replace the audit by one that finds nothing, and that fails for the stacks in the returned set."""
    stacks = {"lost"}

    def audited(_: object, request: AuditRequest, __: Callable[[float], object]) -> AuditReport:
        if request.stack in stacks:
            raise UNREACHABLE
        return empty().model_copy(update={"stack": request.stack})

    monkeypatch.setattr(watched_stack, "audit", audited)
    return stacks


def test_broken_stacks_neither_stop_the_others_nor_are_given_up(folder: Path, lost: set[str]) -> None:
    with watching(folder) as watch:
        until(lambda: watch.text("/metrics").count("failed_audits{") == 4, "the metrics of all stacks")
        until(lambda: get(watch.port, "/stacks/good/report").status == 200, "the report of the good stack")
        failures = ("does not respond", "stacks/Pulumi.broken.yaml:2:1", "topics/a.v1.yaml:3")
        until(lambda: all(failure in watch.text("/readyz") for failure in failures), f"the failures {failures}")
        assert watch.text("/readyz").startswith("ready\n")
        assert get(watch.port, "/stacks/lost/report").status == 503

        lost.clear()
        (folder / "stacks" / "Pulumi.broken.yaml").write_text(SERVER, encoding="utf-8")
        (folder / "topics" / "a.v1.yaml").write_text(VALID, encoding="utf-8")
        for stack in ("lost", "broken", "typo"):
            until(lambda stack=stack: get(watch.port, f"/stacks/{stack}/report").status == 200, stack)  # type: ignore[misc]
        for stack in ("broken", "good", "lost", "typo"):
            history = folder / ".cache" / "history" / stack
            with pytest.raises(HistoryInUse), history_lock(lock_path("", history, folder), ""):
                pass
    assert watch.finished == [True]
    with history_lock(lock_path("", folder / ".cache" / "history" / "broken", folder), ""):
        pass


def test_several_names_select_their_stacks(folder: Path, lost: set[str]) -> None:
    with watching(folder, "good", "lost") as watch:
        until(lambda: get(watch.port, "/stacks/good/report").status == 200, "the report")
        assert "stack: broken" not in watch.text("/readyz")
    assert watch.listener.lines[0].startswith("watching good, lost every 1 s: http://127.0.0.1:")


def test_two_stacks_with_one_history_are_refused(folder: Path) -> None:
    for stack in ("good", "lost"):
        settings = SERVER.replace("config: {", "config: {'topicwarden:history': same, ")
        (folder / "stacks" / f"Pulumi.{stack}.yaml").write_text(settings, encoding="utf-8")
    done = topicwarden("watch", "--all-stacks", "--listen", "127.0.0.1:0", cwd=folder)
    assert done.code == 2
    assert "two stacks of this watch" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--all-stacks"),
        (("--all-stacks", "--stack", "good"), "remove --stack, or remove --all-stacks"),
        (("--stack", "good", "--stack", "goood"), "no stack goood; stacks: "),
    ],
)
def test_an_ambiguous_or_unknown_selection_is_refused(folder: Path, options: tuple[str, ...], message: str) -> None:
    done = topicwarden("watch", *options, cwd=folder)
    assert done.code == 2
    assert message in done.err
