"""The pages of a watch: health, readiness, metrics, and the last report as HTML and JSON."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Final

from topicwarden.model.finding import AuditReport
from topicwarden.report.audit import html, json, openmetrics
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.page_environment import filter_script
from topicwarden.report.prometheus_text import Families, metrics_text
from topicwarden.report.usage import html as usage
from topicwarden.watch.http_server import PageRequest, ServedPage
from topicwarden.watch.watch_state import WatchState

OPEN_PATHS: Final = frozenset({"/healthz", "/readyz"})
"""The paths that need no token: probes have none. Without a token, they show no detail."""

_END: Final = "# EOF\n"
_HTML: Final = "text/html; charset=utf-8"
_JSON: Final = "application/json"
_OPENMETRICS: Final = "application/openmetrics-text"


class ServedPages:
    """The pages of the last state. Reports are rendered when a client requests them, once for each audit.

    ``alive`` tells whether the loop of audits runs.
    """

    def __init__(self, state: WatchState, background: ReportBackground, alive: Callable[[], bool]) -> None:
        self._state, self._background, self._alive = state, background, alive
        self._rendered: tuple[AuditReport | None, dict[str, ServedPage]] = (None, {})
        self._metrics: tuple[AuditReport | None, str] = (None, _END)
        self._more_metrics: list[Callable[[], Families]] = []
        self._stopping = False
        self._lock = threading.Lock()

    def publish(self, state: WatchState) -> None:
        """Serve ``state`` from now on."""
        self._state = replace(state, stopping=self._stopping)

    def add_metrics(self, families: Callable[[], Families]) -> None:
        """Serve what ``families`` returns at each request, too."""
        self._more_metrics.append(families)

    def stop(self) -> None:
        """Show from now on that the watch ends."""
        self._stopping = True
        self._state = replace(self._state, stopping=True)

    def __call__(self, request: PageRequest) -> ServedPage | None:
        """Return the page for ``request``; None if there is no such page."""
        state = self._state
        match request.path:
            case "/healthz":
                return _text("ok", HTTPStatus.OK) if self._alive() else _text("the loop has ended", _UNAVAILABLE)
            case "/readyz":
                lines = list(state.lines()) if request.authorized else [next(state.lines())]
                return _text("\n".join(lines), HTTPStatus.OK if state.ready else _UNAVAILABLE)
            case "/metrics":
                return self._metrics_page(state, request.accept)
            case path if path in _RENDERERS:
                if state.report is None:
                    return _text("no audit has finished", _UNAVAILABLE)
                return self._report_page(state.report, path)
        return None

    def _metrics_page(self, state: WatchState, accept: str) -> ServedPage:
        with self._lock:
            if state.report is not None and self._metrics[0] is not state.report:
                self._metrics = (state.report, openmetrics.render(state.report, self._background))
            of_report = self._metrics[1]
        families = {**state.families()}
        for more in self._more_metrics:
            families |= more()
        text = of_report.removesuffix(_END) + metrics_text(state.stack, families)
        kind = f"{_OPENMETRICS}; version=1.0.0" if _OPENMETRICS in accept else "text/plain; version=0.0.4"
        return ServedPage(text.encode(), f"{kind}; charset=utf-8")

    def _report_page(self, report: AuditReport, path: str) -> ServedPage | None:
        with self._lock:
            if self._rendered[0] is not report:
                self._rendered = (report, {})
            pages = self._rendered[1]
            if path not in pages:
                page = _RENDERERS[path](report, self._background)
                if page is None:
                    return None
                pages[path] = page
            return pages[path]


_UNAVAILABLE: Final = HTTPStatus.SERVICE_UNAVAILABLE


def _text(text: str, status: HTTPStatus) -> ServedPage:
    return ServedPage(f"{text}\n".encode(), status=status)


def _html(text: str) -> ServedPage:
    """Return a report's page, with the policy that the page itself has."""
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{filter_script()[1]}'"
    return ServedPage(text.encode(), _HTML, policy=policy)


def _report_html(report: AuditReport, background: ReportBackground) -> ServedPage:
    return _html(html.render(report, background))


def _report_json(report: AuditReport, _: ReportBackground) -> ServedPage:
    return ServedPage(json.render(report).encode(), _JSON)


def _usage_html(report: AuditReport, _: ReportBackground) -> ServedPage | None:
    return _html(usage.render(report.usage, "report")) if report.usage else None


_RENDERERS: Final[Mapping[str, Callable[[AuditReport, ReportBackground], ServedPage | None]]] = {
    "/report": _report_html,
    "/report.json": _report_json,
    "/usage.html": _usage_html,
}
"""The pages of a report, by path. The report links to ``usage.html``."""
