"""Test what Spark reads from authorizer logs, above all from damaged and hostile ones."""

from __future__ import annotations

import bz2
import gzip
import json
import random
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.authorizer_lines import EXPLANATIONS, READABLE, UNREADABLE, decision_in_line
from topicwarden.audit.authorizer_log.log_folder import log_address
from topicwarden.audit.authorizer_log.read_logs import log_notes, read_authorizer_logs
from topicwarden.model.access import Operation, Resource, ResourceType
from topicwarden.model.problem import Refusal
from topicwarden.model.usage import AuthorizerLogs, LogCoverage

HOUR_MS = 3_600_000
NOON = int(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp()) * 1000

Reader = Callable[..., AuthorizerLogs]


@pytest.fixture
def read(spark: SparkSession, tmp_path: Path) -> Reader:
    """Write files, each at its path below a folder, and return what is read from the folder."""

    def run(files: dict[str, bytes | str], time_zone: str = "UTC", most_uses: int = 1_000) -> AuthorizerLogs:
        folder = tmp_path / "logs of brokers"
        folder.mkdir()
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_authorizer_logs(spark, log_address(str(folder)), time_zone, most_uses)

    return run


def line(at: int = NOON, principal: str = "User:a", operation: str = "READ", topic: str = "t") -> str:
    time = datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return (
        f"[{time},{at % 1000:03}] DEBUG Principal = {principal} is Allowed operation = {operation} "
        f"from host = 10.0.0.7 on resource = Topic:LITERAL:{topic} for request = Fetch with resourceRefCount = 1 "
        "based on rule SuperUser (kafka.authorizer.logger)\n"
    )


def test_spark_reads_each_line_as_the_grammar_says(read: Reader) -> None:
    lines = [*(case.line for case in READABLE), *EXPLANATIONS.values(), *UNREADABLE.values()]
    logs = read({"broker-1/kafka-authorizer.log": "\r\n".join([*lines, "", " "])})
    expected = Counter(
        (found.principal, found.host, found.operation, found.resource, found.allowed, found.request, found.rule)
        for case in READABLE
        if (found := decision_in_line(case.line)[1]).effective  # type: ignore[index]
    )
    assert expected == {
        (use.principal, use.host, use.operation, use.resource, use.allowed, use.request, use.rule): use.count
        for use in logs.uses
    }
    coverage = logs.coverage["broker-1"]
    assert (coverage.lines, coverage.unreadable) == (len(lines) + 1, len(UNREADABLE) + 1)  # one line is a space
    assert coverage.has_grants
    assert coverage.whole
    assert not coverage.escaped


