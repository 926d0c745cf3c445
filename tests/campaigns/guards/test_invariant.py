"""Test that the judge detects each kind of breach, on constructed states."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from tests.campaigns.guards.cleanup import removable
from tests.campaigns.guards.cluster import PartitionState, TopicState
from tests.campaigns.guards.draw import DAY, HOUR, NOT_DRAWN, VALUES, Chance
from tests.campaigns.guards.judge import ALLOWED_BY, Before, Fault, judge
from tests.campaigns.guards.runner import Violation
from tests.campaigns.guards.scenario import Command, Verb
from tests.campaigns.guards.shrink import shrink
from tests.campaigns.soundness.logs import Log, Segment
from tests.support.log_files import LogBatch, LogRecord
from topicwarden.kinds.topic.setting_effects import EFFECTS
from topicwarden.model.planned_change import Action, Consequence, PlanReport, PreviewResult, Severity, TopicPlan
from topicwarden.model.topic import AllowedChange

NOW = int(time.time() * 1000)
CONFIG = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "segment.bytes": str(1 << 30),
    "segment.ms": str(7 * DAY),
    "segment.jitter.ms": "0",
    "min.compaction.lag.ms": "0",
    "max.compaction.lag.ms": str(2**63 - 1),
    "min.cleanable.dirty.ratio": "0.5",
    "delete.retention.ms": str(DAY),
    "min.insync.replicas": "2",
    "unclean.leader.election.enable": "false",
    "flush.messages": "1",
}


def segment(base: int, age: int, *keys: str | None, size: int = 1000) -> Segment:
    """Return a closed or active segment with one batch."""
    stamp = NOW - age
    entries = tuple(
        LogRecord(base + number, stamp, None if key is None else key.encode(), b"v", ())
        for number, key in enumerate(keys)
    )
    batch = LogBatch(base, base + len(keys) - 1, size, stamp, False, -1, False, None, entries)
    return Segment(base, size, (batch,))


def state(*segments: Segment, topic_id: str = "a", replicas: tuple[int, ...] = (1, 2, 3), **config: str) -> TopicState:
    log = Log(0, 0, False, segments)
    settings = CONFIG | {name.replace("_", "."): value for name, value in config.items()}
    return TopicState(topic_id, settings, {0: PartitionState(1, replicas, replicas)}, {0: log}, {0: (log,)})


OLD, YOUNG = segment(0, 3 * DAY, "a", "b"), segment(2, HOUR, "a")
FULL = state(OLD, YOUNG)


def before(
    was: TopicState, *consequences: Consequence, allowed: tuple[AllowedChange, ...] = (), deployed: bool = False
) -> Before:
    plan = PlanReport(
        topicwarden="",
        stack="dev",
        cluster_id=None,
        taken_at=NOW,
        topics=[TopicPlan(topic="t", action=Action.UPDATE, consequences=list(consequences))],
        unchanged=0,
        engine=PreviewResult(ran=True),
    )
    deletable = frozenset({"t"} if deployed else ())
    return Before({"t": was}, plan, {"t": frozenset(allowed)}, deletable, frozenset({"t"}))


def kinds(known: Before, after: TopicState | None, command: Command | None = None) -> list[str]:
    result = judge(known, command or Command(), {} if after is None else {"t": after}, NOW)
    return [fault.kind for fault in result.faults]


def cut(records: int, kind: str = "retention-cut", severity: Severity = Severity.DANGER) -> Consequence:
    return Consequence(kind=kind, severity=severity, message="", evidence={"records": records})


SHORTER = state(YOUNG, retention_ms=str(DAY))
SHRINK = (AllowedChange.SHRINK_RETENTION,)


def test_a_predicted_and_allowed_loss_is_no_fault() -> None:
    known = before(FULL, cut(2), allowed=SHRINK)
    assert kinds(known, SHORTER) == []
    (prediction,) = judge(known, Command(), {"t": SHORTER}, NOW).predictions
    assert (prediction.predicted, prediction.lost) == (2, 2)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (before(FULL), ["lost-silently", "weaker-silently"]),
        (before(FULL, cut(2)), ["lost-not-allowed", "weaker-not-allowed"]),
        (before(FULL, cut(2), allowed=(AllowedChange.COMPACT,)), ["lost-not-allowed", "weaker-not-allowed"]),
        (before(FULL, cut(2, severity=Severity.NOTE), allowed=SHRINK), ["lost-not-allowed"]),
        (before(FULL, cut(1), allowed=SHRINK), ["underestimated"]),
    ],
)
def test_a_loss_is_a_fault_unless_it_was_predicted_and_allowed(known: Before, expected: list[str]) -> None:
    assert kinds(known, SHORTER) == expected


def test_a_record_that_a_replica_has_cleaned_is_not_lost_with_its_leader() -> None:
    """Each broker cleans its log independently, and another broker becomes the leader."""
    was = state(OLD, YOUNG)
    was = replace(was, replica_logs={0: (*was.replica_logs[0], Log(0, 2, False, (YOUNG,)))})
    assert kinds(before(was), state(YOUNG)) == []


def test_records_that_the_old_policy_removes_need_no_prediction() -> None:
    assert kinds(before(state(OLD, YOUNG, retention_ms=str(DAY))), SHORTER) == []


@pytest.mark.parametrize("command", [Command(Verb.DESTROY), Command(Verb.UP, (), "--replace", ("t",)), Command()])
def test_destroying_a_topic_requires_allow_delete(command: Command) -> None:
    after = None if command.verb is Verb.DESTROY else state(topic_id="b")
    assert len(kinds(before(FULL), after, command)) == 1
    deployed = before(FULL, cut(3, "destroyed"), allowed=(AllowedChange.RECREATE,), deployed=True)
    assert kinds(deployed, after, command) == []


def test_destroy_with_run_program_needs_an_allowance() -> None:
    command = Command(Verb.DESTROY, ("--run-program",))
    assert kinds(before(FULL, allowed=(AllowedChange.RECREATE,)), None, command) == ["destroyed"]
    assert kinds(before(FULL, allowed=(AllowedChange.DELETE,)), None, command) == []
    assert kinds(before(FULL, allowed=(AllowedChange.DELETE,)), None, Command(Verb.DESTROY)) == ["destroyed"]


def test_an_underestimated_deletion_is_a_fault() -> None:
    known = before(FULL, cut(2, "destroyed"), allowed=(AllowedChange.RECREATE,))
    assert kinds(known, state(topic_id="b")) == ["underestimated"]


def test_a_deletion_that_names_unseen_partitions_has_no_bound() -> None:
    part = cut(2, "destroyed")
    part.evidence["partitions not seen"] = 1
    assert kinds(before(FULL, part, allowed=(AllowedChange.RECREATE,)), state(topic_id="b")) == []


@pytest.mark.parametrize(
    ("after", "kind"),
    [
        (state(OLD, YOUNG, replicas=(1, 2)), "replication-factor"),
        (state(OLD, YOUNG, min_insync_replicas="1"), "min-insync"),
        (state(OLD, YOUNG, unclean_leader_election_enable="true"), "unclean-election"),
        (state(OLD, YOUNG, flush_messages="100"), "flush"),
        (state(OLD, YOUNG, cleanup_policy="compact"), "compaction"),
        (state(OLD, YOUNG, retention_bytes="5000"), "retention-cut"),
    ],
)
def test_less_durability_is_a_fault_unless_it_was_predicted_and_allowed(after: TopicState, kind: str) -> None:
    assert kinds(before(FULL), after) == ["weaker-silently"]
    announced = Consequence(kind=kind, severity=Severity.DANGER, message="")
    assert kinds(before(FULL, announced), after) == ["weaker-not-allowed"]
    assert kinds(before(FULL, announced, allowed=tuple(ALLOWED_BY[kind])), after) == []


def test_the_greatest_long_is_no_limit() -> None:
    assert kinds(before(FULL), state(OLD, YOUNG, retention_bytes="9223372036854775807")) == []


def test_a_topic_that_the_flags_leave_out_stays_as_it_is() -> None:
    other = state(OLD, YOUNG, max_message_bytes="1")
    assert kinds(before(FULL), other, Command(Verb.UP, (), "--target", ("u",))) == ["not-selected"]
    assert kinds(before(FULL), other, Command(Verb.UP, (), "--exclude", ("t",))) == ["not-selected"]
    assert kinds(before(FULL), other, Command(Verb.UP, (), "--exclude", ("t",), "-moved")) == []
    assert kinds(before(FULL), other, Command(Verb.UP, (), "--target", ("t",))) == []


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, set()),
        ({"retention.ms": str(DAY)}, {0, 1}),
        ({"retention.bytes": "500"}, {0, 1}),
        ({"retention.bytes": "5000"}, set()),
        ({"cleanup.policy": "compact"}, set()),
        ({"cleanup.policy": "compact", "segment.ms": "1000"}, {0}),
        ({"cleanup.policy": "compact", "max.compaction.lag.ms": "1000"}, {0}),
        ({"cleanup.policy": "compact", "segment.ms": "1000", "min.compaction.lag.ms": str(DAY)}, set()),
    ],
)
def test_records_that_the_current_policy_removes(changed: dict[str, str], expected: set[int]) -> None:
    log = Log(0, 0, False, (OLD, YOUNG))
    assert removable([log], CONFIG | changed, NOW) == expected


def test_a_clean_log_is_left_alone_until_enough_is_dirty() -> None:
    log = Log(0, 2, False, (OLD, segment(2, HOUR, "a", size=10)))
    settings = CONFIG | {"cleanup.policy": "compact", "segment.ms": "1000"}
    assert removable([log], settings, NOW) == set()
    assert removable([log], settings | {"min.cleanable.dirty.ratio": "0.001"}, NOW) == {0}


def test_every_setting_is_drawn_or_excluded_with_a_reason() -> None:
    assert VALUES.keys() | NOT_DRAWN.keys() == EFFECTS.keys()
    assert not VALUES.keys() & NOT_DRAWN.keys()


def test_a_scenario_is_drawn_from_its_seed_alone() -> None:
    assert Chance("g", "1").scenario() == Chance("g", "1").scenario() != Chance("g", "2").scenario()


def test_a_failing_scenario_is_shrunk() -> None:
    scenario = Chance("g", "3").scenario()
    accused = next(action for step in scenario.steps for action in step.actions)
    violation = Violation("g", len(scenario.steps) - 1, "", Fault("lost", accused.topic, ""))
    found = shrink(scenario, violation, lambda one: any(accused in step.actions for step in one.steps), 200)
    assert [start.name for start in found.topics] == [accused.topic]
    assert [action for step in found.steps for action in step.actions] == [accused]
    assert replace(found, topics=(), steps=()) == replace(scenario, topics=(), steps=())
