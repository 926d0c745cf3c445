"""Audit stacks again and again, each time what is new, and serve the last report and metrics over HTTP."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from typing import Final

from topicwarden.audit.check_docs import check_docs
from topicwarden.audit.scan import reader_jars
from topicwarden.audit.scan.lasting_session import LastingSession
from topicwarden.audit.scan.spark_platform import refuse_unsupported
from topicwarden.extensions.watch.audit_loop import AuditLoop, Schedule, WatchState, run_in_turn
from topicwarden.extensions.watch.history_lock import HistoryInUse
from topicwarden.extensions.watch.http_access import listen_address, token_check
from topicwarden.extensions.watch.http_server import serving
from topicwarden.extensions.watch.served_pages import OF_STACKS, OPEN_PATHS, ServedPages
from topicwarden.extensions.watch.watched_stack import WatchedStack
from topicwarden.model.finding import AuditReport
from topicwarden.model.fleet_report import FleetReport, StackOutcome
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.units import duration_text
from topicwarden.operations.fleet import fleet_stacks, outcome_differences
from topicwarden.operations.operation_options import SILENT, ProgressListener, WatchOptions
from topicwarden.report.audit.background import ReportBackground
from topicwarden.specs.stacks.history_address import history_below

GRACE_S: Final = 6.0
"""The time that a running audit has to finish when the watch is stopped, in seconds."""
_POLL_S: Final = 0.1


def watch_stacks(
    project: Project,
    stacks: Sequence[str] = (),
    options: WatchOptions | None = None,
    *,
    stopped: Callable[[], bool],
    observers: Sequence[Callable[[AuditReport], None]] = (),
    details_of: Callable[[Exception], str] = lambda error: f"unexpected error: {type(error).__name__}",
    listener: ProgressListener = SILENT,
) -> bool:
    """Audit ``stacks`` until ``stopped`` returns true; return whether the last audit could finish.

    Without names, all stacks of the project are audited. Audits run in turn, and share one Spark session. If the
    function returns false, a thread still runs an audit: end the process. The history has then no trace of this audit.
    ``observers`` receive each report; they must not wait. ``details_of`` returns the message for an unexpected error.
    Errors of an audit do not end the watch. Of several stacks, one whose settings cannot be used counts as a failed
    audit, until they can.

    Raises Refusal if there is no such stack, no usable address or token, or, for a single stack, no usable settings,
    and if another watch uses a history.
    """
    settings = options or WatchOptions()
    has_token = None if settings.token_file is None else token_check(settings.token_file)
    address = listen_address(settings.listen, with_token=has_token is not None)
    refuse_unsupported(settings.master)
    reader_jars.jars(project)
    single = len(stacks) == 1
    names = fleet_stacks(project, stacks)
    states = [WatchState(name, settings.every) for name in names]
    ending, ended = threading.Event(), threading.Event()
    background = ReportBackground(project.root, check_docs())
    pages = ServedPages(states, background, lambda: not ended.is_set(), None if single else _compare)
    spark = LastingSession(project, settings.master, listener.note)
    with ExitStack() as resources:
        watched = []
        for name in names:
            history = settings.history if single else history_below(settings.history, name)
            each = WatchedStack(project, name, history, settings.bounds, spark, note=listener.note)
            watched.append(resources.enter_context(closing(each)))
            _open(each, must_open=single)
        real = resources.enter_context(serving(address, pages, has_token, OPEN_PATHS))
        base = (settings.url or f"http://{real}").removesuffix("/")
        for each in watched:
            each.report_url = f"{base}/report" if single else f"{base}{OF_STACKS}{each.stack}/report"
            _open(each, must_open=single)
            pages.add_metrics(each.stack, each.families)
        listener.note(f"watching {', '.join(names)} every {duration_text(settings.every * 1000)}: http://{real}")
        loops = [
            AuditLoop(
                state,
                Schedule(settings.every),
                each.read_declarations,
                each.audit,
                publish=pages.publish,
                listener=listener,
                observers=(each.deliver, *observers),
                details_of=details_of,
            )
            for state, each in zip(states, watched, strict=True)
        ]
        thread = threading.Thread(target=_run, args=(loops, spark, ending, ended), name="watch-audits", daemon=True)
        thread.start()
        try:
            while not ended.is_set() and not stopped():
                time.sleep(_POLL_S)
        finally:
            pages.stop()
            ending.set()
            thread.join(GRACE_S)
        if not stopped():
            raise RuntimeError("the loop of audits has ended by itself")
        return not any(each.auditing for each in watched)


def _open(watched: WatchedStack, *, must_open: bool) -> None:
    """Lock the history and start the deliveries. Otherwise each audit of the stack tries again, and fails."""
    try:
        watched.open()
    except HistoryInUse:
        raise
    except Refusal:
        if must_open:
            raise


def _compare(outcomes: Sequence[StackOutcome]) -> FleetReport:
    return FleetReport("audit", outcomes, outcome_differences(outcomes))


def _run(loops: Sequence[AuditLoop], spark: LastingSession, ending: threading.Event, ended: threading.Event) -> None:
    try:
        run_in_turn(loops, ending)
    finally:
        spark.close()
        ended.set()
