"""Test histories of earlier audits: one that an earlier version wrote, and counts whose registry answers differ.

``earlier_history/`` has its files as text. The audit of that version called the keys of a mirror misplaced.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from pyspark.sql import SparkSession

from tests.support import reports
from tests.support.http_answers import Request, answering, failing, http
from tests.support.subjects import subject
from topicwarden.audit.history.audit_history import AuditHistory, registry_states
from topicwarden.audit.history.known_placements import known_placements
from topicwarden.audit.history.outcomes import selection_key, trend, with_changes
from topicwarden.audit.history.scan_plan import terms_digest
from topicwarden.audit.request import AuditRequest
from topicwarden.audit.run import audit
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.key_scan import TopicKeys
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.contents import Contents, KeyContents
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.problem import Refusal
from topicwarden.model.verdict import ReadScope, Verdict
from topicwarden.specs.stacks.registry_settings import RegistrySettings
from topicwarden.usage.history_files import VERSION

FILES = Path(__file__).with_name("earlier_history")
CLUSTER = "VIYQPaypSUWF4UmA5bWg2w"
LAST = 1_795_815_585_290


def report(*findings: Finding) -> AuditReport:
    topics = [reports.topic(f"h.{name}", [1]) for name in ("compacted", "expired", "mirror")]
    changed = {"cluster_id": CLUSTER, "started": LAST + 1_000, "stack": "dev"}
    return reports.report(topics, list(findings)).model_copy(update=changed)


@pytest.fixture
def history(tmp_path: Path) -> AuditHistory:
    root = tmp_path / VERSION

    def write(folder: str, **files: bytes) -> None:
        part = root / folder / f"{LAST}-0"
        part.mkdir(parents=True)
        for name, content in files.items():
            (part / name.replace("__", ".")).write_bytes(content)

    states = (FILES / "states.json").read_bytes()
    topics = [[state["cluster_id"], state["topic"], state["taken_at"]] for state in json.loads(states)]
    write("states", states__json__gz=gzip.compress(states), topics__json=json.dumps(topics).encode(), _complete=b"")
    outcomes = (FILES / "outcomes.json").read_bytes()
    write(f"outcomes/{selection_key(report(), ())}", part__json=outcomes, _complete=b"")
    use = gzip.compress((FILES / "use.json").read_bytes())
    marker = {"format": 1, "cluster": CLUSTER, "sha256": hashlib.sha256(use).hexdigest()}
    write("use", use__json__gz=use, _complete=json.dumps(marker).encode())
    return AuditHistory(lambda: pytest.fail("needs no Spark"), str(tmp_path))


def test_tombstones_suspects_and_records_of_an_earlier_version_are_read_on(history: AuditHistory) -> None:
    states = history.last_states(CLUSTER)
    assert history.notes == []
    assert states.keys() == {"h.compacted", "h.expired", "h.mirror"}
    assert [tombstone.offset for tombstone in states["h.compacted"].tombstones] == [35]
    assert len(states["h.compacted"].remembered_records) == 10
    assert {state.unread for state in states.values()} == {()}
    assert [(each.check, each.verdict, each.revision) for each in states["h.expired"].open_findings] == [
        ("retention-time", "suspect", 1)
    ]


def test_the_use_of_an_earlier_version_is_read_on(history: AuditHistory) -> None:
    use = history.use
    records = use.load(CLUSTER)
    assert use.notes == []
    assert "readers" in {user.name for record in records.topics.values() for user in record.use().users}


def test_a_conclusion_about_keys_of_an_earlier_version_is_not_used(history: AuditHistory) -> None:
    state = history.last_states(CLUSTER)["h.mirror"]
    assert (state.key_placement, state.growth) == (None, None)
    counts = {number: PartitionCounts(records=1_000, keys=1_000, fits=(500,) * 5) for number in range(3)}
    ranges = tuple(OffsetRange(number, "h.mirror", number, 0, end) for number, end in enumerate((997, 1_002, 1_001)))
    keys = TopicKeys("h.mirror", 6, Contents(key=KeyContents(partitioner="murmur2")), counts, ranges)
    partitions = [("h.mirror", number) for number in range(6)]
    assert known_placements([keys], {"h.mirror": state}, partitions, partitions) == {}


def test_a_false_fail_of_an_earlier_version_is_withdrawn_and_not_resolved(history: AuditHistory) -> None:
    now = report(Finding(check="key-partition", verdict=Verdict.UNDECIDABLE, topic="h.mirror"))
    earlier = trend(history, now, ())
    changed = with_changes(now, earlier)
    withdrawn = [(each.topic, each.check) for each in changed.withdrawn]
    assert withdrawn == [("h.expired", "retention-time"), ("h.mirror", "key-partition")]
    assert "key-partition" not in {each.check for each in changed.resolved}
    assert history.notes == []
    later = now.model_copy(update={"started": LAST + 2_000})
    assert with_changes(later, trend(history, later, ())).withdrawn == []


def test_a_finding_of_records_that_the_last_audit_did_not_read_is_remembered(history: AuditHistory) -> None:
    at = ("h.expired", "value-schema")
    failing, passing = (
        report(Finding(check=at[1], verdict=verdict, topic=at[0])) for verdict in (Verdict.FAIL, Verdict.PASS)
    )
    trend(history, failing, ())
    sampled = passing.model_copy(update={"started": LAST + 2_000})
    assert at not in resolved(with_changes(sampled, trend(history, sampled, (), {at}), {at}))
    later = passing.model_copy(update={"started": LAST + 3_000})
    assert at in resolved(with_changes(later, trend(history, later, ())))


def resolved(audit: AuditReport) -> set[tuple[str, str]]:
    return {(each.topic, each.check) for each in audit.resolved}


TERMS = {"records": {"value": {"format": "avro", "registry": True, "subject": "t-value"}}}


@dataclass
class Registry:
    """A registry with one subject: its versions, the soft-deleted ones, and the id of the latest one."""

    versions: list[int]
    deleted: tuple[int, ...] = ()
    id: int = 7

    def __call__(self, request: Request) -> bytes:
        if request.path.endswith("deleted=true"):
            return http(sorted([*self.versions, *self.deleted]))
        if not self.versions:
            return failing("404 Not Found", 40401, "Subject not found.")
        latest = {"id": self.id, "version": self.versions[-1]}
        return http(latest if request.path.endswith("latest") else self.versions)


def digests(*registries: Registry) -> list[str]:
    """Return the digest of the rules for the topic ``t`` with each of these answers."""
    answers, found = list(registries), []

    def current(request: Request) -> bytes:
        return answers[0](request)

    with answering(current) as server:
        contracts = Contracts({"t": TERMS, "plain": {"records": {"value": {"format": "json"}}}}, settings(server.url))
        while answers:
            states = registry_states(contracts)
            assert states.keys() == {"t"}
            live = subject().live
            assert live
            found.append(terms_digest(live, replace(contracts, registry_states=states)))
            answers.pop(0)
    return found


def settings(url: str) -> RegistrySettings:
    return RegistrySettings(url)


@pytest.mark.parametrize(
    ("versions", "deleted", "id"),
    [([], (1, 2), 7), ([1], (2,), 7), ([2], (1,), 7), ([1, 2, 3], (), 8), ([1, 2], (), 9), ([1, 2], (3,), 7)],
    ids=["deleted", "latest deleted", "first deleted", "registered", "made again", "registered and deleted"],
)
def test_a_change_of_the_subject_is_noticed(versions: list[int], deleted: tuple[int, ...], id: int) -> None:
    before, after = digests(Registry([1, 2]), Registry(versions, deleted, id))
    assert before != after


def test_the_same_answers_have_the_same_digest() -> None:
    before, after = digests(Registry([1, 2]), Registry([1, 2]))
    assert before == after


def test_a_registry_that_does_not_answer_is_a_change() -> None:
    contracts = Contracts({"t": TERMS}, settings("http://127.0.0.1:9"))
    assert registry_states(contracts).keys() == {"t"}
    assert registry_states(replace(contracts, registry=None)) == {}


def test_a_history_of_another_cluster_is_refused_unless_the_stack_moved(history: AuditHistory) -> None:
    """An address of the bootstrap servers may lead to another cluster, whose topics would be judged as the stack's."""
    connection = Connection(("prod:9092",))
    with pytest.raises(
        Refusal, match=rf"about cluster {CLUSTER}, but kafka:bootstrapServers .* other: .*:movedTo other"
    ):
        history.require_cluster("other", connection, "dev")
    history.require_cluster("other", replace(connection, moved_to="other"), "dev")
    history.require_cluster("other", replace(connection, sandbox=True), "dev")
    history.require_cluster(CLUSTER, connection, "dev")
    history.require_cluster(None, connection, "dev")
    AuditHistory(no_spark, None).require_cluster("other", connection, "dev")


def test_an_audit_of_another_cluster_than_the_history_ends_before_it_saves(
    history: AuditHistory, tmp_path: Path
) -> None:
    observed = Mock(snapshot=Mock(cluster_id="other", taken_at=LAST + 1_000))
    request = AuditRequest("dev", Connection(("prod:9092",)), (), history=str(tmp_path), since=ReadScope.LAST)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(Refusal, match=f"about cluster {CLUSTER}"):
        audit(no_spark, request, lambda share: None, observed)
    assert sorted(tmp_path.rglob("*")) == before
    assert history.last_states(CLUSTER)


def no_spark() -> SparkSession:
    raise AssertionError("a history on this machine needs no Spark")
