"""Audit a stack again and again, each time what is new, and serve the last report and metrics over HTTP."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from topicwarden.audit.check_docs import check_docs
from topicwarden.audit.run import audit
from topicwarden.audit.scan import reader_jars
from topicwarden.audit.scan.lasting_session import LastingSession
from topicwarden.audit.scan.read_limits import ReadLimits
from topicwarden.audit.scan.spark_platform import refuse_unsupported
from topicwarden.kafka.connect.stack_connection import stack_settings, written_settings
from topicwarden.model.finding import AuditReport
from topicwarden.model.message_text import quoted
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.units import duration_text
from topicwarden.model.verdict import ReadScope
from topicwarden.operations.audit import AuditOptions, audit_request
from topicwarden.operations.declared_topics import checked_stack
from topicwarden.operations.progress_listener import SILENT, ProgressListener
from topicwarden.operations.report_deliveries import report_deliveries
from topicwarden.policies.check_specs import CheckedStacks
from topicwarden.report.audit.background import ReportBackground
from topicwarden.stacks.history_address import history_address
from topicwarden.stacks.http_url import split_url
from topicwarden.stacks.stack_settings import HISTORY
from topicwarden.usage.history_files import is_local, local_path
from topicwarden.watch.audit_loop import AuditLoop, Schedule
from topicwarden.watch.bearer_token import token_check
from topicwarden.watch.history_lock import history_lock, lock_path
from topicwarden.watch.http_server import serving
from topicwarden.watch.listen_address import listen_address
from topicwarden.watch.served_pages import OPEN_PATHS, ServedPages
from topicwarden.watch.watch_state import WatchState

if TYPE_CHECKING:
    from topicwarden.audit.request import AuditRequest

GRACE_S: Final = 6.0
"""The time that a running audit has to finish when the watch is stopped, in seconds."""
_POLL_S: Final = 0.1
SHORTEST_INTERVAL_S: Final = 1.0
LONGEST_INTERVAL_S: Final = 7 * 86_400.0


@dataclass(frozen=True)
class WatchOptions:
    """Options of a watch.

    ``every`` is the time from the start of an audit to the start of the next one, in seconds. ``listen`` is the address
    of the HTTP server, and ``token_file`` a file with the token that its clients need. ``history`` is as in
    ``AuditOptions``, but not ``none``. ``url`` is the address of the report for people who receive notifications; by
    default, that of the HTTP server. ``master`` is the Spark master, and ``bounds`` limits how fast audits read.
    """

    every: float = 300.0
    listen: str = "127.0.0.1:9464"
    token_file: Path | None = None
    history: str | None = None
    url: str | None = None
    master: str | None = None
    bounds: ReadLimits = field(default_factory=ReadLimits)

    def __post_init__(self) -> None:
        if not SHORTEST_INTERVAL_S <= self.every <= LONGEST_INTERVAL_S:
            raise Refusal(f"--every: expected 1s to 7d, got {self.every:g} seconds")
        if self.url is not None:
            _check_url(self.url)


def watch(
    project: Project,
    stack: str,
    options: WatchOptions | None = None,
    *,
    observers: Sequence[Callable[[AuditReport], None]] = (),
    stopped: Callable[[], bool],
    details_of: Callable[[Exception], str] = lambda error: f"unexpected error: {type(error).__name__}",
    listener: ProgressListener = SILENT,
) -> bool:
    """Audit ``stack`` until ``stopped`` returns true; return whether the last audit could finish.

    If it returns false, a thread still runs an audit: end the process. The history has then no trace of this audit.
    ``observers`` receive each report; they must not wait. ``details_of`` returns the message for an unexpected error.
    Errors of an audit do not end the watch.

    Raises Refusal if there is no such stack, no history, or no usable address or token, and if another watch uses the
    history.
    """
    settings = options or WatchOptions()
    has_token = None if settings.token_file is None else token_check(settings.token_file)
    address = listen_address(settings.listen, with_token=has_token is not None)
    refuse_unsupported(settings.master)
    reader_jars.jars(project)
    history = _history(project, stack, settings.history)
    folder = local_path(history) if is_local(history) else None
    state = WatchState(stack, settings.every)
    ending, ended = threading.Event(), threading.Event()
    pages = ServedPages(state, ReportBackground(project.root, check_docs()), lambda: not ended.is_set())
    with ExitStack() as resources:
        resources.enter_context(history_lock(lock_path(history, folder, project.cache), history))
        real = resources.enter_context(serving(address, pages, has_token, OPEN_PATHS))
        report_url = (settings.url or f"http://{real}").removesuffix("/") + "/report"
        deliveries = resources.enter_context(report_deliveries(project, stack, report_url))
        pages.add_metrics(deliveries.families)
        listener.note(f"watching {stack} every {duration_text(settings.every * 1000)}: http://{real}")
        watched = WatchedStack(project, stack, settings, history, listener)
        loop = AuditLoop(
            state,
            Schedule(settings.every),
            deliveries.reloading(watched.read_declarations),
            watched.audit,
            publish=pages.publish,
            listener=listener,
            observers=(*deliveries.observers, *observers),
            details_of=details_of,
        )
        thread = threading.Thread(target=_run, args=(loop, watched, ending, ended), name="watch-audits", daemon=True)
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
        return not watched.auditing


def _check_url(url: str) -> None:
    """Raise Refusal unless notifications can show ``url``, with a path after it. They show it as it is."""
    parts = split_url(url)
    if "@" in url:
        raise Refusal("--url: has a user, which everyone who is notified would see; remove it")
    if parts is None:
        raise Refusal(f"--url: expected a URL such as https://audits.example.com, got {quoted(url)}")
    if "?" in url or "#" in url:
        raise Refusal(f"--url: expected a URL without a query and a fragment, got {quoted(url)}")


def _run(loop: AuditLoop, watched: WatchedStack, ending: threading.Event, ended: threading.Event) -> None:
    try:
        loop.run(ending)
    finally:
        watched.close()
        ended.set()


def _history(project: Project, stack: str, option: str | None) -> str:
    """Return the address of the history. Refuse a watch without one, which would read all records each time."""
    setting = written_settings(project, stack).get(HISTORY)
    if isinstance(setting, dict):  # encrypted
        setting = stack_settings(project, stack).get(HISTORY)
    history = history_address(project, stack, setting, option)
    if history is None:
        raise Refusal(
            "a watch needs a history, or each audit would read all records: remove --history none, or set --history to "
            "a folder"
        )
    return history


class WatchedStack:
    """A stack with its last valid declarations, and the Spark session that its audits share.

    One thread calls its methods. ``auditing``: whether an audit runs.
    """

    def __init__(
        self, project: Project, stack: str, options: WatchOptions, history: str, listener: ProgressListener
    ) -> None:
        self._project, self._stack = project, stack
        self._options = AuditOptions(history, ReadScope.LAST, options.bounds)
        self._checked: CheckedStacks | None = None
        self._problem: str | None = None
        self._request: AuditRequest | None = None
        self._spark = LastingSession(project, options.master, listener.note)
        self.auditing = False

    def read_declarations(self) -> str | None:
        """Read the YAML, as `topicwarden check` does; return the reason why it cannot be used, or None.

        Files are read each time, because some rules depend on the date, and reading takes less than a second.
        """
        self._problem = None
        try:
            self._checked = checked_stack(self._project, self._stack, "audited")
        except Refusal as refusal:
            self._problem = str(refusal)
        return self._problem

    def audit(self) -> AuditReport:
        """Audit the records since the last audit with the last valid declarations, and with the settings of now."""
        self.auditing = True
        try:
            return audit(self._spark, self._current_request(), lambda share: None)
        except Exception:
            self._spark.after_failure()
            raise
        finally:
            self.auditing = False

    def close(self) -> None:
        """Stop Spark, if it was started."""
        self._spark.close()

    def _current_request(self) -> AuditRequest:
        """Return the request for one audit. If the stack's file is broken, its last valid settings are used."""
        if self._checked is None:
            raise Refusal(f"no declarations have been valid yet: {self._problem}")
        try:
            self._request = audit_request(self._project, self._stack, self._checked, self._options)
        except Refusal:
            if self._problem is None or self._request is None:
                raise
        return self._request
