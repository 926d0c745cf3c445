"""Custom rules as [CEL](https://cel.dev) expressions over the topic, compiled once by Google's own library.

`require` must be true for every topic in scope for which `when` is true. Otherwise `message` is reported for the topic.
Invalid CEL is an error at the expression. So is an evaluation error for a topic, such as a missing field, or a text
instead of a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from cel_expr_python import cel
from pydantic import Field

from topicwarden.model.field_types import Text
from topicwarden.model.problem import Location
from topicwarden.policies.cel_messages import compile_message, evaluation_message
from topicwarden.policies.rule import RuleSettings

_RECORD = ("key", "value", "headers", "timestamp")


class ExpressionSpec(RuleSettings):
    """One entry of ``expressions``."""

    id: str = Field(
        strict=True, pattern="^[a-z0-9]+(-[a-z0-9]+)*$", description="The name in messages and waivers: `like-this`."
    )
    when: Text | None = Field(
        default=None, description="CEL: true for the topics that the expression applies to; if missing, all topics."
    )
    require: Text = Field(description="CEL: the condition that these topics must meet.")
    message: Text = Field(description="The message for a topic that does not meet it: what is wrong, and what to do.")


@dataclass(frozen=True)
class CompiledExpression:
    """A compiled expression. ``locations`` has the locations of its ``when`` and ``require`` in the policy file."""

    expression: ExpressionSpec
    when: Any
    require: Any
    locations: Mapping[str, Location]

    def judge(self, activation: Any, fields: Iterable[str] = ()) -> str | tuple[str, str] | None:
        """Return None if the topic meets the expression, else its message, or ``(part, error)`` if evaluation fails.

        ``activation`` is the topic, from the function of this name. ``part`` is ``when`` or ``require``. ``fields`` are
        the keys of the topic, for suggestions if a key is misspelt.
        """
        for part, program in (("when", self.when), ("require", self.require)):
            if program is None:
                continue
            try:
                result = program.eval(activation)
            except RuntimeError as error:  # CEL's step limit is exceeded
                return part, evaluation_message(str(error), fields)
            kind = result.type().name()
            if kind == "ERROR":
                return part, evaluation_message(str(result.value()), fields)
            if kind != "BOOL":
                return part, f"expected true or false, got {result.value()}"
            if not result.value():
                return None if part == "when" else self.expression.message
        return None


class CelError(ValueError):
    """A text is not valid CEL. ``part`` is its key in the policy file: ``when`` or ``require``."""

    def __init__(self, part: str, message: str) -> None:
        super().__init__(message)
        self.part = part


def compile_expression(expression: ExpressionSpec, locate: Callable[[str], Location]) -> CompiledExpression:
    """Return the compiled expression. ``locate`` returns the location of the value of a key.

    Raises CelError with a message if ``when`` or ``require`` is not valid CEL.
    """
    when = None if expression.when is None else _compile("when", expression.when)
    locations = {"when": locate("when"), "require": locate("require")}
    return CompiledExpression(expression, when, _compile("require", expression.require), locations)


def activation(topic: Mapping[str, Any]) -> Any:
    """Return the fields of a topic (from ``topic_view``) in the form that compiled expressions evaluate."""
    return _environment().Activation({"topic": topic})


def compile_record_expression(text: str) -> None:
    """Compile one of ``contents: {expressions: …}``. Raises CelError if ``text`` is not valid CEL over a record."""
    _compile("require", text, _record_environment(), _RECORD)


@cache
def _environment() -> Any:
    return cel.NewEnv(variables={"topic": cel.Type.DYN})


@cache
def _record_environment() -> Any:
    record = dict.fromkeys(_RECORD, cel.Type.DYN)
    return cel.NewEnv(variables={**record, "timestamp": cel.Type.TIMESTAMP})


def _compile(part: str, text: str, environment: Any = None, variables: Iterable[str] = ("topic",)) -> Any:
    try:
        program = (environment or _environment()).compile(text)
    except RuntimeError as error:
        raise CelError(part, compile_message(str(error), variables)) from error
    kind = program.return_type().name()
    if kind not in ("BOOL", "DYN"):
        raise CelError(part, f"expected CEL that is true or false, got CEL of type {kind.lower()}")
    return program
