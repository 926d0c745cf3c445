"""Carries out moves of replicas: some at a time, watched to the end."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from threading import Event

from topicwarden.kafka.reassignment_admin import OngoingReassignment, Place, ReassignmentSession
from topicwarden.model.problem import Refusal
from topicwarden.plan.placement.replica_placement import ReplicaMove, lagging
from topicwarden.rebalance.throttling import Released, ReplicationThrottle

AT_ONCE = 50
"""Partitions that move at a time: each is work for the controller, and the throttle bounds the bytes anyway."""

_POLL_S = 1.0


@dataclass(frozen=True)
class ReassignmentProgress:
    """How far it is: partitions that are done, and bytes on the disks of the brokers that get a copy."""

    partitions: int
    of_partitions: int
    log_bytes: int
    of_bytes: int


@dataclass(frozen=True)
class Watch:
    """Whom to tell: of progress, about every second, and in a line of what one should know; ``stop`` ends it."""

    progress: Callable[[ReassignmentProgress], None]
    say: Callable[[str], None]
    stop: Event


@dataclass(frozen=True)
class ReassignmentResult:
    """What Kafka refused, with its reasons; how many partitions move on unwatched; how many were not begun."""

    refused: Mapping[Place, str]
    moving: int
    waiting: int
    released: Released


class ReassignmentRunner:
    """Moves replicas of ``topics``, all of a stack's, in the cluster of ``movable``."""

    def __init__(
        self, movable: ReassignmentSession, topics: Collection[str], brake: ReplicationThrottle, watch: Watch
    ) -> None:
        self._cluster = movable.reassignment
        self._topics = frozenset(topics)
        self._brake = brake
        self._watch = watch
        self._lost: frozenset[int] = frozenset()

    def ongoing(self) -> dict[Place, OngoingReassignment]:
        """The reassignments of the topics that are under way."""
        return {place: state for place, state in self._cluster.ongoing().items() if place[0] in self._topics}

    def carry_out(self, moves: Collection[ReplicaMove], under_way: Collection[ReplicaMove]) -> ReassignmentResult:
        """Starts ``moves``, and waits for them and for those ``under_way``, until all are done or it is to stop.

        What was begun goes on when this process ends, however that happens, and at the throttle's pace: the
        throttle stays until a later call sees the end. Where nothing was begun, none stays.
        """
        whole = {(move.topic, move.partition): move for move in (*under_way, *moves)}
        waiting = deque(moves)
        refused: dict[Place, str] = {}
        begun = bool(under_way)
        self._brake.prepare(whole.values(), {move.topic for move in under_way})
        try:
            while True:
                ongoing = self.ongoing()
                if self._watch.stop.is_set() or not (ongoing or waiting):
                    break
                room = max(0, AT_ONCE - len(ongoing))
                if batch := [waiting.popleft() for _ in range(min(room, len(waiting)))]:
                    ready = {}
                    for move, in_sync in self._in_sync(batch):
                        if reason := lagging(move, in_sync):
                            refused[move.topic, move.partition] = reason
                        else:
                            ready[move.topic, move.partition] = move.after
                    self._brake.hold(whole.values(), {topic for topic, _ in ready})
                    refused |= self._cluster.start(ready)
                    begun = begun or bool(ready)
                    continue
                self._mind_brokers(ongoing, whole)
                self._watch.progress(self._progress(whole, ongoing, waiting))
                self._watch.stop.wait(_POLL_S)
        except Refusal as refusal:
            if begun:
                raise Refusal(f"{refusal}; what was begun goes on, throttled as it was: run this again") from refusal
            self._brake.release()
            raise
        released = Released() if ongoing else self._brake.release()
        return ReassignmentResult(refused, len(ongoing), len(waiting), released)

    def take_back(self, topics: Collection[str]) -> ReassignmentResult:
        """Cancels what is under way of ``topics``, waits until it is, and takes the brakes off."""
        places = [place for place in self.ongoing() if place[0] in topics]
        refused = self._cluster.start(dict.fromkeys(places))
        while (left := (self.ongoing().keys() & places) - refused.keys()) and not self._watch.stop.is_set():
            self._watch.stop.wait(_POLL_S)
        return ReassignmentResult(refused, len(left), 0, self._brake.release())

    def _in_sync(self, moves: Collection[ReplicaMove]) -> Iterator[tuple[ReplicaMove, tuple[int, ...]]]:
        """Each of ``moves`` with the brokers that are in sync at this moment, hours after the moves were planned."""
        found = self._cluster.in_sync({move.topic for move in moves})
        return ((move, found.get((move.topic, move.partition), ())) for move in moves)

    def _mind_brokers(self, ongoing: Mapping[Place, OngoingReassignment], whole: Mapping[Place, ReplicaMove]) -> None:
        alive = {broker for broker, alive in self._cluster.brokers().items() if alive}
        states = ongoing.values()
        targets = Counter(broker for state in states for broker in state.adding if broker not in alive)
        sources = Counter(broker for state in states if alive.isdisjoint(state.before) for broker in state.before)
        for broker in sorted((targets | sources).keys() - self._lost):
            if broker in sources:
                why = f"with it the only copy of partitions ({sources[broker]}): start it again"
            else:
                why = (
                    f"partitions wait for it ({targets[broker]}): start it again, "
                    "or end this with Ctrl-C and run it anew, which places them elsewhere"
                )
            self._watch.say(f"broker {broker} is lost, and {why}")
        if back := sorted(self._lost & alive):
            self._watch.say(f"broker {', '.join(map(str, back))} is back")
            self._brake.hold(whole.values(), {topic for topic, _ in ongoing})
        self._lost = frozenset(targets | sources)

    def _progress(
        self,
        whole: Mapping[Place, ReplicaMove],
        ongoing: Mapping[Place, OngoingReassignment],
        waiting: Collection[ReplicaMove],
    ) -> ReassignmentProgress:
        adding = {broker for state in ongoing.values() for broker in state.adding} - self._lost
        held = self._cluster.held(ongoing.keys(), adding)
        copied = sum(
            min(held.get((*place, broker), 0), whole[place].log_bytes or 0)
            for place, state in ongoing.items()
            if place in whole
            for broker in state.adding
        )
        left = {*ongoing, *((move.topic, move.partition) for move in waiting)}
        done = [move for place, move in whole.items() if place not in left]
        return ReassignmentProgress(
            partitions=len(done),
            of_partitions=len(whole),
            log_bytes=copied + sum(move.bytes_to_copy or 0 for move in done),
            of_bytes=sum(move.bytes_to_copy or 0 for move in whole.values()),
        )
