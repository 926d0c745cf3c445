"""Generators of the pages in ``docs`` that come from tables and docstrings. Each module has one subject."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from topicwarden.cli.pages import (
    alert_rules,
    checks_page,
    dashboard,
    guards_page,
    permissions_page,
    rules_page,
    services_page,
)

PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "rules": rules_page.page,
    "checks": checks_page.checks,
    "runbook": checks_page.runbook,
    "guards": guards_page.page,
    "permissions": permissions_page.page,
    "services": services_page.page,
}
"""The pages by name: rules for the YAML, checks of the cluster, a runbook, consequences of changes, permissions,
services.

Each is also in ``docs/``.
"""

MONITORING: Final[Mapping[str, tuple[str, Callable[[], str]]]] = {
    "alerts": ("alerts.yaml", alert_rules.alerts),
    "dashboard": ("dashboard.json", dashboard.dashboard),
}
"""The generated files for Prometheus and Grafana by name, each with its file name in ``docs/``."""
