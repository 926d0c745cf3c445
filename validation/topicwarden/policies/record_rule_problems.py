"""Problems in the rules of ``contents`` that compare records: ``ordered`` and ``unique``."""

from __future__ import annotations

from collections.abc import Iterator

from topicwarden.model.contents import Contents
from topicwarden.model.record_rules import path_steps
from topicwarden.record_schemas import COMPILERS
from topicwarden.record_schemas.field_paths import path_error
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.schema_files import ProjectSchemas, UnusableSchema, schema_path
from topicwarden.specs.yaml_nodes import KeyPath


def _fields(contents: Contents) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path in the YAML, and the field, of each field that a rule names."""
    for number, ordered in enumerate(contents.ordered or ()):
        yield ("contents", "ordered", number, "field"), ordered.field
    for number, unique in enumerate(contents.unique or ()):
        for index, field in enumerate(unique.fields or ()):
            yield ("contents", "unique", number, "fields", index), field


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
