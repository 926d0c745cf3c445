"""Test which differences count as changed by hand, and the remedy for those that a deploy leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.plan.consequences.scenario import DAY, NOW, Scenario, hourly
from topicwarden.deploy.dangers import access_drift_line, dangers, drift_line
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionReplicas, Snapshot
from topicwarden.kinds.topic.change import changes
from topicwarden.kinds.topic.consequences import CONSEQUENCES, drift, unseen
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence, union
from topicwarden.kinds.topic.predict import _plan
from topicwarden.model.deployed_stack import DeployedStack, DeployedTopic
from topicwarden.model.planned_change import (
    AccessItem,
    AccessKind,
    Action,
    Consequence,
    Setting,
    Severity,
    TopicPlan,
    planned_parts,
)
from topicwarden.model.topic import Allowance, AllowedChange, Topic
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.validated_document import SettingLocations
from topicwarden.specs.yaml_nodes import ParsedDocument

ON_TOPIC, DEFAULT = "DYNAMIC_TOPIC_CONFIG", "DEFAULT_CONFIG"


@pytest.mark.parametrize(
    ("declared", "deployed", "live", "source", "by_hand"),
    [
        ("1", "1", "1", ON_TOPIC, False),
        ("2", "1", "1", ON_TOPIC, False),  # a declared change that is not deployed yet
        ("1", "1", "3", ON_TOPIC, True),
        ("2", "1", "3", ON_TOPIC, True),
        ("2", "1", "2", ON_TOPIC, False),  # changed by hand to the value that is now declared
        ("1", None, "9", DEFAULT, False),  # nobody ever set the value
        (None, None, "9", DEFAULT, False),
        (None, None, "3", ON_TOPIC, True),
        ("1", "1", "9", DEFAULT, True),  # somebody removed the value
    ],
)
def test_only_explicit_settings_are_drift(
    declared: str | None, deployed: str | None, live: str, source: str, by_hand: bool
) -> None:
    def config(value: str | None) -> dict[str, str]:
        return {} if value is None else {"retention.ms": value}

    topic = LiveTopic(
        Topic("t", 1, 1, config(live)), "id", {"retention.ms": source}, (PartitionReplicas(0, 1, (1,), (1,)),), {}
    )
    snapshot = Snapshot("c", 0, {1: None}, {}, {"t": topic})
    declaration = Declaration(
        Topic("t", 1, 1, config(declared)), SettingLocations(ParsedDocument("topics/t.yaml"), (), {})
    )
    found = changes([declaration], DeployedStack({"t": DeployedTopic("t", 1, 1, config(deployed))}), snapshot)
    output = [one.kind for change in found for one in drift.evaluate(change, PlanEvidence(snapshot))]
    assert output == (["drift"] if by_hand else [])
    left = [
        one.message for change in found for one in drift.evaluate(replace(change, held=True), PlanEvidence(snapshot))
    ]
    assert [message.partition("; ")[2].partition(",")[0] for message in left] == ["the deploy leaves it"] * by_hand


@pytest.mark.parametrize("deployed", [{}, {"leader.replication.throttled.replicas": "0:1"}])
def test_a_replication_throttle_is_no_change_whether_a_refresh_has_read_it_or_not(deployed: dict[str, str]) -> None:
    config = {"leader.replication.throttled.replicas": "0:1"}
    sources = dict.fromkeys(config, ON_TOPIC)
    snapshot = Snapshot(
        "c",
        0,
        {1: None},
        {},
        {"t": LiveTopic(Topic("t", 1, 1, config), "id", sources, (PartitionReplicas(0, 1, (1,), (1,)),))},
    )
    declaration = Declaration(Topic("t", 1, 1), SettingLocations(ParsedDocument("topics/t.yaml"), (), {}))
    assert changes([declaration], DeployedStack({"t": DeployedTopic("t", 1, 1, deployed)}), snapshot) == ()


@pytest.mark.parametrize(("retention", "severity"), [("1", Severity.DANGER), ("2", Severity.REFUSED)])
def test_a_topic_deleted_by_hand_is_not_changed(retention: str, severity: Severity) -> None:
    """The provider cannot update the topic: the deployment would fail halfway."""
    snapshot = Snapshot("c", 0, {1: None}, {}, {})
    declaration = Declaration(
        Topic("t", 1, 1, {"retention.ms": retention}), SettingLocations(ParsedDocument("topics/t.yaml"), (), {})
    )
    (change,) = changes([declaration], DeployedStack({"t": DeployedTopic("t", 1, 1, {"retention.ms": "1"})}), snapshot)
    (found,) = drift.evaluate(change, PlanEvidence(snapshot))
    assert (found.kind, found.severity) == ("missing", severity)
    assert ("fail" in found.because[0]) == (severity is Severity.REFUSED)


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("allow", [frozenset[Allowance](), frozenset({Allowance(AllowedChange.DELETE)})])
def test_a_topic_that_no_broker_shows_does_not_count_as_deleted(hidden: bool, allow: frozenset[Allowance]) -> None:
    snapshot = Snapshot("c", 0, {1: None}, {}, {}, hidden=frozenset({"t"} if hidden else ()))
    deployed = DeployedTopic("t", 1, 1, {}, Topic("t", 1, 1, allow=allow), "topics/t.yaml")
    (change,) = changes([], DeployedStack({"t": deployed}), snapshot)
    rules = [rule for rule in (drift, unseen) if rule.needs(change, 0) is not None]
    found = [(one.kind, one.severity) for rule in rules for one in rule.evaluate(change, PlanEvidence(snapshot))]
    assert found == ([] if allow and not hidden else [("unseen" if hidden else "missing", Severity.REFUSED)])


def test_a_hidden_topic_does_not_count_as_changed_by_hand() -> None:
    snapshot = Snapshot("c", 0, {1: None}, {}, {}, hidden=frozenset({"t"}))
    declaration = Declaration(Topic("t", 1, 1), SettingLocations(ParsedDocument("topics/t.yaml"), (), {}))
    assert changes([declaration], DeployedStack({"t": DeployedTopic("t", 1, 1, {})}), snapshot) == ()


@pytest.mark.parametrize(
    ("setting", "declared", "by_hand", "rule", "word"),
    [
        ("retention.ms", str(DAY), str(30 * DAY), "retention-cut", "shrink-retention"),
        ("cleanup.policy", "compact", "delete", "compaction", "compact"),
    ],
)
def test_the_remedy_names_the_word_that_allows_the_loss(
    setting: str, declared: str, by_hand: str, rule: str, word: str
) -> None:
    scenario = Scenario({setting: declared}, {setting: by_hand}, (hourly(100),), deployed={setting: declared})
    change = scenario.change()
    needs = CONSEQUENCES[rule].needs(change, NOW)
    assert needs
    plan = _plan(change, {rule: needs}, scenario.evidence(needs))
    assert (plan.action, plan.held, [each.severity for each in plan.consequences]) == (
        Action.DRIFT,
        True,
        [Severity.DANGER],
    )
    assert plan.consequences[0].remedy == (
        "declare it as it is now, or allow the loss: "
        f"write `allow: [{{change: {word}, until: DATE}}]` into the topic's YAML"
    )


def test_a_deploy_that_leaves_a_topic_recreated_by_hand_moves_no_keys_and_names_the_drift() -> None:
    scenario = Scenario({}, {}, (hourly(9),) * 3, partitions=12, deployed_partitions=12)
    change = scenario.change()
    rules = {name: needs for name in ("more-partitions", "drift") if (needs := CONSEQUENCES[name].needs(change, NOW))}
    plan = _plan(change, rules, scenario.evidence(rules["more-partitions"]))
    assert plan.action is Action.DRIFT
    found = {each.kind: each for each in plan.consequences}
    assert {kind: each.severity for kind, each in found.items()} == {
        "more-partitions": Severity.NOTE,
        "drift": Severity.NOTE,
    }
    assert found["more-partitions"].message.startswith(
        "`topicwarden up --refresh` would revert the drift: from 3 to 12"
    )
    assert dangers(planned_parts([plan]), "dev") == []
    assert drift_line([plan], "dev", reverts=True) == (
        "t (partitions is 3, declared 12): changed by hand, and this deploy reverts it"
    )
    line = drift_line([plan], "dev", reverts=False)
    assert line is not None
    assert line.startswith("t (partitions is 3, declared 12): changed by hand, and this deploy leaves it")
    assert "`topicwarden up --refresh --stack dev` reverts it" in line
    left = plan.model_copy(update={"held": True})
    assert [drift_line([left], "dev", reverts=reverts) for reverts in (True, False)] == [None, None]


def test_a_deploy_names_values_that_were_changed_by_hand_as_a_plan_does() -> None:
    settings = [
        Setting(name="retention.ms", declared="604800000", deployed="604800000", live="1000"),
        Setting(name="cleanup.policy", declared="compact", deployed="compact", live=""),
    ]
    drift = [
        Consequence(kind="drift", severity=Severity.NOTE, message="", evidence={"setting": each.name})
        for each in settings
    ]
    plan = TopicPlan(topic="t", action=Action.DRIFT, settings=settings, consequences=drift)
    line = drift_line([plan], "dev", reverts=True)
    assert line is not None
    assert line.startswith('t (retention.ms is 1s, declared 7d, cleanup.policy is "", declared compact)')


@pytest.mark.parametrize(("reverts", "end"), [(True, "and this deploy reverts it"), (False, "reverts it")])
def test_a_deploy_names_access_that_was_changed_by_hand(reverts: bool, end: str) -> None:
    quota, settings = (
        AccessItem(kind=kind, action=Action.DRIFT, name=name, before=before, after=after)
        for kind, name, before, after in (
            (AccessKind.QUOTA, "user billing", "producer_byte_rate 2KiB", "producer_byte_rate 1MiB"),
            (AccessKind.GROUP_CONFIG, "billing", "share.session.timeout.ms 1", "share.session.timeout.ms 2"),
        )
    )
    others = [
        quota.model_copy(update={"action": Action.UPDATE}),
        quota.model_copy(update={"before": None}),  # gone: it has a line of its own
        quota.model_copy(update={"kind": AccessKind.SCRAM_USER}),  # a danger
    ]
    line = access_drift_line([quota, settings, *others], "dev", reverts=reverts)
    assert line is not None
    assert line.startswith(
        "quota of user billing (producer_byte_rate 2KiB, declared producer_byte_rate 1MiB), group settings of "
        "billing (share.session.timeout.ms 1, declared share.session.timeout.ms 2): changed by hand, and this deploy"
    )
    assert line.endswith(end)
    assert access_drift_line(others, "dev", reverts=reverts) is None


def test_a_deploy_that_adds_partitions_still_warns_of_moved_keys() -> None:
    scenario = Scenario({}, {}, (hourly(9),) * 3, partitions=12)
    change = scenario.change()
    needs = CONSEQUENCES["more-partitions"].needs(change, NOW)
    assert needs
    plan = _plan(change, {"more-partitions": needs}, scenario.evidence(needs))
    assert [each.severity for each in plan.consequences] == [Severity.DANGER]
    assert drift_line([plan], "dev", reverts=False) is None


def drifted(declared: dict[str, str], live: dict[str, str], records: int = 9) -> TopicPlan:
    """Return the plan of a topic that is deployed as ``declared``, and was changed to ``live`` by hand."""
    scenario = Scenario(declared, live, (hourly(records),), deployed=declared, batches={0: 1_500_000})
    change = scenario.change()
    rules = {name: needs for name, rule in CONSEQUENCES.items() if (needs := rule.needs(change, NOW)) is not None}
    return _plan(change, rules, scenario.evidence(union(rules.values())))


POLICY, RETENTION, MAX_MESSAGE = "cleanup.policy", "retention.ms", "max.message.bytes"


@pytest.mark.parametrize(
    ("declared", "live", "loss"),
    [
        ({RETENTION: str(7 * DAY)}, {RETENTION: str(DAY)}, "records expire sooner"),
        ({}, {RETENTION: str(DAY)}, "records expire sooner"),
        ({RETENTION: "-1"}, {}, "records expire sooner"),
        ({"retention.bytes": "2000"}, {"retention.bytes": "1000"}, "the oldest segments are deleted above a smaller"),
        ({POLICY: "delete"}, {POLICY: "compact"}, "compact removes superseded and keyless records"),
        ({"min.insync.replicas": "2"}, {"min.insync.replicas": "1"}, "fewer replicas have an acknowledged write"),
        ({RETENTION: str(DAY)}, {RETENTION: str(7 * DAY)}, ""),
        ({POLICY: "compact", RETENTION: "2"}, {POLICY: "compact", RETENTION: "1"}, ""),  # which deletes nothing
        ({POLICY: "delete,compact"}, {POLICY: "compact"}, ""),
        ({MAX_MESSAGE: "1048576"}, {MAX_MESSAGE: "2000000"}, ""),
    ],
)
def test_a_manual_change_that_stays_is_a_danger_if_it_loses_records(
    declared: dict[str, str], live: dict[str, str], loss: str
) -> None:
    (found,) = [each for each in drifted(declared, live).consequences if each.kind == "drift"]
    assert found.severity is (Severity.DANGER if loss else Severity.NOTE)
    assert bool(found.because) is bool(loss)
    assert loss in "".join(found.because)
    (empty,) = [each for each in drifted(declared, live, records=0).consequences if each.kind == "drift"]
    assert (empty.severity, empty.because) == (Severity.NOTE, [])


def test_a_manual_change_that_a_deploy_reverts_is_no_danger() -> None:
    scenario = Scenario({RETENTION: str(7 * DAY), MAX_MESSAGE: "3"}, {RETENTION: str(DAY)}, deployed={RETENTION: "9"})
    change = scenario.change()
    (found,) = drift.evaluate(change, scenario.evidence(RequiredEvidence()))
    assert (change.action, found.severity) == (Action.UPDATE, Severity.NOTE)
    assert found.message == "retention.ms has drifted: it is 1d, deployed was 9ms; the deploy writes 7d"


@pytest.mark.parametrize(
    ("by_hand", "revert"),
    [
        ({}, "`topicwarden up --refresh` would revert the drift"),
        ({RETENTION: str(30 * DAY)}, "reverting the drift would mean"),  # which would lose records, so it stays
    ],
)
def test_a_plan_does_not_predict_effects_of_reverting_drift_that_stays(by_hand: dict[str, str], revert: str) -> None:
    plan = drifted(
        {RETENTION: str(DAY), MAX_MESSAGE: "1048576"}, {RETENTION: str(DAY), MAX_MESSAGE: "2000000"} | by_hand
    )
    found = {each.message: each.severity for each in plan.consequences}
    (refused_batches,) = [message for message in found if "will be refused" in message]
    assert refused_batches.startswith(f"{revert}: batches above 1MiB will be refused")
    assert found[refused_batches] is Severity.NOTE
    (size,) = [message for message in found if "has drifted" in message and MAX_MESSAGE in message]
    assert f"{MAX_MESSAGE} has drifted: it is 2MB, deployed was 1MiB; the deploy leaves it" in size
