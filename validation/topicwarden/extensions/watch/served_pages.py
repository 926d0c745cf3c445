"""The pages of a watch: health, readiness, metrics, and the last reports as HTML and JSON."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Final, TypeAlias

from topicwarden.extensions.watch.audit_loop import WatchState
from topicwarden.extensions.watch.http_server import PageRequest, ServedPage
from topicwarden.model.finding import AuditReport
from topicwarden.model.fleet_report import FleetReport, StackOutcome
from topicwarden.report import fleet as fleet_json
from topicwarden.report.audit import openmetrics
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.formats import html, json
from topicwarden.report.document import Document, Medium
from topicwarden.report.fleet import document as fleet_document
from topicwarden.report.page import filter_script
from topicwarden.report.page import write as write_page
from topicwarden.report.prometheus_text import Families, MetricTexts, joined_metrics, metric_texts
from topicwarden.report.usage.document import document as usage_document

OPEN_PATHS: Final = frozenset({"/healthz", "/readyz"})
"""The paths that need no token: probes have none. Without a token, they show no detail."""
OF_STACKS: Final = "/stacks/"
"""The start of the paths of one of several stacks: ``/stacks/prod/report``."""

_HTML: Final = "text/html; charset=utf-8"
_JSON: Final = "application/json"
_OPENMETRICS: Final = "application/openmetrics-text"
_OF_FLEET: Final = ("/report", "/report.json")
_UNAVAILABLE: Final = HTTPStatus.SERVICE_UNAVAILABLE
_WAITING: Final = "The report appears here after the first audit"
"""The headline of the page in place of a report, before there is one."""
_WAITING_S: Final = 5

Comparison: TypeAlias = Callable[[Sequence[StackOutcome]], FleetReport]
"""A function that returns the report on several stacks."""


class ServedPages:
    """The pages of the last states. Reports are rendered when a client requests them; those of one stack are kept.

    ``alive`` tells whether the loop of audits runs. ``compare`` is None if the pages are those of a single stack. Else
    ``/report`` is about all stacks, and each stack has its own pages below ``/stacks/``. ``/`` is ``/report``.
    """

    def __init__(
        self,
        states: Sequence[WatchState],
        background: ReportBackground,
        alive: Callable[[], bool],
        compare: Comparison | None = None,
    ) -> None:
        self._states = {state.stack: state for state in states}
        self._background, self._alive, self._compare = background, alive, compare
        self._rendered: tuple[tuple[object, ...], dict[str, ServedPage]] = ((), {})
        self._metrics: dict[str, tuple[AuditReport, MetricTexts]] = {}
        self._more_metrics: list[tuple[str, Callable[[], Families]]] = []
        self._stopping = False
        self._rendering, self._measuring = threading.Lock(), threading.Lock()

    def publish(self, state: WatchState) -> None:
        """Serve ``state`` of its stack from now on."""
        self._states[state.stack] = state

    def add_metrics(self, stack: str, families: Callable[[], Families]) -> None:
        """Serve what ``families`` returns for ``stack`` at each request, too."""
        self._more_metrics.append((stack, families))

    def stop(self) -> None:
        """Show from now on that the watch ends."""
        self._stopping = True

    def __call__(self, request: PageRequest) -> ServedPage | None:
        """Return the page for ``request``; None if there is no such page."""
        match request.path:
            case "/healthz":
                return _text("ok", HTTPStatus.OK) if self._alive() else _text("the loop has ended", _UNAVAILABLE)
            case "/readyz":
                return self._readiness(request.authorized)
            case "/metrics":
                return self._metrics_page(request.accept)
        return self._report_page("/report" if request.path == "/" else request.path)

    def _report_page(self, path: str) -> ServedPage | None:
        if self._compare is None:
            return self._page_of_stack(next(iter(self._states.values())), path)
        if path in _OF_FLEET:
            return self._page_of_fleet(path, self._compare)
        stack, slash, page = path.removeprefix(OF_STACKS).partition("/")
        state = self._states.get(stack) if path.startswith(OF_STACKS) else None
        return self._page_of_stack(state, slash + page) if state else None

    def _readiness(self, authorized: bool) -> ServedPage:
        """Return 200 if a report can be served: one stack without a report does not hide those of the others."""
        states = list(self._states.values())
        ready = not self._stopping and any(state.report is not None for state in states)
        reason = "the watch is ending" if self._stopping else "no audit has finished"
        first = "ready" if ready else f"not ready: {reason}"
        details = (line for state in states for line in state.lines()) if authorized else ()
        return _text("\n".join([first, *details]), HTTPStatus.OK if ready else _UNAVAILABLE)

    def _metrics_page(self, accept: str) -> ServedPage:
        with self._measuring:
            text = joined_metrics(self._metric_parts())
        kind = f"{_OPENMETRICS}; version=1.0.0" if _OPENMETRICS in accept else "text/plain; version=0.0.4"
        return ServedPage(text.encode(), f"{kind}; charset=utf-8")

    def _metric_parts(self) -> Iterator[MetricTexts]:
        states = list(self._states.values())
        for state in states:
            if state.report is not None:
                known = self._metrics.get(state.stack)
                if known is None or known[0] is not state.report:
                    known = state.report, metric_texts(state.stack, openmetrics.families(state.report))
                    self._metrics[state.stack] = known
                yield known[1]
        for state in states:
            yield metric_texts(state.stack, state.families())
        for stack, families in self._more_metrics:
            yield metric_texts(stack, families())

    def _page_of_stack(self, state: WatchState, path: str) -> ServedPage | None:
        renderer, report = _RENDERERS.get(path), state.report
        if renderer is None:
            return None
        if report is None:
            return _text(state.waiting(), _UNAVAILABLE) if path.endswith(".json") else _waiting(state)
        page = self._kept((report,), path, lambda: renderer(report, self._background))
        return _renewed(page, path, [state])

    def _page_of_fleet(self, path: str, compare: Comparison) -> ServedPage | None:
        states = tuple(self._states.values())
        page = self._kept(states, path, lambda: _render_fleet(path, compare([state.outcome() for state in states])))
        return _renewed(page, path, states)

    def _kept(self, of: tuple[object, ...], path: str, render: Callable[[], ServedPage | None]) -> ServedPage | None:
        """Return the page ``path`` of the objects ``of``. Only the pages of the last such objects are kept."""
        with self._rendering:
            if list(map(id, self._rendered[0])) != list(map(id, of)):
                self._rendered = of, {}
            pages = self._rendered[1]
            page = pages.get(path) or render()
            if page is not None:
                pages[path] = page
            return page


def _renewed(page: ServedPage | None, path: str, states: Sequence[WatchState]) -> ServedPage | None:
    """Return an HTML page with the time at which a browser loads it again: after the next audit of ``states``."""
    if page is None or path.endswith(".json"):
        return page
    now = time.time()
    return replace(page, again_s=min(state.next_result_s(now) for state in states))


def _text(text: str, status: HTTPStatus) -> ServedPage:
    return ServedPage(f"{text}\n".encode(), status=status)


def _waiting(state: WatchState) -> ServedPage:
    summary = f"{state.waiting()}; this page reloads every {_WAITING_S} seconds"
    document = Document("Audit of stack", state.stack, f"{_WAITING}.", f"{summary[0].upper()}{summary[1:]}", (), "")
    return replace(_html(write_page(document)), status=_UNAVAILABLE, again_s=_WAITING_S)


def _html(text: str) -> ServedPage:
    """Return a report's page, with the policy that the page itself has."""
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{filter_script()[1]}'"
    return ServedPage(text.encode(), _HTML, policy=policy)


def _report_html(report: AuditReport, background: ReportBackground) -> ServedPage:
    return _html(html(report, background))


def _report_json(report: AuditReport, _: ReportBackground) -> ServedPage:
    return ServedPage(json(report).encode(), _JSON)


def _usage_html(report: AuditReport, _: ReportBackground) -> ServedPage | None:
    return _html(write_page(usage_document(report.usage, Medium.PAGE, "report"))) if report.usage else None


_RENDERERS: Final[Mapping[str, Callable[[AuditReport, ReportBackground], ServedPage | None]]] = {
    "/report": _report_html,
    "/report.json": _report_json,
    "/usage.html": _usage_html,
}
"""The pages of a report, by path. The report links to ``usage.html``."""


def _render_fleet(path: str, report: FleetReport) -> ServedPage:
    if path == "/report.json":
        return ServedPage(fleet_json.render_json(report).encode(), _JSON)
    pages = {each.stack: f"{OF_STACKS[1:]}{each.stack}/report" for each in report.stacks if each.report}
    text = write_page(fleet_document(report, Medium.PAGE, pages))
    return ServedPage(text.encode(), _HTML, policy="default-src 'none'; style-src 'unsafe-inline'")
