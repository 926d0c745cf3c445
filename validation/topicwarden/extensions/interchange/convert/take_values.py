"""Takes the values of a topic from the fields of another tool's file."""

from __future__ import annotations

from typing import Any

from topicwarden.extensions.interchange.convert.source_file import UnreadFields, shown_key
from topicwarden.extensions.interchange.convert.topic_reader import TopicReader
from topicwarden.extensions.interchange.convert.topic_values import MAX_COUNTS, SettingValues
from topicwarden.model.message_text import did_you_mean, kind_of, quoted, yaml_readings
from topicwarden.model.problem import Location
from topicwarden.specs.yaml_nodes import KeyPath


def one_line(text: Any) -> str | None:
    """Return ``text`` with single spaces instead of line breaks; None if it is empty or not text."""
    return " ".join(text.split()) or None if isinstance(text, str) else None


def paragraphs(text: Any) -> str | None:
    """Return ``text`` without white space around it; None if it is empty or not text."""
    return text.strip() or None if isinstance(text, str) else None


def take_number(fields: UnreadFields, path: KeyPath, reader: TopicReader) -> tuple[Any, Location]:
    """Take the number at ``path``; report a number that YAML 1.1 and YAML 1.2 read differently."""
    _report_octal(fields, path, reader)
    return fields.take(path)


def take_counts(
    fields: UnreadFields, path: KeyPath, partitions: str, replicas: str, reader: TopicReader
) -> dict[str, tuple[Any, Location]]:
    """Take the two counts of a topic, which have these keys in the mapping at ``path``; see ``take_number``."""
    return {
        part: take_number(fields, (*path, key), reader)
        for part, key in zip(MAX_COUNTS, (partitions, replicas), strict=True)
    }


def take_settings(fields: UnreadFields, path: KeyPath, reader: TopicReader) -> SettingValues:
    """Take the mapping of settings at ``path``; return an empty mapping if there is none."""
    value, location = fields.take(path)
    if value is None:
        return {}
    if not isinstance(value, dict):
        reader.add_problem(location, f"{path[-1]}: expected a mapping of settings, got {kind_of(value)}", "type")
        return {}
    settings: SettingValues = {}
    for name, setting in value.items():
        setting_path = (*path, name)
        _report_octal(fields, setting_path, reader)
        settings[name] = (setting, fields.document.at_key(setting_path), fields.document.at(setting_path))
    return settings


def report_unknown_keys(fields: UnreadFields, path: KeyPath, known: tuple[str, ...], reader: TopicReader) -> None:
    """Report unknown keys of the mapping at ``path``, so that the value of a misspelled key is not lost."""
    value, _ = fields.peek(path)
    for name in value if isinstance(value, dict) else ():
        if name not in known:
            fields.take((*path, name))
            hint = did_you_mean(name, known) or f"; expected one of {', '.join(known)}"
            message = f"unknown key {quoted(shown_key(name))}{hint}"
            reader.add_problem(fields.document.at_key((*path, name)), message, "unknown-key")


def _report_octal(fields: UnreadFields, path: KeyPath, reader: TopicReader) -> None:
    value, location = fields.peek(path)
    written = fields.octal_number(path) if isinstance(value, str) else None
    if written:
        readings = yaml_readings(written.replace("_", ""))
        message = f"expected no leading zero, got {written}: {readings}; write the intended number"
        reader.add_problem(location, message, "value")
