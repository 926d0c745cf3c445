"""Test on random histories that ``group-lag`` fails only for groups that certainly lost a record.

A model of one partition knows every record: whether it was committed, and which groups have committed it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tests.support.subjects import NOW, subject, unreadable
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.collect.cluster_context import GroupProgress
from topicwarden.audit.compare_audits import topic_state
from topicwarden.audit.history.known_unread import MAX_KNOWN, known_unread
from topicwarden.audit.history.topic_state import PreviousAudit, TopicState
from topicwarden.audit.judge import results_of
from topicwarden.kafka.read.consumer_groups import ConsumerGroup
from topicwarden.kafka.read.group_lags import GroupLag, PartitionLag, UnreadRecord, UnreadRecords, group_lags
from topicwarden.kafka.read.snapshot import PartitionExtent, PartitionReplicas
from topicwarden.model.verdict import Verdict

STATE = TypeAdapter(TopicState | None)
GROUPS = ("a", "b")
RECORD, OPEN, NOTHING = "record", "open", "nothing"
"""What an offset holds. A marker, an aborted record and a gap are all nothing for a consumer."""


@dataclass
class Partition:
    """One partition of the topic ``t``, and two groups that read it."""

    offsets: list[str] = field(default_factory=list)
    start: int = 0
    epoch: int = 0
    topic: int = 0
    compact: bool = False
    committed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(GROUPS, 0))
    read: dict[str, set[int]] = field(default_factory=lambda: {group: set() for group in GROUPS})
    """The identities of the records that each group has committed."""
    identities: list[int] = field(default_factory=list)
    lost: dict[str, set[int]] = field(default_factory=lambda: {group: set() for group in GROUPS})
    """The identities of the committed records that were deleted by retention before each group committed them."""
    next_identity: int = 0
    members: set[str] = field(default_factory=lambda: set(GROUPS))
    past: TopicState | None = None
    now: int = NOW

    def append(self, *kinds: str) -> None:
        for kind in kinds:
            self.offsets.append(kind)
            self.identities.append(self.next_identity)
            self.next_identity += 1

    def transact(self, records: int, *, abort: bool) -> None:
        """Append a transaction with its marker; an aborted one has no record that consumers get."""
        self.append(*[NOTHING if abort else RECORD] * records, NOTHING)

    def commit(self, group: str, offset: int) -> None:
        """Read on from the committed offset, or from a later log start, and commit ``offset``."""
        begin = max(self.committed[group], self.start)
        if begin <= offset <= len(self.offsets):
            self.read[group] |= {self.identities[at] for at in range(begin, offset)}
            self.committed[group] = offset

    def reset(self, group: str, offset: int) -> None:
        """Go back to ``offset``: the group reads the records from there on again."""
        self.read[group] -= set(self.identities[offset:])
        self.committed[group] = offset

    def expire(self, start: int) -> None:
        for offset in range(self.start, start):
            for group in GROUPS:
                if self.offsets[offset] == RECORD and self.identities[offset] not in self.read[group]:
                    self.lost[group].add(self.identities[offset])
        self.start = max(self.start, start)

    def clean(self, offset: int) -> None:
        """Compact one record away, because a later one has the same key."""
        if self.compact and offset < len(self.offsets):
            self.offsets[offset] = NOTHING

    def truncate(self, end: int) -> None:
        """Elect a leader that lacks the offsets from ``end`` on. Groups beyond it start again at the end."""
        end = max(end, self.start)
        del self.offsets[end:], self.identities[end:]
        self.epoch += 1
        self.committed = {group: min(offset, end) for group, offset in self.committed.items()}

    def recreate(self) -> None:
        self.offsets, self.identities, self.start, self.epoch = [], [], 0, 0
        self.topic += 1
        self.committed = dict.fromkeys(GROUPS, 0)

    def subject(self, *, denied: bool = False, hidden: bool = False) -> AuditedTopic:
        """Return the topic as an audit sees it, which may lack the right to read it, or to see its settings."""
        of = subject(live={"cleanup.policy": "compact,delete" if self.compact else "delete"})
        assert of.live
        end = len(self.offsets)
        topic = replace(of.live.topic, config={}) if hidden else of.live.topic
        live = replace(
            of.live,
            id=f"id-{self.topic}",
            topic=topic,
            sources={} if hidden else of.live.sources,
            replicas=(PartitionReplicas(0, 1, (1,), (1,), self.epoch),),
            extents={0: PartitionExtent(self.start, end, end, None, None, None)},
        )
        groups = tuple(
            ConsumerGroup(name, "Stable", 1, {("t", 0): offset}, frozenset({("t", 0)} if name in self.members else ()))
            for name, offset in self.committed.items()
        )
        positions = {max(offset, self.start) for offset in self.committed.values()}
        unread = UnreadRecords({("t", 0, position): self.first(position) for position in positions})
        lags = {lag.group: lag for lag in group_lags(groups, {"t": live}, unread).values()}
        same = self.past is not None and self.past.topic_id == live.id
        of = replace(
            of,
            live=live,
            snapshot=replace(of.snapshot, taken_at=self.now),
            consumer_groups=GroupProgress(groups, {0: end}),
            group_lags=None if denied else lags,
            past=PreviousAudit(self.past) if same else PreviousAudit(),
        )
        return unreadable(of) if denied else of

    def first(self, position: int) -> UnreadRecord | None:
        """Return the first record at or after ``position`` that a consumer gets."""
        found = (offset for offset in range(position, len(self.offsets)) if self.offsets[offset] != NOTHING)
        offset = next(found, None)
        if offset is None:
            return None
        return UnreadRecord(offset, 0, False, self.epoch, committed=OPEN not in self.offsets[: offset + 1])

    def audit(self, *, denied: bool = False, hidden: bool = False) -> dict[str, CheckResult]:
        """Audit the topic, and return the results that fail, by group."""
        self.now += 60_000
        of = self.subject(denied=denied, hidden=hidden)
        results = results_of(CHECKS["group-lag"], of) or ()
        self.past = STATE.validate_json(STATE.dump_json(topic_state(of, {"group-lag": results}, (), {})))
        return {str(each.evidence["group"]): each for each in results if each.verdict is Verdict.FAIL}


def test_a_group_that_has_committed_the_marker_of_the_last_transaction_has_lost_nothing() -> None:
    log = Partition()
    log.transact(3, abort=False)
    log.commit("a", 3)
    log.commit("b", 4)
    log.audit()
    log.expire(4)
    assert log.lost == {"a": set(), "b": set()}
    assert log.audit() == {}


def test_a_record_that_an_audit_saw_unread_is_proven_to_be_lost_until_the_group_goes_on() -> None:
    log = Partition()
    log.append(*[RECORD] * 10)
    log.commit("a", 2)
    log.commit("b", 10)
    assert log.audit() == {}
    log.expire(5)
    (result,) = log.audit().values()
    assert result.message == "group a has not committed the record at offset 2 of partition 0, which is gone"
    log.append(*[RECORD] * 10)
    log.epoch += 1
    assert log.audit(denied=True) == {}
    assert [*log.audit()] == ["a"], "the proof outlasts another leader, and an audit that may not read"
    log.members.clear()
    assert log.audit() == {}
    log.members.add("a")
    assert [*log.audit()] == ["a"]
    log.commit("a", 12)
    assert log.audit() == {}


@pytest.mark.parametrize("change", ["denied", "hidden"])
def test_an_audit_that_sees_less_keeps_what_was_remembered(change: str) -> None:
    log = Partition()
    log.append(*[RECORD] * 10)
    log.audit()
    log.audit(**{change: True})
    log.expire(5)
    log.audit(**{change: True})
    assert [*log.audit()] == ["a", "b"]


def test_a_first_audit_and_a_recreated_and_a_truncated_topic_prove_nothing() -> None:
    for change in (lambda log: setattr(log, "past", None), Partition.recreate, lambda log: log.truncate(1)):
        log = Partition()
        log.append(*[RECORD] * 10)
        log.audit()
        change(log)
        log.append(*[NOTHING] * 10)
        log.expire(9)
        assert log.audit() == {}


def test_a_record_of_a_transaction_that_is_aborted_later_is_not_lost() -> None:
    log = Partition()
    log.append(OPEN)
    log.audit()
    log.offsets[:] = [NOTHING]
    log.append(NOTHING, RECORD)
    log.expire(2)
    assert log.audit() == {}


def test_a_record_that_the_cleaner_removed_is_not_lost() -> None:
    log = Partition()
    log.append(RECORD, RECORD)
    log.audit()
    log.compact = True
    log.audit()
    log.clean(0)
    log.compact = False
    log.expire(1)
    assert log.audit() == {}


@pytest.mark.parametrize("later", [RECORD, NOTHING])
def test_a_record_that_a_later_audit_did_not_find_again_is_not_lost(later: str) -> None:
    log = Partition()
    log.append(RECORD, later)
    log.audit()
    log.offsets[0] = NOTHING
    log.audit()
    log.expire(1)
    assert log.audit() == {}


def test_a_group_that_went_back_is_not_known_to_have_lost_a_record() -> None:
    log = Partition()
    log.append(*[RECORD] * 10)
    log.commit("a", 3)
    log.commit("b", 10)
    log.audit()
    log.commit("a", 8)
    log.expire(5)
    log.committed["a"] = 2
    assert log.audit() == {}


@pytest.mark.parametrize(
    ("progress", "kept"),
    [
        (None, True),
        (GroupProgress(complete=False), True),
        (GroupProgress((ConsumerGroup("a", "Stable", None, hidden=True),)), True),
        (GroupProgress(), False),
        (GroupProgress((ConsumerGroup("a", "Empty", 0),)), False),
        (GroupProgress((ConsumerGroup("a", "Empty", None, {("t", 0): 2}, share=True),)), False),
    ],
    ids=["not read", "not all visible", "hidden", "deleted", "without offsets", "a share group now"],
)
def test_only_what_is_not_visible_is_remembered_without_its_group(progress: GroupProgress | None, kept: bool) -> None:
    log = Partition()
    log.append(*[RECORD] * 10)
    log.commit("a", 2)
    log.commit("b", 10)
    log.audit()
    live = log.subject().live
    assert live
    found = known_unread(live, log.past, NOW, progress, {})
    assert [(each.group, each.offset) for each in found] == ([("a", 2)] if kept else [])


def act(log: Partition, draw: random.Random) -> None:
    """Do one thing to the log that can happen to a log."""
    end, group = len(log.offsets), draw.choice(GROUPS)
    match draw.randrange(14):
        case 0 | 1:
            log.append(*[RECORD] * draw.randint(1, 4))
        case 2 | 3:
            log.transact(draw.randint(0, 3), abort=draw.random() < 0.5)
        case 4:
            log.append(OPEN)
        case 5:
            outcome = draw.choice((RECORD, NOTHING))
            log.offsets = [outcome if kind == OPEN else kind for kind in log.offsets]
        case 6 | 7:
            log.commit(group, draw.randint(0, end))
        case 8:
            stable = log.offsets.index(OPEN) if OPEN in log.offsets else end
            log.expire(draw.randint(log.start, max(log.start, stable)))
        case 9:
            draw.choice((log.members.discard, log.members.add))(group)
        case 10:
            draw.choice((log.recreate, lambda: log.truncate(draw.randint(0, end))))()
        case 11:
            log.epoch += 1
        case 12:
            log.reset(group, draw.randint(log.start, max(log.start, end)))
        case _:
            log.compact = draw.random() < 0.3
            log.audit()  # a setting that changes and changes back between two audits is not seen
            log.clean(draw.randint(log.start, max(log.start, end)))


def history(draw: random.Random, steps: int) -> int:
    """Compare each audit of a random history with the model, and return the number of proofs."""
    log, proofs = Partition(), 0
    for _ in range(steps):
        for _ in range(draw.randint(0, 6)):
            act(log, draw)
        for group in log.audit(denied=draw.random() < 0.1, hidden=draw.random() < 0.1):
            proofs += 1
            assert group in log.members
            assert log.lost[group] - log.read[group], "the model knows no record that this group lost"
    return proofs


@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False))
def test_every_proof_of_a_random_history_is_a_lost_record(draw: random.Random) -> None:
    history(draw, 12)


def test_random_histories_have_proofs() -> None:
    assert sum(history(random.Random(seed), 12) for seed in range(200)) > 20


def test_what_is_remembered_is_bounded_and_has_the_records_first_that_expire_first() -> None:
    of = subject()
    assert of.live
    numbers = range(2 * MAX_KNOWN)
    live = replace(
        of.live,
        replicas=tuple(PartitionReplicas(number, 1, (1,), (1,), 7) for number in numbers),
        extents={number: PartitionExtent(10, 1_000, 1_000, None, None, None) for number in numbers},
    )
    lag = GroupLag(
        "g", "t", {number: PartitionLag(10, 990, UnreadRecord(900 - number, 0, False, 7)) for number in numbers}
    )
    offsets = {("t", number): 10 for number in numbers}
    group = ConsumerGroup("g", "Stable", 1, offsets, frozenset({("t", 0), ("t", 1)}))
    found = known_unread(live, None, NOW, GroupProgress((group,)), {"g": lag})
    assert [each.partition for each in found] == [1, 0, *reversed(numbers)][:MAX_KNOWN]
