"""Regular expressions of policy files, matched with RE2 in time linear in the length of the text.

RE2 is the engine behind CEL's ``matches``, and part of CEL's library. Python's ``re`` backtracks: matching
``^(a+)+$`` against forty characters practically never ends.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from cel_expr_python import cel

_ERROR_PREFIX = re.compile(r"^.*invalid regular expression: ", re.DOTALL)


def pattern_problem(pattern: str) -> str | None:
    """Return the reason why RE2 rejects ``pattern``; None if it is valid."""
    result = _matches("", pattern)
    return _ERROR_PREFIX.sub("", str(result.value())) if result.type().name() == "ERROR" else None


def full_match(pattern: str, text: str) -> bool:
    """Return True if the whole ``text`` matches the valid ``pattern``."""
    return _matches(text, rf"\A(?:{pattern})\z").value() is True


def _matches(text: str, pattern: str) -> Any:
    return _program().eval(data={"text": text, "pattern": pattern})


@cache
def _program() -> Any:
    variables = {"text": cel.Type.STRING, "pattern": cel.Type.STRING}
    return cel.NewEnv(variables=variables).compile("text.matches(pattern)")
