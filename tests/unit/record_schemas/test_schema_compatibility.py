"""Test what is concluded from the answers of the compatibility checkers, without a JVM."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import pytest

from topicwarden.model.compatibility import Compatibility
from topicwarden.specs.record_schemas.schema_compatibility import Comparison, ResolvedSchema, incompatibilities

_COMPATIBLE = """import sys; print('{"backward": [], "forward": []}\\n' * len(open(sys.argv[2]).readlines()))"""
_ERROR = "the checker of Protobuf compares no imports, and c.proto has changed"


@pytest.mark.parametrize(
    ("form", "level", "earlier", "error"),
    [
        ("protobuf", Compatibility.BACKWARD, [{"c.proto": "1"}], _ERROR),
        ("protobuf", Compatibility.BACKWARD, [{"c.proto": "1"}, {"c.proto": "2"}], None),
        ("protobuf", Compatibility.BACKWARD_TRANSITIVE, [{"c.proto": "1"}, {"c.proto": "2"}], _ERROR),
        ("protobuf", Compatibility.FULL, [{"d.proto": "1"}], None),
        ("protobuf", Compatibility.NONE, [{"c.proto": "1"}], None),
        ("avro", Compatibility.FULL, [{"c.proto": "1"}], None),
    ],
)
def test_changed_imports_of_protobuf_are_not_known_to_be_compatible(
    form: str, level: Compatibility, earlier: list[Mapping[str, str]], error: str | None
) -> None:
    new = ResolvedSchema(form, "", {"c.proto": "2"})
    versions = tuple(ResolvedSchema(form, "", references) for references in earlier)
    (verdict,) = incompatibilities([Comparison(new, versions, level)], [sys.executable, "-c", _COMPATIBLE])
    assert verdict.error == error


def test_a_reference_of_a_referenced_json_schema_is_the_reason_why_nothing_is_compared() -> None:
    answer = '{"error": "External JSON Schema resolution is disabled"}'
    schema = ResolvedSchema("json", "{}", {"b.json": "{}", "c.json": "{}"})
    (verdict,) = incompatibilities(
        [Comparison(schema, (schema,), Compatibility.FULL)], [sys.executable, "-c", f"print({answer!r})"]
    )
    assert verdict.error is not None
    assert "not those of the schemas that it refers to" in verdict.error
