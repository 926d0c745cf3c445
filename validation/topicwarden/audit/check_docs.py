"""The documentation of the checks, which reports quote."""

from __future__ import annotations

import inspect

from topicwarden.audit.checks import CHECKS


def check_docs() -> dict[str, str]:
    """Return the documentation of each check as Markdown, by check id."""
    return {name: inspect.getdoc(check) or "" for name, check in CHECKS.items()}
