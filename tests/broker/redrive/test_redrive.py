"""Test that a redrive copies exactly the records of a finding, and refuses whatever is not allowed or not exact."""

from __future__ import annotations

import pytest
from kafka import TopicPartition

from tests.support.redrives import RedriveProject, origin
from topicwarden.cli.redrive import redrive
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.problem import Refusal

GOOD = b'{"id": 1}'
JSON = "partitions: 3, contents: {value: {format: json}}"
PLAIN = "partitions: 3"


def planted(redrives: RedriveProject, topic: str) -> list[tuple[int, int]]:
    """Write good, bad and aborted records; return partition and offset of each committed record that is not JSON."""
    redrives.write(topic, [(0, b"a", GOOD), (0, b"b", b"{bad"), (1, b"c", b"{worse"), (2, b"d", GOOD)])
    redrives.write(topic, [(0, b"x", b"{aborted"), (2, b"y", b"{aborted")], commit=False)
    many = [(0, b"k%d" % number, b"{" if number % 2 else GOOD) for number in range(40)]
    redrives.write(topic, [*many, (1, None, b"]")])
    wrong = {b"{bad", b"{worse", b"{", b"]"}
    return [(each.partition, each.offset) for each in redrives.copies(topic) if each.value in wrong]


def test_exactly_the_committed_records_of_a_finding_are_copied_with_key_value_headers_and_timestamp(
    redrives: RedriveProject,
) -> None:
    topic = redrives.declare(JSON, repaired=PLAIN)
    expected = planted(redrives, topic)
    before = redrives.copies(topic)
    found = redrives.finding(topic, "value-schema")
    target = f"{topic}.repaired"
    dry = redrives.redrive(found, target, execute=False)
    assert (dry.done, dry.counts.copies, dry.deleted) == (False, len(expected), 0)
    assert redrives.copies(target) == []
    assert redrives.redrive(found, target).counts.copies == len(expected) == 23
    copies = redrives.copies(target)
    assert [origin(copy) for copy in copies] == expected
    by_origin = {(each.partition, each.offset): each for each in before}
    for copy in copies:
        source = by_origin[origin(copy)]
        assert (copy.key, copy.value, copy.partition) == (source.key, source.value, source.partition)
        assert copy.timestamp == source.timestamp
        assert copy.headers[:2] == [("trace", b"t"), ("trace", b"u")]
        assert dict(copy.headers)["topicwarden.redrive.finding"] == found[1].id.encode()
    assert [each.value for each in redrives.copies(topic)] == [each.value for each in before]


def test_a_second_run_copies_nothing_and_a_later_finding_only_its_new_records(redrives: RedriveProject) -> None:
    topic = redrives.declare(JSON, repaired=PLAIN)
    expected = planted(redrives, topic)
    target = f"{topic}.repaired"
    first = redrives.finding(topic, "value-schema")
    redrives.redrive(first, target)
    again = redrives.redrive(first, target)
    assert (again.counts.copies, sum(each.copied for each in again.partitions)) == (0, len(expected))
    assert redrives.finding(topic, "value-schema")[1].id == first[1].id
    redrives.write(topic, [(2, b"z", b"{new")])
    second = redrives.finding(topic, "value-schema")
    assert second[1].id != first[1].id
    assert redrives.redrive(second, target).counts.copies == 1
    assert len(redrives.copies(target)) == len(expected) + 1


