"""Test the placement of replicas, by example and by property, and the cost of a change of the replication factor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, PartitionReplicas, Snapshot, cordoned_brokers
from topicwarden.kinds.topic.change import changes
from topicwarden.kinds.topic.consequences import replication
from topicwarden.kinds.topic.evidence import PlanEvidence
from topicwarden.model.deployed_stack import DeployedStack, DeployedTopic
from topicwarden.model.topic import Topic
from topicwarden.plan.consequence_text import durability_text
from topicwarden.plan.placement.durability import Durability, durability_after, durability_now, received, seconds, sent
from topicwarden.plan.placement.replica_placement import (
    ReplicaMove,
    ReplicaPlacement,
    place_replicas,
    with_replicas,
    without_lagging_moves,
)
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.validated_document import SettingLocations
from topicwarden.specs.yaml_nodes import ParsedDocument

NAME = "orders.v1"
ABC = {1: "a", 2: "b", 3: "c"}
PAIRS = {1: "a", 2: "a", 3: "b", 4: "b"}


def declared(factor: int) -> Declaration:
    path = ("replication_factor",)
    own = ParsedDocument("topics/orders.v1.yaml", values={path: (2, 21)})
    return Declaration(Topic(NAME, 1, factor), SettingLocations(own, [(own, ())], {path: factor}))


def live(
    *replicas: tuple[int, ...], in_sync: tuple[int, ...] | None = None, lost: frozenset[int] = frozenset()
) -> LiveTopic:
    states = []
    for number, brokers in enumerate(replicas):
        synced = tuple(b for b in brokers if b not in lost and (in_sync is None or b in in_sync))
        states.append(PartitionReplicas(number, next(iter(synced), None), brokers, tuple(sorted(synced))))
    factor = min(map(len, replicas))
    topic = Topic(NAME, len(states), factor, {"min.insync.replicas": "2"})
    return LiveTopic(
        topic, "id", {}, tuple(states), {n: PartitionExtent(0, 9, 9, 1, 8, 1000) for n in range(len(states))}
    )


def snapshot(topic: LiveTopic, racks: Mapping[int, str | None], cordoned: frozenset[int] = frozenset()) -> Snapshot:
    configs = {broker: {"log.dirs": "/a,/b", "cordoned.log.dirs": "*"} for broker in cordoned}
    return Snapshot("cluster", 0, racks, configs, {topic.topic.name: topic})


def after(placed: ReplicaPlacement) -> dict[int, tuple[int, ...]]:
    return {move.partition: move.after for move in placed.moves}


@pytest.mark.parametrize(
    ("racks", "before", "factor", "expected"),
    [
        (ABC, [(1,), (2,), (3,)], 2, {0: (1, 2), 1: (2, 3), 2: (3, 1)}),
        (ABC, [(1, 2, 3), (2, 3, 1)], 3, {}),
        (PAIRS, [(1, 2)], 2, {0: (1, 3)}),  # two replicas share a rack, and another rack is free
        (PAIRS, [(1, 2, 3)], 2, {0: (1, 3)}),  # the second replica of a rack is removed
        (PAIRS, [(2, 1, 3)], 2, {0: (2, 3)}),  # but not the preferred leader, if possible
        (PAIRS, [(1,)], 4, {0: (1, 2, 3, 4)}),
        ({1: None, 2: "a", 3: "a"}, [(2, 3)], 2, {}),  # racks are ignored if one broker has none
        (ABC, [(3, 4), (1, 4)], 2, {0: (3, 2), 1: (1, 2)}),  # broker 4 is lost
    ],
)
def test_a_rebalance_moves_replicas_to_their_brokers(
    racks: Mapping[int, str | None], before: list[tuple[int, ...]], factor: int, expected: dict[int, tuple[int, ...]]
) -> None:
    placed = place_replicas([declared(factor)], snapshot(live(*before, lost=frozenset({4} - racks.keys())), racks))
    assert (after(placed), placed.problems, placed.stuck) == (expected, (), ())


def test_an_in_sync_replica_is_not_dropped_while_a_kept_one_lags() -> None:
    """Racks favor dropping broker 2. But until broker 3 has caught up, only one in-sync copy would be left."""
    racks = {1: "a", 2: "a", 3: "b"}
    lagging = snapshot(live((1, 2, 3), in_sync=(1, 2)), racks)
    placed = without_lagging_moves(place_replicas([declared(2)], lagging), lagging)
    assert after(placed) == {}
    assert [stuck.reason for stuck in placed.stuck] == [
        "it would drop in-sync replicas (broker 2) while broker 3 is out of sync: wait until it has caught up, "
        "or start it again"
    ]
    caught_up = snapshot(live((1, 2, 3)), racks)
    assert after(without_lagging_moves(place_replicas([declared(2)], caught_up), caught_up)) == {0: (1, 3)}


@given(
    racks=st.dictionaries(st.integers(1, 6), st.sampled_from("abc"), min_size=2),
    data=st.data(),
)
def test_a_move_never_leaves_fewer_in_sync_replicas_than_it_must(racks: dict[int, str], data: st.DataObject) -> None:
    replicas = tuple(data.draw(st.lists(st.sampled_from(sorted(racks)), min_size=1, unique=True)))
    in_sync = tuple(data.draw(st.lists(st.sampled_from(replicas), min_size=1, unique=True)))
    factor = data.draw(st.integers(1, len(racks)))
    topic = snapshot(live(replicas, in_sync=in_sync), racks)
    placed = without_lagging_moves(place_replicas([declared(factor)], topic), topic)
    for move in placed.moves:
        assert len({*in_sync, *move.added} & {*move.after}) >= min(len(in_sync), factor)
    assert len(placed.moves) + len(placed.stuck) <= 1


def test_the_replica_out_of_sync_goes_first_and_a_lost_leader_is_replaced() -> None:
    assert after(place_replicas([declared(2)], snapshot(live((1, 2, 3), in_sync=(1, 3)), ABC))) == {0: (1, 3)}
    lost = live((4, 1), (4, 2), (4, 3), (4, 1), lost=frozenset({4}))
    moved = after(place_replicas([declared(2)], snapshot(lost, ABC)))
    led = Counter(brokers[0] for brokers in moved.values())
    assert 4 not in set().union(*moved.values())
    assert max(led.values()) - min(led.values()) <= 1


def test_too_few_brokers_is_a_problem_where_it_was_declared_and_not_while_one_is_down() -> None:
    placed = place_replicas([declared(4)], snapshot(live((1, 2)), ABC))
    assert [str(problem) for problem in placed.problems] == [
        "topics/orders.v1.yaml:2:21: orders.v1: too few brokers for replication factor 4: the cluster has 3 (1, 2, 3); "
        "start lost brokers again, add brokers, or declare 3 at most [too-few-brokers]"
    ]
    down = place_replicas([declared(4)], snapshot(live((1, 2, 3, 4), lost=frozenset({4})), ABC))
    assert (down.moves, down.problems) == ((), ())
    assert [each.reason for each in down.stuck] == [
        "broker 4 is lost, and no other broker is free to take its replica: start it again"
    ]


@pytest.mark.parametrize(("factor", "brokers"), [(3, ""), (4, ""), (5, "4 (1, 2, 3, 4)")])
def test_a_new_topic_needs_as_many_brokers_as_the_cluster_has_with_those_that_are_lost(
    factor: int, brokers: str
) -> None:
    new = replace(declared(factor), topic=replace(declared(factor).topic, name="new"))
    placed = place_replicas([new], snapshot(live((1, 4), lost=frozenset({4})), ABC))
    assert (placed.moves, placed.stuck) == ((), ())
    assert [problem.message for problem in placed.problems] == [
        f"new: too few brokers for replication factor 5: the cluster has {brokers}; start lost brokers again, add "
        "brokers, or declare 4 at most"
        for _ in range(bool(brokers))
    ]
    assert place_replicas([new], replace(snapshot(live((1,)), ABC), racks={})).problems == (), "no broker is known"


@pytest.mark.parametrize(
    ("before", "factor", "expected"),
    [
        ([(1,), (2,)], 2, {0: (1, 2), 1: (2, 1)}),  # nothing new on broker 3
        ([(1, 3), (3, 2)], 2, {}),  # its replicas stay
        ([(1, 3)], 3, {0: (1, 3, 2)}),
        ([(3,), (3,)], 1, {}),
    ],
)
def test_a_cordoned_broker_keeps_its_replicas_and_gets_no_new_ones(
    before: list[tuple[int, ...]], factor: int, expected: dict[int, tuple[int, ...]]
) -> None:
    placed = place_replicas([declared(factor)], snapshot(live(*before), ABC, frozenset({3})))
    assert (after(placed), placed.problems, placed.stuck) == (expected, (), ())


def test_too_few_brokers_are_not_cordoned() -> None:
    placed = place_replicas([declared(3)], snapshot(live((1, 2)), ABC, frozenset({3})))
    assert [problem.message for problem in placed.problems] == [
        "orders.v1: too few brokers for replication factor 3: the cluster has 2 (1, 2) without cordoned brokers (3); "
        "start lost brokers again, add brokers, or declare 2 at most"
    ]


@pytest.mark.parametrize(
    ("settings", "cordoned"),
    [
        ({"log.dirs": "/a,/b", "cordoned.log.dirs": "/b, /a"}, True),
        ({"log.dirs": "/a,/b", "cordoned.log.dirs": "/a"}, False),
        ({"log.dirs": "/a", "cordoned.log.dirs": ""}, False),
        ({"log.dir": "/a", "cordoned.log.dirs": "/a"}, True),
        ({"log.dir": "/tmp", "log.dirs": "/a", "cordoned.log.dirs": "/tmp"}, False),
        ({"log.dirs": "/a"}, False),
    ],
)
def test_a_broker_is_cordoned_if_all_its_directories_are(settings: dict[str, str], cordoned: bool) -> None:
    assert (cordoned_brokers({7: settings}) == {7}) is cordoned


def test_without_a_leader_nothing_is_moved() -> None:
    placed = place_replicas([declared(2)], snapshot(live((4,), (1,), lost=frozenset({4})), ABC))
    assert list(after(placed)) == [1]
    assert [(each.partition, each.reason) for each in placed.stuck] == [
        (0, "it has no leader, so nothing can be copied: start one of its brokers 4")
    ]


def test_a_reassignment_in_progress_is_judged_by_its_target() -> None:
    now = snapshot(live((1, 2, 3)), ABC)
    assert place_replicas([declared(2)], with_replicas(now, {(NAME, 0): (1, 2)})) == ReplicaPlacement()


def test_placement_conclusions() -> None:
    now = snapshot(live((1,), (2,)), ABC)
    topic = Topic(NAME, 2, 3, {"min.insync.replicas": "2"})
    moves = place_replicas([declared(3)], now).moves
    assert durability_now(now.topics[NAME], now) == Durability(0, 0, 1)
    assert durability_after(topic, now.topics[NAME], moves, now) == Durability(2, 1, 3)
    assert [move.bytes_to_copy for move in moves] == [2000, 2000]
    assert received(moves) == {1: 1000, 2: 1000, 3: 2000}
    assert sent(moves) == {1: 2000, 2: 2000}
    assert seconds(moves, 100) == 20


@pytest.mark.parametrize(
    ("partitions", "losses", "text"),
    [
        (
            [((1, 2, 3), (1,)), ((1,), (1,))],
            (0, -1),
            "now reading survives 0 lost brokers, writing none: 1 in-sync short of min.insync.replicas, on 1 rack",
        ),
        ([((1, 2), (1, 2)), ((1, 2, 3), (1, 2, 3))], (1, 0), "now reading survives 1 lost broker, writing 0 lost"),
        (
            [((4,), ())],
            (-1, -1),
            "now reading survives none: no in-sync replica, writing none: 1 in-sync short of min.insync.replicas",
        ),
    ],
)
def test_each_partition_counts_by_its_own_replicas(
    partitions: list[tuple[tuple[int, ...], tuple[int, ...]]], losses: tuple[int, int], text: str
) -> None:
    states = tuple(PartitionReplicas(number, None, *each) for number, each in enumerate(partitions))
    topic = LiveTopic(Topic(NAME, len(states), 3, {"min.insync.replicas": "2"}), "id", {}, states)
    found = durability_now(topic, snapshot(topic, ABC))
    assert (found.losses_reading, found.losses_writing) == losses
    assert durability_text("now", found).startswith(text)


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Snapshot, int]:
    """Return up to seven brokers in up to four racks, some lost, with random replicas and in-sync replicas."""
    brokers = draw(st.integers(1, 7))
    named = draw(st.booleans())
    racks = {b: draw(st.sampled_from("abcd")) if named else None for b in range(1, brokers + 1)}
    lost = draw(st.frozensets(st.integers(1, brokers), max_size=brokers - 1))
    sets = st.lists(st.integers(1, brokers), min_size=1, max_size=brokers, unique=True).map(tuple)
    topic = live(*draw(st.lists(sets, min_size=1, max_size=8)), lost=lost)
    synced = tuple(replace(state, in_sync=draw(_part(state))) for state in topic.replicas)
    alive = {broker: rack for broker, rack in racks.items() if broker not in lost}
    return snapshot(replace(topic, replicas=synced), alive), draw(st.integers(1, len(alive)))


def _part(state: PartitionReplicas) -> st.SearchStrategy[tuple[int, ...]]:
    others = [broker for broker in state.in_sync if broker != state.leader]
    kept = st.frozensets(st.sampled_from(others)) if others else st.just(frozenset[int]())
    return kept.map(lambda some: tuple(sorted({*some, *([] if state.leader is None else [state.leader])})))


@given(clusters())
def test_any_cluster(given: tuple[Snapshot, int]) -> None:
    now, factor = given
    racks = {broker: rack or str(broker) for broker, rack in now.racks.items()}
    most = min(factor, len(set(racks.values())))

    def good(brokers: tuple[int, ...]) -> bool:
        return len(brokers) == factor and {*brokers} <= {*racks} and len({racks[b] for b in brokers}) == most

    placed = place_replicas([declared(factor)], now)
    moved = {move.partition: move for move in placed.moves}
    assert placed == place_replicas([declared(factor)], now)
    assert placed.problems == ()
    assert (
        place_replicas(
            [declared(factor)], with_replicas(now, {(NAME, m.partition): m.after for m in placed.moves})
        ).moves
        == ()
    )
    stuck = {each.partition for each in placed.stuck}
    for state in now.topics[NAME].replicas:
        if state.partition not in moved:
            assert good(state.replicas) or (state.leader is None and state.partition in stuck)
            continue
        move = moved[state.partition]
        assert not good(state.replicas)
        assert good(move.after)
        assert len({*move.after}) == factor
        candidates = [brokers for brokers in combinations(sorted(racks), factor) if good(brokers)]
        assert len(move.added) == min(len({*brokers} - {*state.replicas}) for brokers in candidates)
        assert {*move.after} & {*state.in_sync}
        if state.replicas[0] in move.after:
            assert move.after[0] == state.replicas[0]


@given(st.integers(1, 12), st.integers(2, 8), st.data())
def test_free_replicas_are_spread_evenly(partitions: int, brokers: int, data: st.DataObject) -> None:
    factor = data.draw(st.integers(2, brokers))
    lead = data.draw(st.permutations(range(1, brokers + 1)))
    before = [(lead[number % brokers],) for number in range(partitions)]
    placed = place_replicas([declared(factor)], snapshot(live(*before), dict.fromkeys(range(1, brokers + 1))))
    replica_counts = Counter(broker for move in placed.moves for broker in move.after)
    counts = [replica_counts[broker] for broker in range(1, brokers + 1)]
    assert max(counts) - min(counts) <= 1


@given(st.integers(1, 12), st.integers(2, 4), st.integers(1, 3))
def test_in_racks_of_one_size_too(partitions: int, racks: int, each: int) -> None:
    standing: dict[int, str | None] = {broker: "abcd"[broker % racks] for broker in range(racks * each)}
    before = [(number % (racks * each),) for number in range(partitions)]
    placed = place_replicas([declared(racks)], snapshot(live(*before), standing))
    replica_counts = Counter(broker for move in placed.moves for broker in move.after)
    counts = [replica_counts[broker] for broker in standing]
    assert max(counts) - min(counts) <= 1


@given(st.integers(1, 12), st.integers(2, 6), st.data())
def test_dropped_replicas_are_spread_evenly(partitions: int, brokers: int, data: st.DataObject) -> None:
    """At the start, each broker has all partitions, and leads about as many as the other brokers."""
    order = list(range(1, brokers + 1))
    before = [tuple(order[number % brokers :] + order[: number % brokers]) for number in range(partitions)]
    factor = data.draw(st.integers(1, brokers - 1))
    placed = place_replicas([declared(factor)], snapshot(live(*before), dict.fromkeys(order)))
    replica_counts = Counter(broker for move in placed.moves for broker in move.after)
    counts = [replica_counts[broker] for broker in order]
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize(
    ("log_bytes", "copied", "output"),
    [(700, 700, "copies 700 B"), (0, 0, "copies 0 B"), (None, None, "did not report the size of all logs")],
)
def test_a_log_of_unknown_size_is_not_copied_in_no_time(log_bytes: int | None, copied: int | None, output: str) -> None:
    extents = {0: PartitionExtent(0, 10, 10, None, None, log_bytes)}
    live = LiveTopic(Topic("t", 1, 1), "id", {"a": "DEFAULT_CONFIG"}, (PartitionReplicas(0, 1, (1,), (1,)),), extents)
    snapshot = Snapshot("c", 0, {1: None, 2: None}, {}, {"t": live})
    declaration = Declaration(Topic("t", 1, 2), SettingLocations(ParsedDocument("topics/t.yaml"), (), {}))
    (change,) = changes([declaration], DeployedStack({"t": DeployedTopic("t", 1, 1, {})}), snapshot)
    placement = ReplicaPlacement((ReplicaMove("t", 0, (1,), (1, 2), 1, log_bytes),))
    (found,) = replication.evaluate(change, PlanEvidence(snapshot, placement))
    assert output in found.message
    assert (found.evidence["bytes"], found.evidence["bytes to broker 2"]) == (copied, copied)
