"""Lines of authorizer logs, from ``tests/unit/audit/cases/authorizer_log.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

_CASES: Final[dict[str, dict[str, Any]]] = yaml.safe_load(
    (Path(__file__).parents[1] / "unit" / "audit" / "cases" / "authorizer_log.yaml").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class ReadableLine:
    """A line, and what it says: ``expected`` as in the file, and the text of its time zone."""

    name: str
    line: str
    expected: list[str]
    zone: str = ""


READABLE: Final = [ReadableLine(name, **case) for name, case in _CASES["readable"].items()]
EXPLANATIONS: Final[dict[str, str]] = _CASES["explanations"]
UNREADABLE: Final[dict[str, str]] = _CASES["unreadable"]
