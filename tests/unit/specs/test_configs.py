"""Test Kafka's configuration definitions, and the units of their values."""

from __future__ import annotations

import re

import pytest
from pydantic import TypeAdapter, ValidationError

from tools.kafka_configs.generate import merge
from topicwarden.kafka_facts.config_values import Config, kafka_spelling
from topicwarden.kafka_facts.configs import (
    definition,
    definitions,
    group_definitions,
    kafka_lines,
    kafka_version,
    nearest,
)
from topicwarden.model.units import DURATION, SIZE, ValueUnit, unit_of


def test_the_catalogue_is_kafkas() -> None:
    assert kafka_version().startswith("4.")
    assert len(definitions()) >= 33
    assert {each.type for each in definitions().values()} == {"boolean", "string", "int", "long", "double", "list"}


def test_every_kafka_validator_is_translated() -> None:
    for each in definitions().values():
        low, high = each.bounds
        throttled = each.name.endswith("throttled.replicas")
        assert each.validator is None or low is not None or high is not None or each.choices or throttled, each


def test_group_settings_are_kafkas() -> None:
    assert [len(group_definitions(line)) for line in kafka_lines()] == [0, 6, 10, 11, 17, 27]
    reset = group_definitions()["share.auto.offset.reset"]
    valid = ["latest", "earliest", "by_duration:PT1H", "by_duration:P1DT2H3M4.5S"]
    assert [value for value in valid if reset.problem(value)] == []
    assert [
        value for value in ("none", "by_duration:1h", "by_duration:P", "by_duration:PT") if not reset.problem(value)
    ] == []
    assert reset.expected == "one of latest, earliest, or by_duration:PT1H"
    assert {name for name, each in group_definitions().items() if each.default and each.problem(each.default)} == set()


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


def test_a_message_has_the_expected_and_the_actual_value() -> None:
    known = definition("max.message.bytes")
    assert known is not None
    assert known.problem("2147483648", "2GiB") == (
        "expected a whole number (int) of at least 0, got 2GiB (2147483648); the maximum int is 2147483647"
    )


@pytest.mark.parametrize(
    ("written", "expected"),
    [("retention_ms", "retention.ms"), ("log.retention.ms", "retention.ms"), ("Cleanup.Policy", "cleanup.policy")],
)
def test_the_nearest_name(written: str, expected: str) -> None:
    assert nearest(written) == expected
    assert definition(written) is None


def test_a_random_name_has_no_suggestion() -> None:
    assert nearest("zzz") is None


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("retention.ms", ("3.9", "4.0", "4.1", "4.2", "4.3", "4.4")),
        ("errors.deadletterqueue.group.enable", ("4.4",)),
        ("message.format.version", ("3.9",)),
        ("message.downconversion.enable", ("3.9",)),
    ],
)
def test_a_line_of_kafka_has_its_own_settings(name: str, lines: tuple[str, ...]) -> None:
    assert tuple(line for line in kafka_lines() if definition(name, line)) == lines
    assert definition(name) is not None


def test_bounds_and_defaults_are_those_of_the_kafka_version() -> None:
    small = {line: definitions(line)["segment.bytes"].problem("1000") is None for line in kafka_lines()}
    assert small == {"3.9": True, "4.0": True, "4.1": False, "4.2": False, "4.3": False, "4.4": False}
    assert definitions("3.9")["message.timestamp.after.max.ms"].default == str(2**63 - 1)
    assert definitions("4.0")["message.timestamp.after.max.ms"].default == "3600000"


def test_deprecated_settings_are_those_of_kafka() -> None:
    assert {each.name for each in definitions("3.9").values() if each.deprecated} == {
        "message.format.version",
        "message.timestamp.difference.max.ms",
    }
    assert not [each for each in definitions("4.4").values() if each.deprecated]


def test_the_catalogue_has_versions_and_differences() -> None:
    old, new = (
        {"type": "int", "default": "1", "documentation": "x"},
        {"type": "int", "default": "2", "documentation": "y"},
    )
    merged = merge({"4.0.1": {"configs": {"a": old, "gone": old}}, "4.1.0": {"configs": {"a": new, "come": new}}})
    assert merged == {
        "kafka": {"4.0": "4.0.1", "4.1": "4.1.0"},
        "configs": {
            "a": {"definition": new, "differs": {"4.0": {"default": "1"}}},
            "come": {"since": "4.1", "definition": new},
            "gone": {"until": "4.0", "definition": old},
        },
    }


