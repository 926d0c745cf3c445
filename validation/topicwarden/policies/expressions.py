"""What no built-in rule says: [CEL](https://cel.dev) over the topic, compiled once by Google's own library.

`require` must be true of every topic within the scope for which `when` is true, or `message` is a problem of the topic.
What is not CEL, and what cannot be evaluated for a topic (a field that is not there, a text where a number is needed),
is a problem of the expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from cel_expr_python import cel
from pydantic import Field

from topicwarden.model.problem import Location
from topicwarden.policies.cel_messages import compile_message, evaluation_message
from topicwarden.policies.rule import RuleSettings
from topicwarden.specs.document_model import Text

_RECORD = ("key", "value", "headers", "timestamp")


class ExpressionSpec(RuleSettings):
    """One entry of ``expressions``."""

    id: str = Field(
        strict=True, pattern="^[a-z0-9]+(-[a-z0-9]+)*$", description="Its name in messages and waivers: `like-this`."
    )
    when: Text | None = Field(default=None, description="CEL: for which topics it holds; for all where not given.")
    require: Text = Field(description="CEL: what must be true of them.")
    message: Text = Field(description="What is wrong where it is not true, and what to do.")


@dataclass(frozen=True)
class CompiledExpression:
    """An expression that is CEL; ``places`` has where its ``when`` and ``require`` stand."""

    expression: ExpressionSpec
    when: Any
    require: Any
    places: Mapping[str, Location]

    def judge(self, activation: Any, fields: Iterable[str] = ()) -> str | tuple[str, str] | None:
        """The message where the topic breaks it, ``(part, error)`` where CEL cannot tell, None where all is well.

        ``fields`` are the keys of the topic's view, to suggest one for a misspelt key.
        """
        for part, program in (("when", self.when), ("require", self.require)):
            if program is None:
                continue
            try:
                result = program.eval(activation)
            except RuntimeError as error:  # CEL's budget of steps is used up
                return part, evaluation_message(str(error), fields)
            kind = result.type().name()
            if kind == "ERROR":
                return part, evaluation_message(str(result.value()), fields)
            if kind != "BOOL":
                return part, f"expected true or false, seen {result.value()}"
            if not result.value():
                return None if part == "when" else self.expression.message
        return None


class CelError(ValueError):
    """Why a text is not CEL; ``part`` is the key it stands under."""

    def __init__(self, part: str, message: str) -> None:
        super().__init__(message)
        self.part = part


def compile_expression(expression: ExpressionSpec, place: Callable[[str], Location]) -> CompiledExpression:
    """The expression ready for use; CelError with a message where it is not CEL. ``place`` tells where a key's value
    stands.
    """
    when = None if expression.when is None else _compile("when", expression.when)
    places = {"when": place("when"), "require": place("require")}
    return CompiledExpression(expression, when, _compile("require", expression.require), places)


def activation(topic: Mapping[str, Any]) -> Any:
    """The topic's view, ready for several expressions."""
    return _environment().Activation({"topic": topic})


def compile_record_expression(text: str) -> None:
    """CelError where ``text`` is not CEL over a record: what ``contents: {expressions: …}`` demands of each."""
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
        raise CelError(part, f"expected CEL that is true or false, seen one of type {kind.lower()}")
    return program
