"""Test the YAML of client-metrics subscriptions: what is refused, and that an import writes what a check reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.command import topicwarden
from tests.support.projects import project_of
from topicwarden.kafka_facts.java_regex import java_regex_problem
from topicwarden.kinds.client_metrics.change import CLIENT_METRICS
from topicwarden.kinds.client_metrics.spec import ClientMetricsSpec, kafka_settings, yaml_settings
from topicwarden.specs.access_files import load_access, resolve_access


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{interval.ms: 99ms}", "expected an interval of 100ms to 1h, got 99 ms"),
        ("{interval.ms: 2h}", "expected an interval of 100ms to 1h, got 7,200,000 ms"),
        ("{metrics: ['a,b']}", "expected text without commas and outer spaces"),
        ("{metrics: ['']}", "metrics"),
        ("{metrics: [b., a., b.]}", 'expected each item once, got "b." twice'),
        ("{match: {client_software: x}}", 'unknown key "client_software"; did you mean client_software_name?'),
        ("{match: {foo: x}}", 'unknown key "foo"; known are client_instance_id, client_id, client_software_name, '),
        ("{match: {client_id: '['}}", 'a Java regular expression, got "[": a character class has no ]'),
        ("{match: {client_id: '(?P<n>x)'}}", "an unknown type of group"),
        ("{match: {client_software_name: 'a=b'}}", 'without =, where brokers split the text, got "a=b"; write \\x3d'),
        ("{match: {client_id: 'a,b'}}", "expected text without commas and outer spaces"),
        ("{interval: 30s}", "interval"),
    ],
)
def test_what_brokers_refuse_is_refused_with_its_location(tmp_path: Path, entry: str, message: str) -> None:
    project = project_of(tmp_path, {"t.yaml": "{topic: t, owner: o, partitions: 1, replication_factor: 1}"})
    project.access.mkdir(exist_ok=True)
    (project.access / "metrics.yaml").write_text(f"client_metrics:\n  producers: {entry}\n", encoding="utf-8")
    done = topicwarden("check", cwd=project.root)
    assert done.code == 1
    assert "access/metrics.yaml:2" in done.out + done.err
    assert message in done.out + done.err


def test_a_stack_overrides_the_keys_of_a_subscription(tmp_path: Path) -> None:
    folder = tmp_path / "access"
    folder.mkdir()
    text = """
client_metrics: {p: {interval.ms: 30s, metrics: [a., b.]}}
stacks: {dev: {client_metrics: {p: {interval.ms: 1m}}}}
"""
    (folder / "m.yaml").write_text(text, encoding="utf-8")
    loaded = load_access(folder, tmp_path, ["dev", "prod"])
    found = {
        stack: {str(key): own for key, own in resolve_access(loaded, (), stack).access.part(CLIENT_METRICS).items()}
        for stack in ("dev", "prod")
    }
    assert found == {
        "dev": {"p": {"interval.ms": "60000", "metrics": "a.,b."}},
        "prod": {"p": {"interval.ms": "30000", "metrics": "a.,b."}},
    }


ITEMS = st.text(
    st.characters(codec="ascii", exclude_characters=",=", categories=("L", "N", "P")), min_size=1, max_size=8
)
PATTERNS = ITEMS.filter(lambda text: java_regex_problem(text) is None)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "interval.ms": st.integers(100, 3_600_000),
            "metrics": st.lists(ITEMS, min_size=1, max_size=3, unique=True),
            "match": st.dictionaries(st.sampled_from(["client_id", "client_source_port"]), PATTERNS, min_size=1),
        },
    )
)
def test_what_an_import_writes_is_what_is_read(written: dict[str, Any]) -> None:
    spec = ClientMetricsSpec.model_validate(written)
    flat = spec.model_dump(exclude_unset=True, by_alias=True)
    match = {f"match.{selector}": pattern for selector, pattern in flat.pop("match", {}).items()}
    assert yaml_settings(kafka_settings({**flat, **match})) == written
