"""Catalogues with a token, and reports of audits for them."""

from __future__ import annotations

from typing import Any, Final

from tests.support import reports
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.verdict import Verdict
from topicwarden.operations.catalogues.catalogue_target import CatalogueTarget
from topicwarden.specs.stacks.catalogue_settings import CatalogueSettings

SECRET: Final = "hunter2-token"


def target(url: str | None = None, **settings: Any) -> CatalogueTarget:
    return CatalogueTarget(CatalogueSettings("hub", url=url, token=SECRET, **settings), "kafka://b:9092")


def audit(number: int = 0, verdict: Verdict = Verdict.PASS, check: str = "retention-time") -> AuditReport:
    finding = Finding(check=check, verdict=verdict, topic="orders", message="" if verdict is Verdict.PASS else "why")
    report = reports.report([reports.topic("orders", [5])], [finding])
    return report.model_copy(
        update={"started": report.started + 60_000 * number, "finished": report.finished + 60_000 * number}
    )
