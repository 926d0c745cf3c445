"""Problems in a topic's ``contents`` that are visible without records: schema files, expressions and partitioner.

The audit compiles schemas with the same code (``record_schemas``), so a schema that passes here compiles there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, TypeAlias

from topicwarden.model.arrival import DAY_MS, ArrivalContents
from topicwarden.model.contents import Contents, EncodedContents, path_steps
from topicwarden.model.message_text import Suggestions, quoted
from topicwarden.model.problem import Level, Problem
from topicwarden.policies.expressions import CelError, compile_record_expression
from topicwarden.specs.record_schemas import COMPILERS
from topicwarden.specs.record_schemas.field_paths import path_error, spelling_hint
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.schema_files import ProjectSchemas, UnusableSchema, schema_path
from topicwarden.specs.yaml_nodes import KeyPath

_KEY_FORMATS: Final = ("string", "int", "long", "uuid", "json", "avro")
"""The formats of keys that a field can refer to."""
RULE: Final = "contents"

_PARTITIONER_SETTINGS: Final = ("partitioner", "partition_expression", "partition_function")

_Message: TypeAlias = tuple[KeyPath, str]
"""The path of a problem in the topic's document, and its text."""


def contents_problems(
    declarations: Sequence[Declaration], schemas: ProjectSchemas, *, complete: bool = True
) -> Iterator[Problem]:
    """Yield the problems in ``contents`` of each declaration, at the values.

    ``specs/declared_subjects.py`` has those of schemas that a deploy registers. ``complete``: these are all topics of
    the stack, so that references to others are wrong.
    """
    by_name = {declaration.topic.name: declaration for declaration in declarations}
    suggestions = Suggestions(by_name, ignore_case=False)
    known: dict[int, tuple[_Message, ...]] = {}
    for declaration in declarations:
        contents = declaration.topic.contents
        messages = known.get(id(contents))  # Equal contents are one object, which the declaration keeps alive.
        if messages is None:
            messages = known[id(contents)] = tuple(_contents_messages(contents))
        for path, message in (
            *messages,
            *_schema_messages(declaration, schemas),
            *(reference_problems(declaration, by_name, suggestions) if complete else ()),
        ):
            yield Problem(declaration.locations.at(path), message, RULE)
        yield from _record_rule_problems(declaration, schemas)


def _contents_messages(contents: Contents) -> Iterator[_Message]:
    """Yield the problems that are visible without any file."""
    for part in ("key", "value"):
        for key, message in _encoding_messages(contents.encoding(part)):
            yield ("contents", part, key), message
    declared = [name for name in _PARTITIONER_SETTINGS if getattr(contents.key, name)]
    if len(declared) > 1:
        message = f"expected one partitioner, got {' and '.join(declared)}; keep one, and write null for the others"
        yield ("contents", "key", declared[1]), message
    for key, message in _arrival_messages(contents.arrival):
        yield ("contents", "arrival", key), message
    seen: set[str] = set()
    for number, expression in enumerate(contents.expressions or ()):
        if expression.id in seen:
            message = f"the expression {expression.id} is declared twice; keep one"
            yield ("contents", "expressions", number, "id"), message
        seen.add(expression.id)
        if error := _cel_error(expression.require):
            yield ("contents", "expressions", number, "require"), f"{expression.id}: {error}"


def _arrival_messages(arrival: ArrivalContents) -> Iterator[tuple[str, str]]:
    """Yield a setting and its problem."""
    bounds = [name for name in ("min", "max") if getattr(arrival, name) is not None]
    if bounds and arrival.every is None:
        yield bounds[0], f"{bounds[0]} counts the records of a period; write every: 1d"
    if arrival.every is not None and not bounds:
        yield "every", "every needs the number of records in a period; write min or max, or delete it"
    if arrival.min is not None and arrival.max is not None and arrival.min > arrival.max:
        yield "min", f"expected at most max of {arrival.max:,}, got {arrival.min:,}"
    if arrival.timezone and (arrival.every or 0) < DAY_MS:
        yield (
            "timezone",
            "timezone says when days begin, and shorter periods begin in UTC; write every: 1d, or delete it",
        )


