"""Test how observations of use are remembered, and that parts of concurrent runs can be joined in any order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicwarden.kafka.read.transactions import ProducerPosition
from topicwarden.model.usage import DAY_MS, Interval, TopicUse, Use, UserKind
from topicwarden.usage.join_records import join
from topicwarden.usage.observe import GroupState, ObservedGroup, ObservedProducers, ObservedTopic, UseObservation
from topicwarden.usage.remember import KEPT_PRODUCER_IDS, KEPT_SAMPLES, interrupt, remember
from topicwarden.usage.use_records import UseRecords

NOTHING = UseRecords("c")


def topic(**parts: Any) -> ObservedTopic:
    return ObservedTopic(**{"topic": "t", "topic_id": "1", **parts})


def observation(at: int, *topics: ObservedTopic, groups: Mapping[str, GroupState] | None = None) -> UseObservation:
    return UseObservation("c", at, {each.topic: each for each in topics}, groups or {})


def remembered(*topics: ObservedTopic) -> TopicUse:
    """Return the use of a topic that was observed at 100, 200, 300, …"""
    observations = [observation(100 * number, each) for number, each in enumerate(topics, 1)]
    return reduce(remember, observations, NOTHING).topic_uses()["t"]


def group(offset: int | None, name: str = "g", *, active: bool = False) -> ObservedGroup:
    return ObservedGroup(name, "classic", active, 1 if active else 0, committed={} if offset is None else {0: offset})


def producers(positions: Mapping[int, tuple[int, int | None]], epoch: int | None = 1) -> Mapping[str, Any]:
    """Return the producers of partition 0: epoch and sequence by producer id."""
    return {
        "producers": {
            0: ObservedProducers(epoch, {number: ProducerPosition(*each) for number, each in positions.items()})
        }
    }


def last_of(use: TopicUse, kind: UserKind, name: str) -> Interval | None:
    return user(use, kind, name).last


def user(use: TopicUse, kind: UserKind, name: str) -> Use:
    (found,) = (each for each in use.users if (each.kind, each.name) == (kind, name))
    return found


BETWEEN = Interval(100, 200)


@pytest.mark.parametrize(
    ("before", "after", "last"),
    [
        ([group(3)], [group(4)], BETWEEN),
        ([group(3)], [group(3)], None),
        ([group(3)], [group(2)], None),  # perhaps an older state of the coordinator's log
        ([], [group(1)], BETWEEN),
        ([group(None)], [group(1)], BETWEEN),
        ([group(3)], [group(3, active=True)], Interval(200, 200)),
    ],
)
def test_a_commit_is_proven_by_an_offset_that_grew(
    before: list[ObservedGroup], after: list[ObservedGroup], last: Interval | None
) -> None:
    use = remembered(topic(groups=tuple(before)), topic(groups=tuple(after)))
    assert last_of(use, UserKind.GROUP, "g") == last


def test_a_new_group_is_no_proof_if_the_earlier_observation_did_not_see_all_groups() -> None:
    use = remembered(topic(sees_groups=False), topic(groups=(group(1),)))
    assert last_of(use, UserKind.GROUP, "g") is None
    assert (use.groups_complete_since, use.complete_since) == (101, 101)


def test_an_offset_that_was_set_back_makes_no_topic_idle() -> None:
    use = remembered(topic(groups=(group(3),)), topic(groups=(group(2),)))
    assert use.last_read == BETWEEN
    assert use.unused_since == 200


def test_a_group_that_expired_was_not_used() -> None:
    use = remembered(topic(groups=(group(3),)), topic(), topic())
    assert (use.last_read, use.unused_since) == (None, 100)
    assert not user(use, UserKind.GROUP, "g").active


def test_a_group_that_could_not_be_read_for_a_while_is_compared_with_what_was_seen_last() -> None:
    use = remembered(topic(groups=(group(3),)), topic(sees_groups=False), topic(groups=(group(4),)))
    assert last_of(use, UserKind.GROUP, "g") == Interval(100, 300)


PRODUCER, ID = UserKind.PRODUCER_ID, UserKind.TRANSACTIONAL_ID


@pytest.mark.parametrize(
    ("before", "after", "wrote"),
    [
        ((0, 4), (0, 5), True),
        ((0, 4), (0, 4), False),
        ((0, 4), (0, 2), False),  # an unclean leader election has removed a batch, or the sequence began again
        ((0, 4), (1, 0), True),
        ((0, 4), (1, None), False),  # a marker of transaction.version 2
        ((1, None), (1, 0), True),
        ((1, 4), (0, 9), False),
    ],
)
def test_a_write_is_proven_by_a_sequence_and_not_by_a_marker(
    before: tuple[int, int | None], after: tuple[int, int | None], wrote: bool
) -> None:
    use = remembered(topic(**producers({7: before})), topic(**producers({7: after})))
    assert last_of(use, PRODUCER, "7") == (BETWEEN if wrote else None)


@pytest.mark.parametrize(("epochs", "wrote"), [((1, 1), True), ((1, 2), False), ((None, None), False)])
def test_a_new_producer_has_written_unless_another_leader_remembers_producers_for_longer(
    epochs: tuple[int | None, int | None], wrote: bool
) -> None:
    first, second = epochs
    use = remembered(topic(**producers({}, first)), topic(**producers({7: (0, 0)}, second)))
    assert last_of(use, PRODUCER, "7") == (BETWEEN if wrote else None)


@pytest.mark.parametrize("ongoing", [False, True])
def test_a_marker_of_a_new_epoch_ends_a_transaction_that_had_not_begun_before(ongoing: bool) -> None:
    known = {"transactional_ids": {7: "x"}}
    before = topic(**producers({7: (4, None)}), **known, ongoing=frozenset({"x"} if ongoing else ()))
    use = remembered(before, topic(**producers({7: (5, None)}), **known))
    assert last_of(use, ID, "x") == (Interval(100, 100) if ongoing else BETWEEN)


def test_an_ongoing_transaction_is_a_use_by_its_transactional_id_whatever_its_producer_id() -> None:
    known = {"transactional_ids": {7: "x"}, "ongoing": frozenset({"x"})}
    use = remembered(
        topic(**producers({7: (0, 0)}), transactional_ids={7: "x"}), topic(**producers({8: (0, 0)}), **known)
    )
    assert user(use, ID, "x").active
    assert last_of(use, ID, "x") == Interval(200, 200)
    assert use.last_written == Interval(200, 200)


def test_a_producer_id_keeps_the_transactional_id_that_it_belonged_to() -> None:
    first = topic(**producers({7: (0, 0)}), transactional_ids={7: "x"})
    use = remembered(first, topic(**producers({7: (0, 1)})))
    assert [(each.kind, each.name, each.last) for each in use.users] == [(ID, "x", BETWEEN)]


@pytest.mark.parametrize(
    ("before", "after", "written"),
    [
        ({0: 5}, {0: 5}, None),
        ({0: 5}, {0: 6}, BETWEEN),
        ({0: 5}, {0: 4}, BETWEEN),
        ({0: 5}, {0: 5, 1: 0}, None),
        ({0: 5}, {0: 5, 1: 1}, BETWEEN),
    ],
)
def test_a_log_end_that_moved_shows_a_write(
    before: dict[int, int], after: dict[int, int], written: Interval | None
) -> None:
    use = remembered(topic(log_ends=before), topic(log_ends=after))
    assert use.last_written == written
    assert use.unused_since == (100 if written is None else 200)


def test_a_partition_without_a_leader_is_compared_with_what_was_seen_last() -> None:
    use = remembered(topic(log_ends={0: 5}), topic(sees_log_ends=False), topic(log_ends={0: 6}))
    assert use.last_written == Interval(100, 300)
    assert (use.complete_since, use.log_ends_complete_since, use.groups_complete_since) == (201, 201, 100)


def test_a_topic_that_was_created_again_starts_anew() -> None:
    use = remembered(topic(log_ends={0: 5}, groups=(group(3),)), topic(topic_id="2", log_ends={0: 9}))
    assert (use.topic_id, use.observed_since, use.users, use.last_written) == ("2", 200, (), None)


def test_access_is_unchanged_since_the_first_observation_that_saw_it() -> None:
    use = remembered(*(topic(access=each, groups=(group(n),)) for n, each in enumerate(("a", "b", "b"))))
    assert (use.access_unchanged_since, use.access_seen_again) == (200, 300)
    assert use.under_unchanged_access(user(use, UserKind.GROUP, "g"))
    changed = remembered(*(topic(access=each, groups=(group(n),)) for n, each in enumerate(("a", "b"))))
    assert not changed.under_unchanged_access(user(changed, UserKind.GROUP, "g"))


def test_a_deploy_changes_the_access_unless_the_live_acls_are_not_known() -> None:
    def unchanged_since(*deployed: str) -> int | None:
        return remembered(*(topic(access="a", deployed=each) for each in deployed)).access_unchanged_since

    assert unchanged_since("x", "x", "x") == 100
    assert unchanged_since("x", "y", "y") == 200
    assert unchanged_since("x", "", "x") == 100
    assert unchanged_since("x", "", "y") == 300


def test_the_last_two_moves_are_remembered_whether_or_not_the_group_is_active() -> None:
    use = remembered(*(topic(groups=(group(offset, active=True),)) for offset in (1, 2, 2, 3, 4)))
    assert user(use, UserKind.GROUP, "g").moves == (Interval(300, 400), Interval(400, 500))


def test_a_clock_that_was_set_back_changes_nothing() -> None:
    records = remember(NOTHING, observation(200, topic(log_ends={0: 5})))
    for earlier in (100, 200):
        assert remember(records, observation(earlier, topic(log_ends={0: 9}))) == records


def test_other_access_at_an_observation_with_a_wrong_clock_interrupts_the_proof() -> None:
    first = remember(NOTHING, observation(300, topic(access="a", groups=(group(1),))))
    assert interrupt(first, observation(200, topic(access="a"))) is first
    interrupted = interrupt(first, observation(200, topic(access="b")))
    use = remember(interrupted, observation(400, topic(access="a", groups=(group(2),)))).topic_uses()["t"]
    assert not use.under_unchanged_access(user(use, UserKind.GROUP, "g"))
    later = reduce(
        remember, [observation(at, topic(access="a", groups=(group(at),))) for at in (400, 500)], interrupted
    ).topic_uses()["t"]
    assert later.under_unchanged_access(user(later, UserKind.GROUP, "g"))


def test_access_is_unchanged_again_after_runs_at_the_same_time_have_seen_different_access() -> None:
    base = remember(NOTHING, observation(100, topic(access="a", groups=(group(1),))))
    one = remember(base, observation(200, topic(access="b", groups=(group(1),))))
    two = remember(base, observation(300, topic(access="a", groups=(group(2),))))
    joined = join(one, two)
    use = joined.topic_uses()["t"]
    assert not use.under_unchanged_access(user(use, UserKind.GROUP, "g"))
    use = remember(joined, observation(400, topic(access="a", groups=(group(3),)))).topic_uses()["t"]
    assert use.under_unchanged_access(user(use, UserKind.GROUP, "g"))


@pytest.mark.parametrize(("offset", "last"), [(4, None), (5, None), (6, BETWEEN)])
def test_a_share_group_has_read_if_it_is_beyond_the_earlier_log_end(offset: int, last: Interval | None) -> None:
    """Locks that expire also move its start offset, but only past records that existed."""
    before, after = (ObservedGroup("g", "share", committed={0: at}) for at in (3, offset))
    use = remembered(topic(groups=(before,), log_ends={0: 5}), topic(groups=(after,), log_ends={0: 9}))
    assert last_of(use, UserKind.GROUP, "g") == last


def test_the_start_offset_of_a_share_group_may_lag_behind_its_reads() -> None:
    looks = [(ObservedGroup("g", "share", committed={0: at}), end) for at, end in ((3, 6), (6, 9), (9, 12), (12, 15))]
    use = remembered(*(topic(groups=(seen,), log_ends={0: end}) for seen, end in looks))
    assert user(use, UserKind.GROUP, "g").moves == (Interval(100, 300),)


def test_an_observation_of_some_partitions_is_no_sample() -> None:
    some, all_ = topic(log_ends={0: 10}, sees_log_ends=False), topic(log_ends={0: 10, 1: 1_000})
    days = [(1, all_), (2, some), (3, all_), (3.5, some)]
    records = reduce(remember, [observation(int(day * DAY_MS), each) for day, each in days], NOTHING)
    assert records.topic_uses()["t"].samples == ((DAY_MS, 1_010, None), (3 * DAY_MS, 1_010, None))


def test_samples_are_one_a_day_and_limited() -> None:
    records = NOTHING
    for hour in range(0, 24 * (KEPT_SAMPLES + 3), 12):
        records = remember(records, observation(1 + hour * 3_600_000, topic(log_ends={0: hour}, replica_bytes=hour)))
    samples = records.topic_uses()["t"].samples
    assert len(samples) == KEPT_SAMPLES
    assert [sample.log_ends for sample in samples[-2:]] == [24 * (KEPT_SAMPLES + 1) + 12, 24 * (KEPT_SAMPLES + 2) + 12]


def test_users_are_limited() -> None:
    records = NOTHING
    for number in range(3 * KEPT_PRODUCER_IDS):
        records = remember(records, observation(number + 1, topic(**producers({number: (0, 0)}))))
    assert len(records.topic_uses()["t"].users) == KEPT_PRODUCER_IDS
    assert not remember(records, observation(1_000 * DAY_MS, topic())).topic_uses()["t"].users


def test_a_group_is_remembered_whatever_it_reads() -> None:
    gone = {"g": GroupState("g", "classic", False, frozenset({"gone"}))}
    records = reduce(remember, (observation(at, topic(), groups=gone) for at in (100, 200)), NOTHING)
    use = records.group_uses()["g"]
    assert (use.observed_since, use.observed_at, use.last, use.unused_since) == (100, 200, None, 100)
    moved = remember(records, observation(300, topic(groups=(group(1),)), groups=gone))
    assert moved.group_uses()["g"].last == Interval(200, 300)
    active = {"g": replace(gone["g"], active=True)}
    assert remember(moved, observation(400, topic(), groups=active)).group_uses()["g"].active


positions = st.builds(ProducerPosition, st.integers(0, 2), st.none() | st.integers(0, 3), st.booleans())
observed_groups = st.builds(
    ObservedGroup,
    st.sampled_from("gh"),
    st.sampled_from(("", "classic", "share")),
    st.booleans(),
    st.none() | st.integers(0, 2),
    st.frozensets(st.sampled_from(("10.0.0.1", "10.0.0.2"))),
    st.dictionaries(st.integers(0, 1), st.integers(0, 3)),
)
observed_topics = st.builds(
    ObservedTopic,
    st.sampled_from("tu"),
    st.sampled_from("12"),
    st.dictionaries(st.integers(0, 1), st.integers(0, 3)),
    st.none() | st.integers(0, 9),
    st.lists(observed_groups, max_size=2, unique_by=lambda group: group.name).map(tuple),
    st.dictionaries(
        st.integers(0, 1),
        st.builds(ObservedProducers, st.none() | st.integers(0, 1), st.dictionaries(st.integers(7, 9), positions)),
    ),
    st.dictionaries(st.integers(7, 9), st.sampled_from("xy")),
    st.frozensets(st.sampled_from("xy")),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from("ab"),
)
observations = st.builds(
    lambda at, topics, groups: observation(at, *topics, groups={each.name: each for each in groups}),
    st.integers(1, 9),
    st.lists(observed_topics, max_size=2),
    st.lists(st.builds(GroupState, st.sampled_from("gh"), st.sampled_from(("", "share")), st.booleans()), max_size=2),
)
records = st.lists(observations, max_size=4).map(lambda seen: reduce(remember, seen, NOTHING))


@given(records, records, records)
def test_parts_can_be_joined_in_any_order_and_any_number_of_times(
    one: UseRecords, two: UseRecords, three: UseRecords
) -> None:
    expected = join(join(one, two), three)
    for order in permutations((one, two, three)):
        assert reduce(join, order) == expected
    assert join(one, join(two, three)) == expected
    assert join(expected, expected) == expected
    assert join(expected, two) == expected
    assert join(NOTHING, one) == one == join(one, one)


@given(records, observations, observations)
def test_runs_at_the_same_time_lose_nothing(base: UseRecords, one: UseObservation, two: UseObservation) -> None:
    first, second = remember(base, one), remember(base, two)
    joined = join(first, second)
    assert joined.observed_at == max(first.observed_at, second.observed_at)
    for part in (base, first, second):
        for key, record in part.topics.items():
            found = joined.topics[key]
            assert found.observed_since <= record.observed_since
            assert {user.key for user in record.users} <= {user.key for user in found.users}
            for user in record.users:
                (same,) = (each for each in found.users if each.key == user.key)
                assert user.last is None or (same.last is not None and same.last.until >= user.last.until)
            assert record.access_seen.keys() <= found.access_seen.keys()


@given(st.lists(observations, min_size=1, max_size=5))
def test_a_use_lies_between_two_observations(seen: list[UseObservation]) -> None:
    times = {each.taken_at for each in seen}
    for use in reduce(remember, seen, NOTHING).topic_uses().values():
        lasts = [use.last_read, use.last_written, *(user.last for user in use.users)]
        for last in filter(None, lasts):
            assert last.after <= last.until
            assert {last.after, last.until} <= times
        assert use.observed_since <= use.unused_since <= use.observed_at
