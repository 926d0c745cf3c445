"""Problems in the rules of ``contents`` that compare records: ``ordered``, ``unique`` and ``references``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from topicwarden.model.contents import Contents
from topicwarden.model.message_text import quoted
from topicwarden.model.record_rules import path_steps
from topicwarden.specs.record_schemas import COMPILERS
from topicwarden.specs.record_schemas.field_paths import path_error
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.schema_files import ProjectSchemas, UnusableSchema, schema_path
from topicwarden.specs.yaml_nodes import KeyPath

_KEY_FORMATS: Final = ("string", "int", "long", "uuid", "json", "avro")
"""The formats of keys that a field can refer to."""


def _fields(contents: Contents) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path in the YAML, and the field, of each field that a rule names."""
    for number, ordered in enumerate(contents.ordered or ()):
        yield ("contents", "ordered", number, "field"), ordered.field
    for number, unique in enumerate(contents.unique or ()):
        for index, field in enumerate(unique.fields or ()):
            yield ("contents", "unique", number, "fields", index), field
    for number, reference in enumerate(contents.references or ()):
        yield ("contents", "references", number, "field"), reference.field


def record_rule_problems(declaration: Declaration, schemas: ProjectSchemas) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path in the YAML and the text of each problem."""
    contents = declaration.topic.contents
    for number, rule in enumerate(contents.unique or ()):
        if not rule.label:
            yield (
                ("contents", "unique", number),
                "expected an identity: write fields: [FIELD], header: NAME, or key: true",
            )
    encoding, path = contents.value.format, schema_path(declaration, "value")
    for location, field in _fields(contents):
        if encoding is None or encoding not in COMPILERS:
            expected = ", ".join(COMPILERS)
            yield location, f"a field needs values of a format with fields; write value: {{format: …}}: {expected}"
        elif path is not None:
            try:
                error = path_error(encoding, schemas.text(path), contents.value.message, path_steps(field))
            except UnusableSchema:
                continue  # which is a problem of its own
            if error:
                yield location, f"no record of {path} has {field}: {error}"


def reference_problems(declaration: Declaration, declared: Mapping[str, Declaration]) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path in the YAML and the text of each reference to a topic whose keys cannot be compared.

    ``declared`` are all topics of the stack, by name.
    """
    for number, rule in enumerate(declaration.topic.contents.references or ()):
        location = ("contents", "references", number, "topic")
        if rule.topic not in declared:
            close = get_close_matches(rule.topic, declared, 1)
            hint = f"; did you mean {quoted(close[0])}?" if close else ""
            yield location, f"the stack has no topic {quoted(rule.topic)}{hint}"
            continue
        found = declared[rule.topic].topic.contents.key.format
        if found not in _KEY_FORMATS:
            expected = ", ".join(_KEY_FORMATS)
            has = f"of the format {found}" if found else "of no declared format"
            yield location, f"the keys of {rule.topic} are {has}; write contents: {{key: {{format: …}}}}: {expected}"
