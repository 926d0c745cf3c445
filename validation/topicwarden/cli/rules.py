"""`topicwarden rules`: what is judged, in the words of the rules and checks themselves."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from topicwarden.audit.checks import CHECKS
from topicwarden.policies.rules import RULES


def rules() -> int:
    """Prints every rule of the YAML, then every check of the audit."""
    _print("Rules, judged on the YAML (policies/*.yaml switches them on)", RULES)
    _print("Checks, judged on the cluster and its records (topicwarden audit)", CHECKS)
    return 0


def _print(title: str, plugins: Mapping[str, object]) -> None:
    print(f"{title}\n{'=' * len(title)}\n")
    for name, plugin in plugins.items():
        print(f"{name}\n{'-' * len(name)}\n{inspect.getdoc(plugin)}\n")
