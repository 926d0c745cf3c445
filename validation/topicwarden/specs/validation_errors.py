"""Convert pydantic's validation errors to Problems with messages for users, at the location of each value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from topicwarden.kafka_facts import configs
from topicwarden.kinds.subject.spec import SubjectDocument
from topicwarden.model.message_text import (
    boolean_hint,
    describe_value,
    did_you_mean,
    plain_number_hint,
    quoted,
    whole_number_hint,
)
from topicwarden.model.problem import MOST_PROBLEMS, Problem
from topicwarden.specs.document_model import AccessDocument, CommonSettings, TopicDocument
from topicwarden.specs.yaml_nodes import KeyPath, ParsedDocument

_TYPES = {
    "int_type": "a whole number such as 3",
    "float_type": "a number such as 4.0",
    "bool_type": "true or false",
    "string_type": "text",
    "list_type": "a list such as [a, b]",
    "tuple_type": "a list such as [a, b]",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}

_FOLDERS: Mapping[type[BaseModel], str] = {
    TopicDocument: "topics",
    AccessDocument: "access",
    SubjectDocument: "subjects",
}
"""The models of the documents of each folder."""

_INVALID_KEY = "[key]"
"""The last part of pydantic's path to the key of a mapping that is invalid itself."""

_MISSING_SPACE = re.compile(r"[a-z_.]+:[^\s:]", re.ASCII)
"""A key and its value without a space after the colon, which YAML reads as one text."""


def validation_problems(error: ValidationError, document: ParsedDocument, model: type[BaseModel]) -> list[Problem]:
    """Return one Problem for each error of ``model`` in ``document``, up to one more than are reported."""
    details = islice(error.errors(include_url=False), MOST_PROBLEMS + 1)
    return [_problem(detail, document, model) for detail in details]


def first_message(error: ValidationError, *path: str) -> str:
    """Return the message of the first error in the value at ``path``, with the name of the invalid value."""
    first = error.errors(include_url=False)[0]
    loc = tuple(part for part in first["loc"] if part != _INVALID_KEY)
    return f"{_name((*path, *loc))}: {message_of(first)}" if path or loc else message_of(first)


def message_of(error: ErrorDetails) -> str:
    """Return the message of one error, without the name of the value."""
    return _message(error["type"], error, error["input"])


def _problem(error: ErrorDetails, document: ParsedDocument, model: type[BaseModel]) -> Problem:
    loc, kind, value = error["loc"], error["type"], error["input"]
    if loc[-1:] == (_INVALID_KEY,):
        return _invalid_key(error, document)
    path = _path_in_document(loc, document.value)
    if kind == "extra_forbidden":
        return Problem(document.at_key(path), _unknown_key(path, model), "unknown-key")
    if kind == "config-unknown":
        return Problem(document.at_key(path), error["msg"], kind)
    if kind in ("topic-name", "plaintext-secret"):
        return Problem(document.at(path), error["msg"], kind)
    rule = "type" if kind in _TYPES else kind if kind in ("type", "config-value", "missing") else "value"
    if kind == "string_too_short":
        inherits = issubclass(model, CommonSettings) and isinstance(path[-1], str)
        remedy = "write it, or null to unset the inherited value" if inherits else "write it"
        return Problem(document.at(path), f"{_name(path)}: expected text, got empty text; {remedy}", rule)
    return Problem(document.at(path), f"{_name(path)}: {_message(kind, error, value)}", rule)


def _invalid_key(error: ErrorDetails, document: ParsedDocument) -> Problem:
    *path, key, _ = error["loc"]
    location = document.at_key((*path, key))
    if error["type"] == "literal_error":
        return Problem(location, _unknown(str(key), _choices(error)), "unknown-key")
    return Problem(location, f"{_name(tuple(path))}: {message_of(error)}", "value")


