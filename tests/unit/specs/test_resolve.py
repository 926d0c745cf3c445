"""Test which files are read, how documents resolve, which topics are selected, and the periods of arrival."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.cases import SPEC_CASES, find_case, problem_lines, setting_lines
from topicwarden.model.arrival import DAY_MS, Calendar
from topicwarden.model.contents import (
    Contents,
    HeaderContents,
    KeyContents,
    PartitionContents,
    RecordContents,
    TimestampContents,
    ValueContents,
)
from topicwarden.model.files import MAX_BYTES
from topicwarden.model.problem import Location
from topicwarden.model.topic import Allowance, AllowedChange, Topic
from topicwarden.model.topic_selection import none_selected
from topicwarden.specs.load import load
from topicwarden.specs.resolve import resolve


def test_the_documented_example_resolves_to_this_topic(tmp_path: Path) -> None:
    tree = find_case(SPEC_CASES, "good", "design-example").write(tmp_path)
    resolved = resolve(load(tree / "topics", tree, ["dev", "prod"]), "prod")
    assert resolved.problems == ()
    assert [declaration.topic for declaration in resolved.declarations] == [
        Topic(
            name="orders.placed.v1",
            partitions=12,
            replication_factor=3,
            config={
                "cleanup.policy": "delete",
                "max.message.bytes": "1048576",
                "min.insync.replicas": "2",
                "retention.ms": "604800000",
            },
            domain="orders",
            owner="team-orders",
            description="One record an order placed, keyed by order id.",
            contents=Contents(
                key=KeyContents(required=True, format="string", partitioner="murmur2"),
                value=ValueContents(format="json", schema="schemas/order-placed.json"),
                headers=HeaderContents(required=("trace-id",)),
                timestamps=TimestampContents(type="CreateTime", max_ahead=3_600_000),
                records=RecordContents(max_bytes=65_536),
                partitions=PartitionContents(max_skew=4.0),
            ),
            allow=frozenset({Allowance(AllowedChange.DELETE)}),
        )
    ]


def test_a_location_is_that_of_the_value_or_of_its_parent(tmp_path: Path) -> None:
    tree = find_case(SPEC_CASES, "good", "defaults").write(tmp_path)
    loaded = load(tree / "topics", tree, ["dev", "prod"])
    locations = {each.topic.name: each.locations for each in resolve(loaded, "dev").declarations}["placed"]
    own, nearer, root = (
        f"topics/{name}" for name in ("orders/eu/placed.yaml", "orders/_defaults.yaml", "_defaults.yaml")
    )
    assert locations.at(("config", "retention.ms")) == Location(nearer, 4, 17)
    assert locations.at(("replication_factor",)) == Location(root, 9, 25)
    assert locations.at(("config", "cleanup.policy", 0)) == Location(own, 4, 19)
    assert locations.at(("config", "flush.ms")).file == own
    assert locations.at(("contents", "key", "required")) == Location(own, 1, 1)
    assert locations.at(()) == Location(own, 1, 1)


def test_check_needs_no_stack(tmp_path: Path) -> None:
    tree = find_case(SPEC_CASES, "good", "defaults").write(tmp_path)
    declared = {each.topic.name: each.topic for each in resolve(load(tree / "topics", tree, []), None).declarations}
    assert declared == {}, "stacks that do not exist are problems, so the defaults that name them hold nothing"
    declared = {
        each.topic.name: each.topic for each in resolve(load(tree / "topics", tree, ["dev"]), None).declarations
    }
    assert declared["placed"].partitions == 12
    assert declared["top"].domain == ""


def test_a_project_without_topics_has_no_problem(tmp_path: Path) -> None:
    assert resolve(load(tmp_path / "topics", tmp_path, ["dev"]), "dev").problems == ()
    (tmp_path / "topics").mkdir()
    assert resolve(load(tmp_path / "topics", tmp_path, ["dev"]), "dev").declarations == ()


def test_a_broken_document_does_not_hide_others(tmp_path: Path) -> None:
    (tmp_path / "topics").mkdir()
    (tmp_path / "topics/a.yaml").write_text("partitions: x\n")
    (tmp_path / "topics/b.yaml").write_text("{partitions: 1, replication_factor: 1}\n")
    resolved = resolve(load(tmp_path / "topics", tmp_path, ["dev"]), "dev")
    assert [each.topic.name for each in resolved.declarations] == ["b"]
    assert len(resolved.problems) == 1


# Files that no repository should contain, so the tests create them.

OK = b"partitions: 3\nreplication_factor: 3\n"


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    (tmp_path / "topics").mkdir()
    return tmp_path / "topics"


def test_a_huge_file_is_not_read(topics: Path) -> None:
    (topics / "a.yaml").write_bytes(b"#" * MAX_BYTES + b"\n")
    assert problem_lines(topics.parent) == [
        "topics/a.yaml:1:1: expected a file of at most 1MiB, got 1,048,577 bytes; split it [file-size]"
    ]


@pytest.mark.parametrize("opening", [b"[", b"{a: ", b"- ", b"? "])
def test_100_000_nested_levels_do_not_crash_the_process(topics: Path, opening: bytes) -> None:
    (topics / "a.yaml").write_bytes(opening * 100_000)
    (line,) = problem_lines(topics.parent)
    assert line.startswith("topics/a.yaml:1:")
    assert "nested too deep" in line


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(topics: Path) -> None:
    (topics / "a.yaml").write_bytes(b"\xef\xbb\xbf" + OK.replace(b"\n", b"\r\n") + b"owner: x\r\n")
    assert problem_lines(topics.parent) == []
    assert "dev a owner = 'x' at topics/a.yaml:3:8" in list(setting_lines(topics.parent))


def test_a_location_after_a_byte_order_mark_is_not_shifted(topics: Path) -> None:
    (topics / "a.yaml").write_bytes(b"\xef\xbb\xbfownr: x\r\n" + OK)
    assert problem_lines(topics.parent) == ['topics/a.yaml:1:1: unknown key "ownr"; did you mean owner? [unknown-key]']


def test_a_pipe_does_not_block_the_command(topics: Path) -> None:
    os.mkfifo(topics / "a.yaml")
    assert [line.split("; ")[0] for line in problem_lines(topics.parent)] == [
        "topics/a.yaml:1:1: expected a regular file, got a device, pipe or socket"
    ]


def test_a_strange_file_name_stays_on_one_line(topics: Path) -> None:
    (topics / "a\nb.yaml").write_bytes(OK)
    (topics / os.fsdecode(b"\xff.yaml")).write_bytes(OK)
    lines = problem_lines(topics.parent)
    assert [line.encode("utf-8").split(b":")[0] for line in lines] == [rb"topics/\udcff.yaml", rb"topics/a\nb.yaml"]
    assert all("\n" not in line for line in lines)


def test_10_000_aliases_are_accepted_and_more_are_refused(topics: Path) -> None:
    text = b"x: &x [" + b"a, " * 1000 + b"a]\ny: [" + b"*x, " * 100_000 + b"*x]\n"
    (topics / "a.yaml").write_bytes(text)
    assert sum("[yaml-alias]" in line for line in problem_lines(topics.parent)) == 1


# The message for ``--topics`` that match nothing.

NAMES = ["shop.orders", "shop.customers", "billing.invoices"]


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        (["shop.odrers"], "no declared topic matches --topics shop.odrers; did you mean shop.orders?"),
        (["shpo.*"], "no declared topic matches --topics shpo.*; did you mean shop.*?"),
        (
            ["shop.odrers", "biling.*"],
            "no declared topic matches --topics shop.odrers or biling.*; did you mean shop.orders or billing.*?",
        ),
        (["zzz"], "no declared topic matches --topics zzz"),
        (["!*"], "no declared topic matches --topics !*"),
        ([], "there is no declared topic"),
    ],
)
def test_patterns_without_a_match_have_a_suggestion(patterns: list[str], message: str) -> None:
    assert str(none_selected("declared topic", patterns, NAMES)) == message
    of_arguments = none_selected("declared topic", patterns, NAMES, option="")
    assert str(of_arguments) == message.replace("--topics ", "")


HOUR = 3_600_000


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("every", "zone", "time", "start", "hours"),
    [
        (DAY_MS, "UTC", "2026-10-25T23:59", "2026-10-25T00:00", 24),
        (DAY_MS, "Europe/Berlin", "2026-10-25T12:00", "2026-10-24T22:00", 25),
        (DAY_MS, "Europe/Berlin", "2026-10-25T22:59", "2026-10-24T22:00", 25),
        (DAY_MS, "Europe/Berlin", "2026-10-25T23:00", "2026-10-25T23:00", 24),
        (DAY_MS, "Europe/Berlin", "2026-03-29T12:00", "2026-03-28T23:00", 23),
        (DAY_MS, "Asia/Kathmandu", "2026-03-29T00:00", "2026-03-28T18:15", 24),
        (DAY_MS, "Asia/Beirut", "2026-03-28T23:00", "2026-03-28T22:00", 23),  # there is no 0:00 on this day
        (DAY_MS, "Pacific/Apia", "2011-12-30T03:00", "2011-12-29T10:00", 24),  # the next day is the 31st
        (7 * DAY_MS, "Europe/Berlin", "2026-10-25T12:00", "2026-10-18T22:00", 169),
        (6 * HOUR, "UTC", "2026-10-25T12:00", "2026-10-25T12:00", 6),
        (HOUR // 4, "UTC", "2026-10-25T12:14", "2026-10-25T12:00", 0.25),
    ],
)
def test_a_period_begins_at_midnight_of_the_zone(every: int, zone: str, time: str, start: str, hours: float) -> None:
    calendar = Calendar(every, zone)
    found = calendar.start(ms(time))
    assert (found, calendar.end(found) - found) == (ms(start), hours * HOUR)
    assert found % calendar.interval == calendar.end(found) % calendar.interval == 0
    assert calendar.start(calendar.end(found)) == calendar.end(found)


@pytest.mark.parametrize(
    ("zone", "minutes"),
    [("UTC", 60), ("Europe/Berlin", 60), ("Asia/Kolkata", 30), ("Asia/Kathmandu", 15), ("Australia/Lord_Howe", 30)],
)
def test_intervals_divide_each_day_of_the_zone(zone: str, minutes: int) -> None:
    assert Calendar(DAY_MS, zone).interval == minutes * 60_000


def test_a_period_is_named_by_its_day_or_its_time() -> None:
    day, part = Calendar(DAY_MS, "Europe/Berlin"), Calendar(HOUR, "UTC")
    assert day.text(day.start(ms("2026-10-25T12:00"))) == "2026-10-25"
    assert part.text(ms("2026-10-25T12:00")) == "2026-10-25T12:00:00Z"
