"""Test which Avro schemas the check accepts. tests/spark/codecs compares them with Java's library."""

from __future__ import annotations

import pytest

from tests.support.java_avro import JAVA_AVRO
from topicwarden.specs.record_schemas import COMPILERS


@pytest.mark.parametrize("name", JAVA_AVRO)
def test_a_schema_that_java_reads_is_accepted(name: str) -> None:
    assert COMPILERS["avro"](JAVA_AVRO[name], None) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"type": "record", "name": "A", "fields": [{"name": "a", "type": "B"}]}', 'there is no type "B"'),
        (
            '{"type": "record", "name": "A", "fields": [{"name": "a", "type": "B", "default": "xyz"}, '
            '{"name": "b", "type": {"type": "fixed", "name": "B", "size": 1}}]}',
            "the default of",
        ),
        (
            '{"type": "record", "name": "A", "fields": [{"name": "a", "type": ["double"], "default": "NaN"}]}',
            "the default of",
        ),
        ('{"type": "record", "name": "A", "fields": [{"name": "a", "type": "int", "default": "NaN"}]}', "the default"),
        ('{"type": "record", "name": "A", "namespace": 5, "fields": []}', "expected the namespace"),
        ('{"type": "record", "name": "\U0001f600", "fields": []}', "is not a valid name"),
        ('{"type": "record" /* open', "JSON"),
        ('# a\n"string"', "JSON"),
    ],
)
def test_a_schema_that_java_refuses_is_refused(text: str, why: str) -> None:
    assert why in (COMPILERS["avro"](text, None) or "")