def _path_in_document(path: KeyPath, value: Any) -> KeyPath:
    """Return pydantic's ``path`` without the parts that are not in the document.

    A validator may wrap a single item in a list, or a single word in a mapping: that index or key is removed.
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
    """Return the name of the value in the message: its keys, without list indices, the stack and ``config``."""
    path = path[2:] if path[:1] == ("stacks",) and len(path) > 2 else path
    path = path[1:] if path[:1] == ("config",) and len(path) > 1 else path
    keys = [key if key.isprintable() else quoted(key) for key in path if isinstance(key, str)]
    return ".".join(keys) or "the document"


def _message(kind: str, error: ErrorDetails, value: Any) -> str:
    if kind in _TYPES:
        return f"expected {_TYPES[kind]}, got {describe_value(value)}{_remedy(kind, value)}"
    context = error.get("ctx", {})
    if kind in ("literal_error", "enum"):
        choices = _choices(error)
        suggestion = "; write error" if value == "on" and "error" in choices else did_you_mean(str(value), choices)
        return f"expected one of {', '.join(choices)}, got {describe_value(value)}{suggestion}"
    messages = {
        "extra_forbidden": "unknown key",
        "missing": "missing; write it",
        "greater_than": f"expected more than {context.get('gt', 0):g}, got {value}",
        "greater_than_equal": f"expected at least {context.get('ge')}, got {value}",
        "less_than_equal": f"expected at most {context.get('le')}, got {value}",
        "finite_number": "expected a number such as 4.0, got a number that is too large",
        "string_pattern_mismatch": f"expected text that matches {context.get('pattern')}, got {describe_value(value)}",
        "too_short": "expected at least one item, got none",
    }
    return messages.get(kind, error["msg"])


def _choices(error: ErrorDetails) -> list[str]:
    """Return the valid values of a ``literal_error`` or ``enum`` error."""
    return re.findall("'([^']+)'", error["ctx"]["expected"])


def _remedy(kind: str, value: Any) -> str:
    if kind == "bool_type" and isinstance(value, str):
        return boolean_hint(value)
    if kind == "float_type" and isinstance(value, str) and re.fullmatch(r"[0-9]+\.[0-9]+", value, re.ASCII):
        return f"; write {value}"
    if kind in ("int_type", "float_type"):
        return _number_hint(value)
    if kind in ("dict_type", "model_type", "model_attributes_type") and _MISSING_SPACE.match(str(value)):
        return "; put a space after the colon"
    if kind == "string_type" and isinstance(value, (int, float)):
        return "; put it in quotes"
    return ""


def _number_hint(value: Any) -> str:
    if isinstance(value, str):
        return plain_number_hint(value)
    return whole_number_hint(value) if isinstance(value, float) else ""


def _unknown_key(path: KeyPath, model: type[BaseModel]) -> str:
    key, known = str(path[-1]), known_keys(path[:-1], model)
    if message := _misplaced_key(path, model):
        return message
    if (plural := f"{key}s") in known:
        return f"unknown key {quoted(key)}; did you mean {plural}?"
    sections = [name for name, field in fields_at(path[:-1], model).items() if key in _keys_in(field.annotation)]
    if len(sections) == 1:
        return f"unknown key {quoted(key)}; write it under {sections[0]}"
    return _unknown(key, known, "`topicwarden rules` lists them" if path[:-1] == ("rules",) else None)


def _unknown(key: str, known: Sequence[str], valid_keys: str | None = None) -> str:
    remedy = did_you_mean(key, known) or f"; {valid_keys or 'known are ' + ', '.join(known)}"
    return f"unknown key {quoted(key)}{remedy}"


def _misplaced_key(path: KeyPath, model: type[BaseModel]) -> str | None:
    """Return the message about a key that is valid in another file; None for any other key."""
    key, message = str(path[-1]), None
    folder = next((name for other, name in _FOLDERS.items() if other is not model and key in other.model_fields), None)
    if len(path) == 1 and folder and model in (AccessDocument, SubjectDocument):
        owner = "it belongs to a topic: " if folder == "topics" else ""
        message = f"unknown key {quoted(key)}; {owner}write it in a file below {folder}/"
    elif not issubclass(model, CommonSettings):
        message = None
    elif key == "topic":
        where = "stacks" if path[0] == "stacks" else "a _defaults.yaml"
        message = f"{where} cannot name a topic; delete the key topic"
    elif key == "allow":
        message = "a _defaults.yaml cannot allow a destructive change; write allow into each topic's own file"
    elif configs.definition(key):
        message = f"unknown key {quoted(key)}; it is a Kafka topic configuration: write it under config"
    elif len(path) == 1 and folder and key != "acls":
        message = f"unknown key {quoted(key)}; write it in a file below {folder}/"
    return message


def known_keys(path: KeyPath, model: type[BaseModel]) -> list[str]:
    """Return the keys that the mapping at ``path`` of a document of type ``model`` may have."""
    return [field.alias or name for name, field in fields_at(path, model).items()]


def fields_at(path: KeyPath, model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of the mapping at ``path`` of a document of type ``model``, by attribute name."""
    if path[:1] == ("stacks",) and len(path) > 1:
        path, model = path[2:], _model_in(model.model_fields["stacks"].annotation) or model
    for key in path:
        if key in model.model_fields:  # any other key is the name of an item, such as an application
            model = _model_in(model.model_fields[str(key)].annotation) or model
    return model.model_fields


def _keys_in(annotation: Any) -> list[str]:
    nested = _model_in(annotation)
    return [field.alias or name for name, field in nested.model_fields.items()] if nested else []


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model in a field's type: the type itself, or in a list or a union; None if there is no model."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)