def test_the_command_shows_what_it_would_copy_and_copies_with_execute(
    redrives: RedriveProject, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = redrives.declare(JSON, repaired=PLAIN)
    planted(redrives, topic)
    path, finding = redrives.finding(topic, "value-schema")
    monkeypatch.chdir(redrives.project.root)
    assert redrive("dev", finding.id, f"{topic}.repaired", report=path) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"finding {finding.id}: {topic}: 23 records whose value is not json as declared" in shown
    assert "partition 1: 2 records, offsets 0 to 2" in shown
    assert f"to copy to {topic}.repaired: 23 records" in shown
    assert "nothing was copied: add --execute to copy" in shown
    assert redrive("dev", finding.id, f"{topic}.repaired", report=path, execute=True) == 0
    assert f"copied to {topic}.repaired: 23 records" in " ".join(capsys.readouterr().out.split())


def test_progress_is_no_consumer_group_of_the_source(redrives: RedriveProject) -> None:
    topic = redrives.declare("partitions: 3, contents: {value: {format: json}}, access: {consume: []}", repaired=PLAIN)
    planted(redrives, topic)
    redrives.redrive(redrives.finding(topic, "value-schema"), f"{topic}.repaired")
    report = redrives.audit(topic)
    assert not [each for each in report.of_topic(topic) if "topicwarden-redrive" in each.message]


def test_a_lost_progress_is_noticed_by_the_copies_in_the_target(redrives: RedriveProject) -> None:
    topic = redrives.declare(JSON, repaired=PLAIN)
    planted(redrives, topic)
    found = redrives.finding(topic, "value-schema")
    name = redrives.redrive(found, f"{topic}.repaired").name
    with connected(redrives.servers) as admin:
        admin.delete_groups([name])
    with pytest.raises(Refusal, match="already has 23 copies of this redrive"):
        redrives.redrive(found, f"{topic}.repaired")


SUPPORTED: dict[str, tuple[str, tuple[int, bytes | None, bytes]]] = {
    "null-key": ("{key: {required: true}}", (0, None, GOOD)),
    "record-size": ("{records: {max_bytes: 20}}", (0, b"a", b"x" * 30)),
    "expression": (
        "{value: {format: json}, expressions: [{id: small, require: value.id < 5.0}]}",
        (0, b"a", b'{"id": 7}'),
    ),
    "key-schema": ("{key: {format: int}}", (0, b"five5", GOOD)),
}
"""By check: the contents of a topic, and a record that breaks them."""


def test_each_supported_check_finds_its_records_again(redrives: RedriveProject) -> None:
    topics = dict[str, str]()
    good = (0, b"\0\0\0\1", GOOD)
    for check, (contents, bad) in SUPPORTED.items():
        topics[check] = redrives.declare(f"partitions: 3, contents: {contents}", repaired=PLAIN)
        redrives.write(topics[check], [good, bad, good, bad, *[good] * 20, *[bad] * 7])
    report = redrives.audit(*topics.values())
    for check, topic in topics.items():
        found = redrives.found(report, topic, check)
        assert redrives.redrive(found, f"{topic}.repaired").counts.copies == 9, check
        copies = redrives.copies(f"{topic}.repaired")
        assert [origin(copy) for copy in copies] == [(0, offset) for offset in (1, 3, *range(24, 31))], check


def test_a_repair_function_changes_and_drops_records_and_a_key_chooses_the_partition(redrives: RedriveProject) -> None:
    topic = redrives.declare(JSON, repaired="partitions: 5, contents: {key: {required: true}}")
    expected = planted(redrives, topic)
    (redrives.project.root / "repairs.py").write_text(
        "def fix(key, value, headers):\n"
        "    return None if value == b'{worse' else (key or b'none', b'{}', [*headers, ('repaired', b'1')])\n",
        encoding="utf-8",
    )
    found = redrives.finding(topic, "value-schema")
    result = redrives.redrive(found, f"{topic}.repaired", function="repairs:fix")
    assert (result.counts.copies, result.counts.dropped) == (len(expected) - 1, 1)
    copies = redrives.copies(f"{topic}.repaired")
    assert {copy.value for copy in copies} == {b"{}"}
    assert all(("repaired", b"1") in copy.headers for copy in copies)
    assert len({copy.partition for copy in copies if copy.key == b"k1"}) == 1
    assert redrives.redrive(found, f"{topic}.repaired", function="repairs:fix").counts.dropped == 0


def test_a_function_that_fails_names_the_record_without_its_contents_and_nothing_is_copied(
    redrives: RedriveProject,
) -> None:
    topic = redrives.declare(JSON, repaired=PLAIN)
    expected = planted(redrives, topic)
    (redrives.project.root / "failing.py").write_text(
        "calls = []\ndef fix(key, value, headers):\n"
        "    calls.append(1)\n"
        "    if len(calls) > 30:\n        raise ValueError(f'secret {value}')\n"
        "    return key, value, headers\n",
        encoding="utf-8",
    )
    found = redrives.finding(topic, "value-schema")
    with pytest.raises(Refusal) as refused:  # the rehearsal passes, and the copy fails in the middle
        redrives.redrive(found, f"{topic}.repaired", function="failing:fix")
    partition, offset = expected[30 - len(expected)]
    assert str(refused.value) == f"{topic}, partition {partition}, offset {offset}: failing:fix failed with ValueError"
    assert redrives.copies(f"{topic}.repaired") == []
    assert redrives.redrive(found, f"{topic}.repaired").counts.copies == len(expected)


def test_records_that_were_deleted_meanwhile_are_reported(redrives: RedriveProject) -> None:
    topic = redrives.declare(JSON, repaired=PLAIN)
    expected = planted(redrives, topic)
    found = redrives.finding(topic, "value-schema")
    with connected(redrives.servers) as admin:
        admin.delete_records({TopicPartition(topic, 0): 10})
    left = [at for at in expected if at[0] != 0 or at[1] >= 10]
    result = redrives.redrive(found, f"{topic}.repaired")
    assert (result.counts.copies, result.deleted) == (len(left), len(expected) - len(left))
    assert [origin(copy) for copy in redrives.copies(f"{topic}.repaired")] == left


def test_what_is_not_allowed_or_not_exact_is_refused(redrives: RedriveProject) -> None:
    topic = redrives.declare(
        JSON,
        compacted="partitions: 3, config: {cleanup.policy: compact}",
        traced="partitions: 3, contents: {headers: {required: [tenant]}}",
        repaired=PLAIN,
    )
    planted(redrives, topic)
    found = redrives.finding(topic, "value-schema")
    for target, reason in {
        topic: "the target is the topic of the finding",
        f"{topic}.undeclared": "is not declared for stack dev",
        f"{topic}.compacted": "it has no key, and the topic is compacted",
        f"{topic}.traced": 'it lacks the header "tenant"',
    }.items():
        with pytest.raises(Refusal, match=reason):
            redrives.redrive(found, target)
    with pytest.raises(Refusal, match="has 23 records, and at most 22 are copied"):
        redrives.redrive(found, f"{topic}.repaired", most_records=22)
    path, finding = found
    with pytest.raises(Refusal, match=rf'has no finding "nothing"[^\n]*\n  {finding.id}  {topic}: '):
        redrives.redrive((path, finding.model_copy(update={"id": "nothing"})), f"{topic}.repaired")
    file = redrives.project.topics / f"{topic}.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("format: json", "format: int", 1), encoding="utf-8")
    with pytest.raises(Refusal, match="the declaration, or the Schema Registry, has changed since the audit"):
        redrives.redrive(found, f"{topic}.repaired")
    text = path.read_text(encoding="utf-8").replace('"cluster_id": "', '"cluster_id": "other')
    path.write_text(text, encoding="utf-8")
    with pytest.raises(Refusal, match="a redrive copies within one cluster"):
        redrives.redrive(found, f"{topic}.repaired")
    for suffix in ("compacted", "traced", "repaired"):
        assert redrives.copies(f"{topic}.{suffix}") == []