def _encoding_messages(declared: EncodedContents) -> Iterator[tuple[str, str]]:
    """Yield a setting and its problem for each wrong combination of format, schema and registry."""
    encoding, schema, registry = declared.format, declared.schema_file, declared.registry
    if declared.registered:
        if declared.message and encoding != "protobuf":
            yield "message", "message names a message type of a .proto schema; write format: protobuf, or delete it"
        return
    if (schema or registry) and encoding not in COMPILERS:
        key = "schema" if schema else "registry"
        yield key, f"{key} needs a format that has schemas; write format: {', '.join(COMPILERS)}"
        return
    if schema and registry and encoding != "avro":
        yield (
            "schema",
            f"with registry: true, {encoding} records are validated against the registry's schema; delete schema",
        )
    if declared.message and not (encoding == "protobuf" and schema):
        yield (
            "message",
            "message names a message type of a .proto schema; write format: protobuf and schema: FILE, or delete it",
        )
    if declared.subject and not registry:
        yield "subject", "subject names a subject of the schema registry; write registry: true, or delete it"
    if encoding in ("avro", "protobuf") and not schema and not registry:
        yield "format", f"{encoding} cannot be read without a schema; write schema: FILE, or registry: true"


def _schema_messages(declaration: Declaration, schemas: ProjectSchemas) -> Iterator[_Message]:
    """Yield the problems of schema files, whose paths are relative to the YAML files that name them."""
    for part in ("key", "value"):
        declared, path = declaration.topic.contents.encoding(part), schema_path(declaration, part)
        if path is None or declared.format is None or declared.format not in COMPILERS or declared.registered:
            continue
        try:
            error = schemas.error(declared.format, schemas.text(path), declared.message or "")
        except UnusableSchema as unusable:
            error = str(unusable)
        if error:
            yield ("contents", part, "schema"), f"{path} {error}"


@cache
def _cel_error(text: str) -> str | None:
    try:
        compile_record_expression(text)
    except CelError as error:
        return str(error)
    return None


def _fields(contents: Contents) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path in the YAML, and the field, of each field that a rule names."""
    for number, ordered in enumerate(contents.ordered or ()):
        yield ("contents", "ordered", number, "field"), ordered.field
    for number, unique in enumerate(contents.unique or ()):
        for index, field in enumerate(unique.fields or ()):
            yield ("contents", "unique", number, "fields", index), field
    for number, reference in enumerate(contents.references or ()):
        yield ("contents", "references", number, "field"), reference.field


def _record_rule_problems(declaration: Declaration, schemas: ProjectSchemas) -> Iterator[Problem]:
    """Yield the problems of the rules that compare records, except those of topics that they name."""
    contents, locations = declaration.topic.contents, declaration.locations
    for number, rule in enumerate(contents.unique or ()):
        if not rule.label:
            location = locations.at(("contents", "unique", number))
            yield Problem(location, "expected an identity: write fields: [FIELD], header: NAME, or key: true", RULE)
    encoding, path = contents.value.format, schema_path(declaration, "value")
    fields = [*_fields(contents)]
    text = _valid_schema(contents.value, path, schemas) if fields else None
    for key_path, field in fields:
        location, steps = locations.at(key_path), path_steps(field)
        if encoding is None or encoding not in COMPILERS:
            expected = ", ".join(COMPILERS)
            message = f"a field needs values of a format with fields; write value: {{format: …}}: {expected}"
            yield Problem(location, message, RULE)
        elif text is None:
            continue
        elif error := path_error(encoding, text, contents.value.message, steps):
            yield Problem(location, f"no record of {path} has {field}: {error}", RULE)
        elif encoding == "json" and (hint := spelling_hint(text, steps)):
            yield Problem(location, f"{path} does not describe {field}; {hint}", RULE, Level.WARNING)


def _valid_schema(declared: EncodedContents, path: str | None, schemas: ProjectSchemas) -> str | None:
    """Return the text of the schema at ``path``; None if there is none, or if it has problems of its own."""
    if path is None or declared.format is None or declared.format not in COMPILERS:
        return None
    registered = declared.registered
    # What other subjects define is not needed to know the own fields.
    references = tuple((each.name, None) for each in registered.references or ()) if registered else None
    try:
        text = schemas.text(path)
    except UnusableSchema:
        return None
    return text if schemas.error(declared.format, text, declared.message or "", references) is None else None


def reference_problems(
    declaration: Declaration, declared: Mapping[str, Declaration], suggestions: Suggestions
) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path in the YAML and the text of each reference to a topic whose keys cannot be compared.

    ``declared`` are all topics of the stack, by name. ``suggestions`` has the same names.
    """
    for number, rule in enumerate(declaration.topic.contents.references or ()):
        location = ("contents", "references", number, "topic")
        if rule.topic not in declared:
            close = suggestions.nearest(rule.topic)
            hint = f"; did you mean {quoted(close)}?" if close else ""
            yield location, f"the stack has no topic {quoted(rule.topic)}{hint}"
            continue
        found = declared[rule.topic].topic.contents.key.format
        if found not in _KEY_FORMATS:
            expected = ", ".join(_KEY_FORMATS)
            has = f"of the format {found}" if found else "of no declared format"
            yield location, f"the keys of {rule.topic} are {has}; write contents: {{key: {{format: …}}}}: {expected}"
