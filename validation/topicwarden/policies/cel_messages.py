"""CEL's error messages in the words of the policy file: what is wrong where, and what to write instead.

Source of the texts that are read: ANTLR's parser messages, and cel-cpp's type checker and runtime.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from topicwarden.specs.message_text import did_you_mean, quoted

_PLACED: Final = re.compile(r"<input>:([0-9]+:[0-9]+): (?:Syntax error: )?([^\n]+?)(?: \[INVALID_ARGUMENT\])?(?:\n|$)")
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
    """What is wrong with an expression, from what CEL's compiler says; ``variables`` are the names that it may use."""
    found = _PLACED.search(text)
    if found is None:
        return f"not CEL: {_CODE.sub('', text.splitlines()[0])}"
    place, said = found.groups()
    for pattern, message in _compile_messages(tuple(variables)).items():
        if match := re.search(pattern, said):
            return f"{message(match)} (at {place} of the expression)"
    return f"not CEL: {said} (at {place} of the expression)"


def evaluation_message(text: str, fields: Iterable[str]) -> str:
    """Why an expression has no result for a topic, from what CEL's runtime says; ``fields`` are the keys that exist."""
    said = _CODE.sub("", _CODE.sub("", text))
    for pattern, message in _evaluation_messages(tuple(fields)).items():
        if match := re.search(pattern, said):
            return message(match)
    return said


def _compile_messages(variables: tuple[str, ...]) -> Mapping[str, Callable[[re.Match[str]], str]]:
    return {
        r"missing '(.)' at '<EOF>'": lambda match: f"the expression ends before a closing {match[1]}; write it",
        r"mismatched input '<EOF>' expecting \{'(.)', ','\}": lambda match: (
            f"the expression ends before a closing {match[1]}; write it"
        ),
        r"mismatched input '<EOF>' expecting '(.)'": lambda match: f"the expression ends before a {match[1]}; write it",
        r"mismatched input '<EOF>'": lambda _: "the expression ends too early; write the value that is missing",
        r"token recognition error at: '(.+)'$": lambda match: _unread(match[1]),
        r"(?:mismatched|extraneous) input '(.+?)' expecting <EOF>": lambda match: (
            f"expected an operator or the end, seen {quoted(match[1])}{_operator(match[1])}"
        ),
        r"(?:mismatched|extraneous) input '(.+?)' expecting": lambda match: (
            f"expected a value, seen {quoted(match[1])}{_operator(match[1])}"
        ),
        r"undeclared reference to '([^']+)'": lambda match: _undeclared(match[1], variables),
        r"found no matching overload for '([^']+)' applied to '(.*)'$": lambda match: _overload(match[1], match[2]),
    }


def _evaluation_messages(fields: tuple[str, ...]) -> Mapping[str, Callable[[re.Match[str]], str]]:
    return {
        r'Key not found in map : "(.*)"$': lambda match: f"there is no {quoted(match[1])}{_field(match[1], fields)}",
        r"No matching overloads found : \((.*)\)\.(\w+)\((.*)\)$": lambda match: _overload(
            match[2], f"({', '.join(filter(None, (match[1], match[3])))})"
        ),
        r"No matching overloads found : (\S+?)(\(.*\))?$": lambda match: _overload(match[1], match[2] or ""),
        r"Index error: index=(-?[0-9]+) size=([0-9]+)": lambda match: (
            f"there is no element {match[1]} in a list of {match[2]}; the first is 0; test size() first"
        ),
        r"Iteration budget exceeded": lambda _: "it takes too many steps; nest fewer all(), exists() and map()",
        r"(?:divide|modulus) by zero": lambda match: f"{match[0]}; test the divisor first",
        r"invalid regular expression: (.*)": lambda match: f"not a regular expression of RE2: {match[1]}",
    }


def _unread(text: str) -> str:
    if text[:1] in ("'", '"'):
        return "a text in quotes is not closed; write the closing quote"
    return f"{quoted(text.strip())} is not CEL{_operator(text.strip())}"


def _operator(text: str) -> str:
    if text in ("ms", "s", "m", "h", "d", "kB", "MB", "GB", "KiB", "MiB", "GiB", "k", "M", "G"):
        return "; times are in milliseconds and sizes in bytes, written as plain numbers"
    return f"; write {_LITERALS[text]}" if text in _LITERALS else ""


def _undeclared(name: str, variables: tuple[str, ...]) -> str:
    first = name.partition(".")[0]
    if name in _NAMES:
        return f"there is no {name}; write {_NAMES[name]}"
    if first in _FUNCTIONS:
        return f"{first}() is called on a value; write x.{first}(…)"
    known = f"; expected {', '.join(variables)}, a function, or text in quotes"
    return f"there is no {quoted(first)}{did_you_mean(first, (*variables, *_FUNCTIONS)) or known}"


def _field(name: str, fields: tuple[str, ...]) -> str:
    longer = [each for each in fields if each.startswith(f"{name}.")]
    if longer:
        return f'; the name of a setting is one text: config["{longer[0]}"]'
    return did_you_mean(name, fields)


def _overload(name: str, types: str) -> str:
    given = [_type(each) for each in re.findall(r"[\w.]+(?:\([^)]*\))?", types)]
    operator = "[]" if name == "_[_]" else name.strip("_").replace("@", "").replace("_?_:_", "? :")
    what = operator if not operator[:1].isalpha() or operator == "in" else f"{operator}()"
    seen = " and ".join(given) or "a value of this type"
    remedy = ""
    if "null" in given:
        remedy = "; what may be null is tested first: … != null && …"
    elif "text" in given and "a whole number" in given:
        remedy = "; numbers, times (milliseconds) and sizes (bytes) are written without quotes"
    return f"{what} cannot be applied to {seen}{remedy}"


def _type(name: str) -> str:
    return _TYPES.get(name.partition("(")[0], "a value" if name == "dyn" else name)
