"""Test that no input makes the loader raise or hang: YAML from hypothesis, and mutations of every example."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.fuzz.target import judged, project_in, seeds
from topicwarden.model.project import Project

TOPIC_KEYS = ("topic", "partitions", "replication_factor", "config", "contents", "stacks", "allow", "access", "consume")
ACCESS_KEYS = (
    "acls",
    "principal",
    "operations",
    "applications",
    "type",
    "users",
    "password",
    "quotas",
    "group_configs",
)
KEYS = (*TOPIC_KEYS, *ACCESS_KEYS, "rules", "waivers", "key", "User:a", "streams", "Read")
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12), st.sampled_from(KEYS))
TREES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(st.sampled_from(KEYS), st.text(max_size=8)), inner)
    ),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    yield project_in(tmp_path_factory.mktemp("fuzz") / "project")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=TREES)
def test_any_document_is_loaded_without_a_crash(project: Project, tree: object) -> None:
    judged(project, yaml.safe_dump(tree, allow_unicode=True).encode("utf-8", "surrogatepass"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200))
def test_any_bytes_are_loaded_without_a_crash(project: Project, data: bytes) -> None:
    judged(project, data)


def test_mutated_examples_are_judged(project: Project) -> None:
    chance, pool = random.Random(20261121), seeds()
    alphabet = [
        b"\t",
        b"- ",
        b": ",
        b"{",
        b"}",
        b"[",
        b"&a ",
        b"*a",
        b"<<",
        b"\xff",
        b"'",
        b'"',
        b"\n",
        b"1e9",
        b"~",
        b"!!",
    ]
    for _ in range(5 * settings().max_examples):
        data = bytearray(chance.choice(pool))
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(data) + 1)
            data[at : at + chance.randint(0, 3)] = chance.choice(alphabet)
        judged(project, bytes(data))
