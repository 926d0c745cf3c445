from __future__ import annotations

import pytest

from topicwarden.specs.configs import definition, definitions, kafka_version, nearest


def test_the_catalogue_is_kafkas() -> None:
    assert kafka_version().startswith("4.")
    assert len(definitions()) >= 33
    assert {each.type for each in definitions().values()} == {"boolean", "string", "int", "long", "double", "list"}


def test_every_validator_is_understood() -> None:
    for each in definitions().values():
        low, high = each.bounds
        throttled = each.name.endswith("throttled.replicas")
        assert each.validator is None or low is not None or high is not None or each.choices or throttled, each


def test_every_default_of_kafkas_is_valid() -> None:
    assert {name: each.problem(each.default) for name, each in definitions().items() if each.default} == {
        name: None for name, each in definitions().items() if each.default
    }


@pytest.mark.parametrize(
    ("name", "valid", "invalid"),
    [
        ("retention.ms", ["-1", "0", "+5", str(2**63 - 1)], ["-2", str(2**63), "1.0", "", "1e3", "x", "٣"]),
        ("retention.bytes", ["-1", "-7"], [str(-(2**63) - 1)]),
        ("segment.bytes", ["1048576", "2147483647"], ["1048575", "2147483648"]),
        ("compression.gzip.level", ["1", "9", "-1"], ["0", "10", "-2"]),
        ("compression.zstd.level", ["-131072", "22"], ["-131073", "23"]),
        ("min.cleanable.dirty.ratio", ["0", "1", "0.5", "1e-3", ".5"], ["1.1", "-0.1", "NaN", "half"]),
        ("preallocate", ["true", "FALSE", " true "], ["yes", "1", ""]),
        ("cleanup.policy", ["delete", "compact, delete", ""], ["Delete", "compact,", "delete,delete"]),
        ("compression.type", ["zstd", "producer"], ["none", "ZSTD", ""]),
        ("message.timestamp.type", ["CreateTime"], ["createtime"]),
        ("leader.replication.throttled.replicas", ["*", "", "0:1,2:3"], ["0", "0:1:2", "*,0:1"]),
    ],
)
def test_bounds_are_kafkas(name: str, valid: list[str], invalid: list[str]) -> None:
    known = definition(name)
    assert known is not None
    assert [value for value in valid if known.problem(value)] == []
    assert [value for value in invalid if not known.problem(value)] == []


def test_a_message_says_expected_against_seen() -> None:
    known = definition("max.message.bytes")
    assert known is not None
    assert known.problem("2147483648", "2GiB") == (
        "expected a whole number (int) of at least 0, seen 2GiB (2147483648); the greatest int is 2147483647"
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [("retention_ms", "retention.ms"), ("log.retention.ms", "retention.ms"), ("Cleanup.Policy", "cleanup.policy")],
)
def test_the_nearest_name(written: str, meant: str) -> None:
    assert nearest(written) == meant
    assert definition(written) is None


def test_nothing_is_near_nonsense() -> None:
    assert nearest("zzz") is None
