"""What pydantic says of a document, as Problems at the places where the values were written."""

from __future__ import annotations

import re
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from topicwarden.model.problem import Problem
from topicwarden.specs import configs
from topicwarden.specs.document_model import ConfigSpec, TopicSettings
from topicwarden.specs.message_text import flag, guess, plainly, quoted, seen, wholly
from topicwarden.specs.yaml_nodes import KeyPath, YamlFile

_TYPES = {
    "int_type": "a whole number such as 3",
    "float_type": "a number such as 4.0",
    "bool_type": "true or false",
    "string_type": "text",
    "list_type": "a list such as [a, b]",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}

_GLUED = re.compile(r"[a-z_.]+:[^\s:]", re.ASCII)
"""A key and its value without the space between, which is one text to YAML."""


def problems_of(error: ValidationError, document: YamlFile, shape: type[BaseModel]) -> list[Problem]:
    """One Problem for each of pydantic's errors; ``shape`` is what the document was to be."""
    return [_problem(each, document, shape) for each in error.errors(include_url=False)]


def message_of(error: ErrorDetails) -> str:
    """What one of pydantic's errors says is wrong with a value, without the value's name."""
    return _message(error["type"], error, error["input"])


def _problem(error: ErrorDetails, document: YamlFile, shape: type[BaseModel]) -> Problem:
    path, kind, given = _written(error["loc"], document.value), error["type"], error["input"]
    if kind == "extra_forbidden":
        return Problem(document.at_key(path), _unknown_key(path, shape), "unknown-key")
    if kind == "config-unknown":
        return Problem(document.at_key(path), error["msg"], kind)
    if kind == "topic-name":
        return Problem(document.at(path), error["msg"], kind)
    rule = "type" if kind in _TYPES else kind if kind in ("type", "config-value", "missing") else "value"
    if kind == "string_too_short":
        inherits = issubclass(shape, ConfigSpec) and isinstance(path[-1], str)
        remedy = "write it, or null to unset what is inherited" if inherits else "write it"
        return Problem(document.at(path), f"{_name(path)}: expected text, seen empty text; {remedy}", rule)
    return Problem(document.at(path), f"{_name(path)}: {_message(kind, error, given)}", rule)


def _written(path: KeyPath, value: Any) -> KeyPath:
    """``path`` as the document has it: without the index where one thing was written for a list of one, and without
    the key where one word was written for a mapping.
    """
    written: list[str | int] = []
    for part in path:
        if isinstance(part, int) and not isinstance(value, list):
            continue
        if isinstance(part, str) and value is not None and not isinstance(value, (dict, list)):
            continue
        written.append(part)
        if isinstance(part, int):
            value = value[part] if part < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return tuple(written)


def _name(path: KeyPath) -> str:
    """What the message calls the value: its keys, without the list index, the stack and ``config``."""
    path = path[2:] if path[:1] == ("stacks",) and len(path) > 2 else path
    path = path[1:] if path[:1] == ("config",) and len(path) > 1 else path
    keys = [key if key.isprintable() else quoted(key) for key in path if isinstance(key, str)]
    return ".".join(keys) or "the document"


def _message(kind: str, error: ErrorDetails, given: Any) -> str:
    if kind in _TYPES:
        return f"expected {_TYPES[kind]}, seen {seen(given)}{_remedy(kind, given)}"
    context = error.get("ctx", {})
    if kind in ("literal_error", "enum"):
        choices = re.findall("'([^']+)'", context["expected"])
        meant = "; write error" if given == "on" and "error" in choices else guess(str(given), choices)
        return f"expected one of {', '.join(choices)}, seen {seen(given)}{meant}"
    bound = {
        "missing": "missing; write it",
        "greater_than_equal": f"expected at least {context.get('ge')}, seen {given}",
        "less_than_equal": f"expected at most {context.get('le')}, seen {given}",
        "finite_number": "expected a number such as 4.0, seen one that is too large",
        "string_pattern_mismatch": f"expected text like {context.get('pattern')}, seen {seen(given)}",
        "too_short": "expected one at least, seen none",
    }
    return bound.get(kind, error["msg"])


def _remedy(kind: str, given: Any) -> str:
    if kind == "bool_type" and isinstance(given, str):
        return flag(given)
    if kind == "float_type" and isinstance(given, str) and re.fullmatch(r"[0-9]+\.[0-9]+", given, re.ASCII):
        return f"; write {given}"
    if kind in ("int_type", "float_type"):
        return plainly(given) if isinstance(given, str) else wholly(given) if isinstance(given, float) else ""
    if kind in ("dict_type", "model_type", "model_attributes_type") and _GLUED.match(str(given)):
        return "; put a space after the colon"
    if kind == "string_type" and isinstance(given, (int, float)):
        return "; put it in quotes"
    return ""


def _unknown_key(path: KeyPath, shape: type[BaseModel]) -> str:
    key, known = str(path[-1]), known_keys(path[:-1], shape)
    if key == "topic" and issubclass(shape, ConfigSpec):
        where = "stacks" if path[0] == "stacks" else "a _defaults.yaml"
        return f"{where} cannot name a topic; delete the key topic"
    if key == "allow" and issubclass(shape, ConfigSpec):
        return "a _defaults.yaml cannot allow a destructive change; write allow into each topic's own file"
    if issubclass(shape, ConfigSpec) and configs.definition(key):
        return f"unknown key {quoted(key)}; it is a configuration of Kafka's: write it under config"
    if (plural := f"{key}s") in known:
        return f"unknown key {quoted(key)}; did you mean {plural}?"
    homes = [name for name, field in fields_at(path[:-1], shape).items() if key in _keys_in(field.annotation)]
    if len(homes) == 1:
        return f"unknown key {quoted(key)}; write it under {homes[0]}"
    listed = "`topicwarden rules` lists them" if path[:-1] == ("rules",) else f"known are {', '.join(known)}"
    remedy = guess(key, known) or f"; {listed}"
    return f"unknown key {quoted(key)}{remedy}"


def known_keys(path: KeyPath, shape: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in fields_at(path, shape).items()]


def fields_at(path: KeyPath, shape: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of the mapping at ``path`` of a document that is to be ``shape``."""
    if path[:1] == ("stacks",):
        path, shape = path[2:], TopicSettings if issubclass(shape, TopicSettings) else ConfigSpec
    for key in path:
        if isinstance(key, str):
            held: Any = shape.model_fields[key].annotation
            shape = _model_in(held) or shape
    return shape.model_fields


def _keys_in(annotation: Any) -> list[str]:
    held = _model_in(annotation)
    return [field.alias or name for name, field in held.model_fields.items()] if held else []


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model that a field holds: itself, in a list, or or-null; None where it holds another thing."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)
