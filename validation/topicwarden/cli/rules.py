"""`topicwarden rules`: what is judged, in the words of the rules and checks themselves."""

from __future__ import annotations

import inspect

from topicwarden.audit.checks import CHECKS
from topicwarden.policies import page


def rules() -> int:
    """Prints every rule of the YAML, then every check of the audit, as Markdown."""
    print(rules_page(), end="")
    return 0


def rules_page() -> str:
    """What ``docs/rules.md`` has."""
    parts = [page.page().rstrip(), "# Checks", "What `topicwarden audit` judges on the cluster and its records."]
    for name, check in CHECKS.items():
        parts += [f"## {name}", inspect.getdoc(check) or ""]
    return "\n\n".join(parts) + "\n"