def test_times_are_in_the_zone_of_the_line_or_else_of_the_brokers(read: Reader) -> None:
    with_zone = line(topic="zone").replace("12:00:00,000", "12:00:00,000+05:30")
    logs = read({"1/kafka-authorizer.log": line() + with_zone}, "Europe/Berlin")
    assert {use.resource.name: (use.first, use.last) for use in logs.uses} == {
        "t": (NOON - HOUR_MS, NOON - HOUR_MS),
        "zone": (NOON - HOUR_MS * 11 // 2, NOON - HOUR_MS * 11 // 2),
    }
    assert "read as Europe/Berlin" in log_notes(logs)[0]


def test_equal_decisions_of_all_brokers_and_rotated_files_are_one(read: Reader) -> None:
    logs = read(
        {
            "b1/kafka-authorizer.log.2026-11-20-12": "".join(line(NOON + 1_000 * at) for at in range(3)),
            "b1/kafka-authorizer.log.1.gz": gzip.compress(line(NOON + HOUR_MS).encode()),
            "b1/kafka-authorizer.log.2.bz2": bz2.compress(line(NOON + 5 * HOUR_MS).encode()),
            "b1/server.log": "another log\n",
            "b2/kafka-authorizer.log": line(NOON - 7),
        }
    )
    [use] = logs.uses
    assert (use.principal, use.operation, use.resource) == ("User:a", Operation.READ, Resource(ResourceType.TOPIC, "t"))
    assert (use.first, use.last, use.count) == (NOON - 7, NOON + 5 * HOUR_MS, 6)
    assert logs.coverage == {
        "b1": LogCoverage("b1", NOON, NOON + 5 * HOUR_MS, 5, 0, 4 * HOUR_MS, has_grants=True),
        "b2": LogCoverage("b2", NOON - 7, NOON - 7, 1, 0, 0, has_grants=True),
    }
    assert logs.notes == ()


def test_files_in_the_folder_itself_are_those_of_one_broker(read: Reader) -> None:
    logs = read({"kafka-authorizer.log": line()})
    assert list(logs.coverage) == ["logs of brokers"]


def test_a_copy_of_a_file_counts_once_and_overlapping_files_are_noted(read: Reader) -> None:
    first = "".join(line(NOON + at) for at in range(50))
    logs = read(
        {
            "b/kafka-authorizer.log.1": first,
            "b/kafka-authorizer.log.1.gz": gzip.compress(first.encode()),
            "b/kafka-authorizer.log.2": "".join(line(NOON + at) for at in range(40, 60)),
        }
    )
    assert sum(use.count for use in logs.uses) == 70
    assert logs.notes == (
        "authorizer log of b: kafka-authorizer.log.1.gz has the same lines as kafka-authorizer.log.1; they count once",
        "authorizer log of b: kafka-authorizer.log.1 and kafka-authorizer.log.2 have lines of the same time: a copy of "
        "a part, or a clock that was set back; such lines count twice",
    )


def test_damaged_files_are_noted_and_do_not_stop_the_others(read: Reader) -> None:
    draw = random.Random(7)
    text = "".join(line(NOON + at, f"User:{draw.random()}") for at in range(20_000)).encode()
    compressed = gzip.compress(text)
    damaged = {
        "cut/kafka-authorizer.log.gz": compressed[: len(compressed) // 2],
        "no gzip/kafka-authorizer.log.gz": b"no gzip at all\n" * 100,
        "renamed/kafka-authorizer.log": compressed,
        "zip/kafka-authorizer.log.zip": b"PK",
        "garbage/kafka-authorizer.log": draw.randbytes(3_000_000),
        "zeros/kafka-authorizer.log": bytes(5_000_000) + b"\n" + line().encode(),
        "wide/kafka-authorizer.log": line().encode("utf-16"),
        "nothing/kafka-authorizer.log": b"",
        "other/deeper/kafka-authorizer.log": b"",
        "whole/kafka-authorizer.log": line().encode(),
    }
    logs = read(damaged)
    assert {name for name, each in logs.coverage.items() if each.whole} == {"whole", "garbage", "wide", "nothing"}
    assert {name for name, each in logs.coverage.items() if not each.unreadable and each.lines} >= {"whole", "cut"}
    assert logs.coverage["zeros"].first == NOON
    assert logs.coverage["cut"].lines > 5_000
    assert logs.coverage["garbage"].unreadable == logs.coverage["garbage"].lines > 1_000
    assert logs.coverage["nothing"].lines == 0
    notes = "\n".join(logs.notes)
    for broker, reason in {
        "cut": "could not be read to its end",
        "no gzip": "could not be read to its end",
        "renamed": "is compressed, but its name does not end with .gz",
        "zip": "zip is not supported",
        "zeros": "could not be read to its end",
        "other": "it has no file kafka-authorizer.log",
    }.items():
        assert f"authorizer log of {broker}: " in notes
        assert any(broker in note and reason in note for note in logs.notes), (broker, notes)


def test_an_empty_folder_is_noted_and_a_missing_one_is_refused(read: Reader, spark: SparkSession) -> None:
    assert read({}) == AuthorizerLogs(notes=("the folder of authorizer logs is empty",))
    with pytest.raises(Refusal, match="cannot list the folder of authorizer logs, file:/no/such/folder"):
        read_authorizer_logs(spark, "file:/no/such/folder")
    with pytest.raises(Refusal, match="there is no time zone 'Berlin'"):
        read_authorizer_logs(spark, "file:/tmp", "Berlin")


def test_lines_beyond_the_limit_and_unknown_bytes_are_unreadable(read: Reader) -> None:
    logs = read(
        {
            "b/kafka-authorizer.log": line(principal=f"User:{'x' * 200_000}").encode()
            + line(principal="User:größe").encode("latin-1")
            + line(principal="User:größe").encode()
            + b"\xff\xfe"
            + line().encode()
        }
    )
    assert [use.principal for use in logs.uses] == ["User:größe"]
    assert (logs.coverage["b"].lines, logs.coverage["b"].unreadable) == (4, 3)


def test_a_name_with_line_breaks_forges_lines_unless_the_layout_escapes_them(read: Reader) -> None:
    """No reader of the text could tell: the broker writes exactly these bytes. So such logs are not ``escaped``."""
    name = line(topic="x").rpartition("Topic:LITERAL:")[2] + line(principal="User:victim").rpartition(" for request")[0]
    message = line(topic=name).rstrip("\n").partition("DEBUG ")[2].removesuffix(" (kafka.authorizer.logger)")
    as_json = json.dumps({"@timestamp": "2026-11-20T12:00:00.000Z", "log.level": "DEBUG", "message": message})
    other = json.dumps({"time": "2026-11-20T12:00:00.000Z", "level": "DEBUG", "message": line()[32:].rstrip("\n")})
    logs = read({"text/kafka-authorizer.log": line(topic=name), "json/kafka-authorizer.log": f"{as_json}\n{other}\n"})
    assert not logs.coverage["text"].escaped
    assert logs.coverage["json"].escaped
    assert (logs.coverage["json"].lines, logs.coverage["json"].unreadable) == (2, 1)
    assert {use.principal for use in logs.uses} == {"User:a", "User:victim"}


def test_a_line_of_text_in_a_json_log_is_no_proof(read: Reader) -> None:
    entry = json.dumps({"timestamp": "2026-11-20 12:00:00,000", "level": "DEBUG", "message": line()[32:].rstrip("\n")})
    logs = read({"b/kafka-authorizer.log": f"{entry}\n" + line()})
    assert [use.count for use in logs.uses] == [2]
    assert not logs.coverage["b"].escaped


def test_the_number_of_uses_is_limited_and_allowed_ones_come_first(read: Reader) -> None:
    denied = line().replace("DEBUG", "INFO").replace("Allowed", "Denied").replace("SuperUser", "DefaultDeny")
    many = "".join(line(NOON + at, f"User:{at}") for at in range(30))
    logs = read({"b/kafka-authorizer.log": many + denied * 5}, most_uses=20)
    assert len(logs.uses) == 20
    assert all(use.allowed for use in logs.uses)
    assert logs.left_out == 10
    assert logs.notes == (
        "the authorizer logs have more than 20 different decisions: 11 of them, 10 allowed, are left out",
    )


def test_only_denials_and_lines_of_the_future_are_noted(read: Reader) -> None:
    denied = line(NOON * 2).replace("DEBUG", "INFO").replace("Allowed", "Denied").replace("SuperUser", "DefaultDeny")
    logs = read({"b/kafka-authorizer.log": denied})
    assert not logs.coverage["b"].has_grants
    assert logs.notes == (
        "authorizer log of b: it has lines of the future: check the clock of the broker, and --log-time-zone",
        "authorizer log of b: it has no allowed operation: set the logger kafka.authorizer.logger to DEBUG",
    )
