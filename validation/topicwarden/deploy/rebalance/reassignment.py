"""Runs the reassignments of replicas in small batches, and watches them until they end."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from threading import Event

from topicwarden.deploy.rebalance.throttling import ReplicationThrottle, ThrottleRemoval
from topicwarden.kafka.write.reassignment_admin import OngoingReassignment, PartitionId, ReassignmentSession
from topicwarden.model.problem import Refusal
from topicwarden.plan.placement.replica_placement import ReplicaMove, wait_reason

MAX_CONCURRENT = 50
"""Partitions that move at a time. Each is work for the controller; the throttle limits the bytes anyway."""

_POLL_S = 1.0


@dataclass(frozen=True)
class ReassignmentProgress:
    """Progress of a run: partitions that are done, and bytes on the disks of the brokers that get a copy."""

    partitions: int
    of_partitions: int
    log_bytes: int
    of_bytes: int


@dataclass(frozen=True)
class Watch:
    """Callbacks of a run: ``progress`` about every second, ``say`` for each message. ``stop`` ends the run."""

    progress: Callable[[ReassignmentProgress], None]
    say: Callable[[str], None]
    stop: Event


@dataclass(frozen=True)
class ReassignmentResult:
    """Result of a run: refused partitions with reasons, partitions that still move, and partitions not started."""

    refused: Mapping[PartitionId, str]
    in_progress: int
    not_started: int
    released: ThrottleRemoval


class ReassignmentRunner:
    """Moves replicas of ``topics``, which are all topics of a stack, with the connection ``session``."""

    def __init__(
        self,
        session: ReassignmentSession,
        topics: Collection[str],
        throttle: ReplicationThrottle,
        watch: Watch,
    ) -> None:
        self._cluster = session.reassignment
        self._topics = frozenset(topics)
        self._throttle = throttle
        self._watch = watch
        self._lost: frozenset[int] = frozenset()

    def ongoing(self) -> dict[PartitionId, OngoingReassignment]:
        """Return the reassignments in progress of the runner's topics."""
        return {
            partition: state for partition, state in self._cluster.ongoing().items() if partition[0] in self._topics
        }

    def run(self, moves: Collection[ReplicaMove], under_way: Collection[ReplicaMove]) -> ReassignmentResult:
        """Start ``moves``, and wait for them and for those ``under_way``, until all have ended or ``stop`` is set.

        Started reassignments continue when this process ends for any reason, throttled as before: the throttle stays
        until a later run sees the reassignments end. If none was started, the throttle is removed.
        """
        planned = {(move.topic, move.partition): move for move in (*under_way, *moves)}
        waiting = deque(moves)
        refused: dict[PartitionId, str] = {}
        started = bool(under_way)
        self._throttle.prepare(planned.values(), {move.topic for move in under_way})
        try:
            while True:
                ongoing = self.ongoing()
                if self._watch.stop.is_set() or not (ongoing or waiting):
                    break
                room = max(0, MAX_CONCURRENT - len(ongoing))
                if batch := [waiting.popleft() for _ in range(min(room, len(waiting)))]:
                    ready = {}
                    for move, in_sync in self._in_sync(batch):
                        if reason := wait_reason(move, in_sync):
                            refused[move.topic, move.partition] = reason
                        else:
                            ready[move.topic, move.partition] = move.after
                    self._throttle.apply(planned.values(), {topic for topic, _ in ready})
                    refused |= self._cluster.start(ready)
                    started = started or bool(ready)
                    continue
                self._report_lost_brokers(ongoing, planned)
                self._watch.progress(self._progress(planned, ongoing, waiting))
                self._watch.stop.wait(_POLL_S)
        except Refusal as refusal:
            if started:
                raise Refusal(
                    f"{refusal}; reassignments that were started continue, and stay throttled: run this again"
                ) from refusal
            self._throttle.remove()
            raise
        released = ThrottleRemoval() if ongoing else self._throttle.remove()
        return ReassignmentResult(refused, len(ongoing), len(waiting), released)

    def cancel(self, topics: Collection[str]) -> ReassignmentResult:
        """Cancel the reassignments in progress of ``topics``, wait until they end, and remove the throttle."""
        partitions = [partition for partition in self.ongoing() if partition[0] in topics]
        refused = self._cluster.start(dict.fromkeys(partitions))
        while (remaining := (self.ongoing().keys() & partitions) - refused.keys()) and not self._watch.stop.is_set():
            self._watch.stop.wait(_POLL_S)
        return ReassignmentResult(refused, len(remaining), 0, self._throttle.remove())

    def _in_sync(self, moves: Collection[ReplicaMove]) -> Iterator[tuple[ReplicaMove, tuple[int, ...]]]:
        """Return each of ``moves`` with its current in-sync brokers, which may have changed since the plan."""
        in_sync = self._cluster.in_sync({move.topic for move in moves})
        return ((move, in_sync.get((move.topic, move.partition), ())) for move in moves)

    def _report_lost_brokers(
        self, ongoing: Mapping[PartitionId, OngoingReassignment], planned: Mapping[PartitionId, ReplicaMove]
    ) -> None:
        alive = {broker for broker, alive in self._cluster.brokers().items() if alive}
        states = ongoing.values()
        targets = Counter(broker for state in states for broker in state.adding if broker not in alive)
        sources = Counter(broker for state in states if alive.isdisjoint(state.before) for broker in state.before)
        for broker in sorted((targets | sources).keys() - self._lost):
            if broker in sources:
                reason = f"with it the only copy of partitions ({sources[broker]}): start it again"
            else:
                reason = (
                    f"partitions wait for it ({targets[broker]}): start it again, "
                    "or stop with Ctrl-C and run this again, which places them on other brokers"
                )
            self._watch.say(f"broker {broker} is lost, and {reason}")
        if back := sorted(self._lost & alive):
            self._watch.say(f"broker {', '.join(map(str, back))} is back")
            self._throttle.apply(planned.values(), {topic for topic, _ in ongoing})
        self._lost = frozenset(targets | sources)

    def _progress(
        self,
        planned: Mapping[PartitionId, ReplicaMove],
        ongoing: Mapping[PartitionId, OngoingReassignment],
        waiting: Collection[ReplicaMove],
    ) -> ReassignmentProgress:
        adding = {broker for state in ongoing.values() for broker in state.adding} - self._lost
        replica_bytes = self._cluster.replica_bytes(ongoing.keys(), adding)
        copied = sum(
            min(replica_bytes.get((*partition, broker), 0), planned[partition].log_bytes or 0)
            for partition, state in ongoing.items()
            if partition in planned
            for broker in state.adding
        )
        remaining = {*ongoing, *((move.topic, move.partition) for move in waiting)}
        done = [move for partition, move in planned.items() if partition not in remaining]
        return ReassignmentProgress(
            partitions=len(done),
            of_partitions=len(planned),
            log_bytes=copied + sum(move.bytes_to_copy or 0 for move in done),
            of_bytes=sum(move.bytes_to_copy or 0 for move in planned.values()),
        )