@pytest.mark.parametrize(
    ("unit", "text", "number"),
    [
        (DURATION, "7d", 604_800_000),
        (DURATION, "36h", 129_600_000),
        (DURATION, "90m", 5_400_000),
        (DURATION, "30s", 30_000),
        (DURATION, "250ms", 250),
        (DURATION, " 1.5 h ", 5_400_000),
        (DURATION, "0.25s", 250),
        (DURATION, "604800000", 604_800_000),
        (DURATION, "0", 0),
        (DURATION, "-1", -1),
        (SIZE, "1MiB", 1_048_576),
        (SIZE, "500kB", 500_000),
        (SIZE, "1GiB", 1_073_741_824),
        (SIZE, "2TB", 2_000_000_000_000),
        (SIZE, "1.5KiB", 1536),
        (SIZE, "10B", 10),
    ],
)
def test_accepted_values(unit: ValueUnit, text: str, number: int) -> None:
    assert unit.parse(text) == number
    assert re.search(unit.pattern, text.strip()), "the JSON Schema takes it too"


@pytest.mark.parametrize(
    ("unit", "text", "end"),
    [
        (DURATION, "", 'got ""'),
        (DURATION, "7", None),
        (DURATION, "7 days", "units are ms, s, m, h, d"),
        (DURATION, "1M", "m means minutes, and a month is 30d"),
        (DURATION, "-7d", 'got "-7d"'),
        (DURATION, "1e3", 'got "1e3"'),
        (DURATION, "1_000", "write 1000"),
        (DURATION, "1,000,000", "if commas separate thousands, write 1000000"),
        (DURATION, "0,100", 'got "0,100"'),
        (DURATION, "12:30", 'got "12:30"'),
        (DURATION, "0.5ms", "0.5 milliseconds, not a whole number"),
        (DURATION, "forever", 'got "forever"'),
        (DURATION, "007d", "write 7d"),
        (SIZE, "01.5MiB", "write 1.5MiB"),
        (DURATION, "٣d", 'got "٣d"'),
        (SIZE, "1KB", "did you mean kB (1000) or KiB (1024)?"),
        (SIZE, "1G", "did you mean GB (1000000000) or GiB (1073741824)?"),
        (SIZE, "7d", "units are B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"),
        (SIZE, "1" * 5000, "..."),
    ],
)
def test_refused_settings(unit: ValueUnit, text: str, end: str | None) -> None:
    if end is None:
        assert unit.parse(text) == int(text)
        return
    with pytest.raises(ValueError, match=f"expected a {unit.noun} such as .*{re.escape(end)}"):
        unit.parse(text)


@pytest.mark.parametrize(
    ("setting", "text", "end"),
    [
        ("retention.ms", "forever", 'got "forever"; write -1'),
        ("retention.ms", "1_000", "write 1000"),
        ("segment.ms", "never", 'got "never"; Kafka accepts a whole number (long) of at least 1'),
        ("compression.gzip.level", "1_000", 'from 1 to 9, or -1, got "1_000"'),
        ("min.cleanable.dirty.ratio", "007", 'got "007"'),
    ],
)
def test_a_remedy_is_a_value_that_kafka_accepts(setting: str, text: str, end: str) -> None:
    with pytest.raises(ValidationError, match=f"{re.escape(end)} "):
        TypeAdapter(Config).validate_python({setting: text})


def test_the_unit_is_in_the_name_of_the_setting() -> None:
    assert unit_of("retention.ms") is DURATION
    assert unit_of("max.message.bytes") is SIZE
    assert unit_of("flush.messages") is None


@pytest.mark.parametrize("written", ["01", "012", "-01", "00", "01.5"])
def test_a_leading_zero_is_refused_for_every_setting_with_a_number(written: str) -> None:
    """YAML 1.1 reads such a number as octal, YAML 1.2 as decimal."""
    numeric = [each for each in definitions().values() if each.type in ("short", "int", "long", "double")]
    assert len(numeric) > 20
    for setting in numeric:
        with pytest.raises(ValueError, match=rf"got \"{re.escape(written)}\"") as refused:
            kafka_spelling(setting, written)
        assert written != "-01" or not str(refused.value).endswith("; write 1"), setting.name
