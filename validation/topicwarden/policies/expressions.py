"""Custom rules as [CEL](https://cel.dev) expressions over the topic, compiled once by Google's own library.

`require` must be true for every topic in scope for which `when` is true. Otherwise `message` is reported for the topic.
Invalid CEL is an error at the expression. So is an evaluation error for a topic, such as a missing field, or a text
instead of a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from cel_expr_python import cel
from pydantic import Field

from topicwarden.model.field_types import Text
from topicwarden.model.message_text import did_you_mean, quoted
from topicwarden.model.problem import Location
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


# The messages are those of ANTLR's parser, and of the type checker and runtime of cel-cpp.
_LOCATED: Final = re.compile(r"<input>:([0-9]+:[0-9]+): (?:Syntax error: )?([^\n]+?)(?: \[INVALID_ARGUMENT\])?(?:\n|$)")
_CODE: Final = re.compile(r"^[A-Z_]+: | \[[A-Z_]+\]$")
_LITERALS: Final = {"and": "&&", "or": "||", "not": "!", "is": "==", "=": "==", "=~": "matches()", "<>": "!="}
_NAMES: Final = {"None": "null", "nil": "null", "True": "true", "False": "false", "len": "size", "length": "size"}
_FUNCTIONS: Final = ("size", "startsWith", "endsWith", "contains", "matches", "has", "all", "exists", "duration")
_TYPES: Final = {
    **dict.fromkeys(("int", "int64", "uint", "uint64"), "a whole number"),
    "double": "a number",
    "string": "text",
    "bool": "true or false",
    **dict.fromkeys(("null", "null_type"), "null"),
    "list": "a list",
    "map": "a mapping",
    "bytes": "bytes",
    "timestamp": "a point in time",
    "google.protobuf.Timestamp": "a point in time",
    "duration": "a duration",
}


def compile_message(text: str, variables: Iterable[str]) -> str:
    """Return the message for a compile error ``text`` of CEL. ``variables`` are the names an expression can use."""
    located = _LOCATED.search(text)
    if located is None:
        return f"not CEL: {_CODE.sub('', text.splitlines()[0])}"
    position, error = located.groups()
    for pattern, message in _compile_messages(tuple(variables)).items():
        if match := re.search(pattern, error):
            return f"{message(match)} (at {position} of the expression)"
    return f"not CEL: {error} (at {position} of the expression)"


def evaluation_message(text: str, fields: Iterable[str]) -> str:
    """Return the message for a runtime error ``text`` of CEL. ``fields`` are the keys of the topic."""
    error = _CODE.sub("", _CODE.sub("", text))
    for pattern, message in _evaluation_messages(tuple(fields)).items():
        if match := re.search(pattern, error):
            return message(match)
    return error


def _compile_messages(variables: tuple[str, ...]) -> Mapping[str, Callable[[re.Match[str]], str]]:
    return {
        r"missing '(.)' at '<EOF>'": lambda match: f"the expression ends before a closing {match[1]}; write it",
        r"mismatched input '<EOF>' expecting \{'(.)', ','\}": lambda match: (
            f"the expression ends before a closing {match[1]}; write it"
        ),
        r"mismatched input '<EOF>' expecting '(.)'": lambda match: f"the expression ends before a {match[1]}; write it",
        r"mismatched input '<EOF>'": lambda _: "the expression ends too early; write the value that is missing",
        r"token recognition error at: '(.+)'$": lambda match: _invalid_token(match[1]),
        r"(?:mismatched|extraneous) input '(.+?)' expecting <EOF>": lambda match: (
            f"expected an operator or the end, got {quoted(match[1])}{_suggestion(match[1])}"
        ),
        r"(?:mismatched|extraneous) input '(.+?)' expecting": lambda match: (
            f"expected a value, got {quoted(match[1])}{_suggestion(match[1])}"
        ),
        r"undeclared reference to '([^']+)'": lambda match: _undeclared(match[1], variables),
        r"found no matching overload for '([^']+)' applied to '(.*)'$": lambda match: _overload(match[1], match[2]),
    }


def _evaluation_messages(fields: tuple[str, ...]) -> Mapping[str, Callable[[re.Match[str]], str]]:
    return {
        r'Key not found in map : "(.*)"$': lambda match: (
            f"there is no {quoted(match[1])}{_field_suggestion(match[1], fields)}"
        ),
        r"No matching overloads found : \((.*)\)\.(\w+)\((.*)\)$": lambda match: _overload(
            match[2], f"({', '.join(filter(None, (match[1], match[3])))})"
        ),
        r"No matching overloads found : (\S+?)(\(.*\))?$": lambda match: _overload(match[1], match[2] or ""),
        r"Index error: index=(-?[0-9]+) size=([0-9]+)": lambda match: (
            f"there is no element {match[1]} in a list of {match[2]}; the first is 0; test size() first"
        ),
        r"Iteration budget exceeded": lambda _: (
            "the expression takes too many steps; nest fewer all(), exists() and map()"
        ),
        r"(?:divide|modulus) by zero": lambda match: f"{match[0]}; test the divisor first",
        r"invalid regular expression: (.*)": lambda match: f"not a valid RE2 regular expression: {match[1]}",
    }


def _invalid_token(text: str) -> str:
    if text[:1] in ("'", '"'):
        return "a quoted text has no closing quote; add it"
    return f"{quoted(text.strip())} is not CEL{_suggestion(text.strip())}"


def _suggestion(token: str) -> str:
    """Return what to write instead of ``token``, as the end of a message; empty if nothing is known."""
    if token in ("ms", "s", "m", "h", "d", "kB", "MB", "GB", "KiB", "MiB", "GiB", "k", "M", "G"):
        return "; write times in milliseconds and sizes in bytes, as plain numbers"
    return f"; write {_LITERALS[token]}" if token in _LITERALS else ""


def _undeclared(name: str, variables: tuple[str, ...]) -> str:
    first = name.partition(".")[0]
    if name in _NAMES:
        return f"there is no {name}; write {_NAMES[name]}"
    if first in _FUNCTIONS:
        return f"{first}() must be called on a value; write x.{first}(…)"
    expected = f"; expected {', '.join(variables)}, a function, or text in quotes"
    return f"there is no {quoted(first)}{did_you_mean(first, (*variables, *_FUNCTIONS)) or expected}"


def _field_suggestion(name: str, fields: tuple[str, ...]) -> str:
    settings = [field for field in fields if field.startswith(f"{name}.")]
    if settings:
        return f'; write the name of a setting as one text: config["{settings[0]}"]'
    return did_you_mean(name, fields)


def _overload(name: str, types: str) -> str:
    nouns = [_type_noun(operand) for operand in re.findall(r"[\w.]+(?:\([^)]*\))?", types)]
    operator = "[]" if name == "_[_]" else name.strip("_").replace("@", "").replace("_?_:_", "? :")
    function = operator if not operator[:1].isalpha() or operator == "in" else f"{operator}()"
    operands = " and ".join(nouns) or "a value of this type"
    remedy = ""
    if "null" in nouns:
        remedy = "; if a value can be null, test it first: … != null && …"
    elif "text" in nouns and "a whole number" in nouns:
        remedy = "; write numbers, times (milliseconds) and sizes (bytes) without quotes"
    return f"{function} cannot be applied to {operands}{remedy}"


def _type_noun(name: str) -> str:
    return _TYPES.get(name.partition("(")[0], "a value" if name == "dyn" else name)
