"""Takes the subjects of a Schema Registry from the fields of another tool's file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from topicwarden.extensions.interchange.convert.access_values import items, take_text
from topicwarden.extensions.interchange.convert.source_file import UnreadFields, shown_name, shown_value
from topicwarden.extensions.interchange.convert.topic_reader import ConvertedSubject, TopicReader
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.files import read_regular_file
from topicwarden.model.message_text import did_you_mean, quoted, whole_number
from topicwarden.model.problem import Location
from topicwarden.model.subject import RegisteredSchema, SchemaReference, SubjectUse
from topicwarden.specs.record_schemas import COMPILERS
from topicwarden.specs.yaml_nodes import KeyPath

_MAX_BYTES: Final = 16 << 20


def take_subject(
    fields: UnreadFields,
    reader: TopicReader,
    *,
    name: tuple[str | None, Location],
    schema_format: KeyPath,
    text: str | None,
    compatibility: KeyPath | None = None,
    references: KeyPath | None = None,
    reference_subject: str = "subject",
    version: KeyPath | None = None,
    use: SubjectUse | None = None,
) -> ConvertedSubject | None:
    """Take a subject with this ``name`` and its location, whose schema is ``text``; report what is wrong or missing.

    The other parts of the subject are at these paths. ``use`` is the part of a topic whose schema it is, if known.
    """
    subject, location = name
    format_name = take_format(fields, schema_format, reader)
    level = take_compatibility(fields, compatibility, reader) if compatibility else None
    found = _references(fields, references, reference_subject, reader) if references else []
    number = fields.take(version)[0] if version else None
    if subject is None or format_name is None or text is None:
        return None
    schema = RegisteredSchema(format_name, text, tuple(found))
    known_version = number if type(number) is int else None
    return ConvertedSubject(subject, schema, level, known_version, use, location)


def take_name(fields: UnreadFields, path: KeyPath, reader: TopicReader) -> tuple[str | None, Location]:
    """Take the name at ``path``, and return it with its location; report a value that is missing or not text."""
    return take_text(fields, path, reader), fields.document.at(path)


def take_format(fields: UnreadFields, path: KeyPath, reader: TopicReader) -> str | None:
    """Take the type of a schema, such as ``AVRO``, which is the default; report another word and return None."""
    value, location = fields.take(path)
    name = "avro" if value in (None, "") else str(value).lower()
    if name in COMPILERS:
        return name
    message = f"{path[-1]}: expected AVRO, JSON or PROTOBUF, got {shown_value(value)}"
    reader.add_problem(location, message, "value")
    return None


def take_compatibility(fields: UnreadFields, path: KeyPath, reader: TopicReader) -> Compatibility | None:
    """Take a compatibility level; None if there is none. Report an unknown one."""
    value, location = fields.take(path)
    if value in (None, ""):
        return None
    try:
        return Compatibility(str(value).upper())
    except ValueError:
        hint = did_you_mean(str(value), list(Compatibility)) or f"; expected one of {', '.join(Compatibility)}"
        message = f"{path[-1]}: unknown compatibility level {shown_name(value)}{hint}"
        reader.add_problem(location, message, "value")
        return None


def schema_beside(reader: TopicReader, written: Any, location: Location) -> str | None:
    """Return the text of the schema file at the path ``written`` in the source; None, with a note, if there is none.

    The path is relative to the source or to the project. Only files in the project, or in the folder of the source, are
    read.
    """
    source, label = reader.source, f"schema {quoted(str(written))}"
    if source.path is None or source.root is None or not isinstance(written, str):
        reader.leave_out(location, label, "not imported, because schema files are read beside a file on disk only")
        return None
    root = Path(os.path.realpath(source.root))
    reason = "not imported, because there is no such file beside this one or in the project"
    for folder in dict.fromkeys((source.path.parent, root)):
        path = Path(os.path.realpath(folder / written))
        if not path.is_relative_to(root):
            reason = "not imported, because the file is outside of the folder of this one; move both into one folder"
            continue
        try:
            return read_regular_file(path, _MAX_BYTES).decode("utf-8-sig")
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            cause = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
            reason = f"not imported, because the file cannot be read: {cause}"
            break
    reader.leave_out(location, label, reason)
    return None


def _references(fields: UnreadFields, path: KeyPath, subject_key: str, reader: TopicReader) -> list[SchemaReference]:
    """Take the list of references at ``path``, in which ``subject_key`` names the subject of each one."""
    if fields.peek(path)[0] is None:
        fields.take(path)
        return []
    found = (_reference(fields, item, subject_key, reader) for item in items(fields, path, reader))
    return [reference for reference in found if reference]


def _reference(fields: UnreadFields, path: KeyPath, subject_key: str, reader: TopicReader) -> SchemaReference | None:
    name = take_text(fields, (*path, "name"), reader)
    subject = take_text(fields, (*path, subject_key), reader)
    value, location = fields.take((*path, "version"))
    version = whole_number(value) if isinstance(value, str) else value
    if value is not None and (type(version) is not int or version < 1):
        reader.add_problem(location, f"version: expected a whole number from 1, got {shown_value(value)}", "value")
        return None
    return SchemaReference(name, subject, version) if name and subject else None
