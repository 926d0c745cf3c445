"""The documentation of all checks of the audit."""

from __future__ import annotations

import inspect

from topicwarden.audit.access_checks import ACCESS_CHECKS
from topicwarden.audit.checks import CHECKS


def check_docs() -> dict[str, str]:
    """Return the documentation of each check as Markdown, by check id."""
    return {name: inspect.getdoc(check) or "" for name, check in {**CHECKS, **ACCESS_CHECKS}.items()}
