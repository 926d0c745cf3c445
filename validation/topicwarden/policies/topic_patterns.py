"""Regular expressions of policy files, matched by RE2 in time that is linear in the text.

RE2 is the engine behind CEL's ``matches``, and comes with CEL's library. Python's ``re`` backtracks: ``^(a+)+$``
against forty characters does not end.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from cel_expr_python import cel

_REASON = re.compile(r"^.*invalid regular expression: ", re.DOTALL)


def pattern_problem(pattern: str) -> str | None:
    """Why RE2 does not take ``pattern``; None if it does."""
    result = _matches("", pattern)
    return _REASON.sub("", str(result.value())) if result.type().name() == "ERROR" else None


def matches_whole(pattern: str, text: str) -> bool:
    """Whether all of ``text`` matches ``pattern``, for which ``pattern_problem`` has nothing to say."""
    return _matches(text, rf"\A(?:{pattern})\z").value() is True


def _matches(text: str, pattern: str) -> Any:
    return _program().eval(data={"text": text, "pattern": pattern})


@cache
def _program() -> Any:
    variables = {"text": cel.Type.STRING, "pattern": cel.Type.STRING}
    return cel.NewEnv(variables=variables).compile("text.matches(pattern)")
