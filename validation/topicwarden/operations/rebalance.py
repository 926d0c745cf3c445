"""Move the replicas of a stack's topics to their target brokers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from topicwarden.deploy.pulumi_commands import refresh, stale
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.rebalance.reassignment import ReassignmentResult, ReassignmentRunner, Watch
from topicwarden.deploy.rebalance.targets import Targets, targets
from topicwarden.deploy.rebalance.throttling import ReplicationThrottle, ThrottleRemoval
from topicwarden.deploy.stack_state import read_stack_state
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.write.reassignment_admin import ReassignmentSession, open_reassignment_session
from topicwarden.kafka_facts.throttle_settings import REPLICAS
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.topic_selection import none_selected, selected
from topicwarden.operations.declared_topics import declared
from topicwarden.operations.find_pulumi import engine_of, writing_engine_of
from topicwarden.operations.operation_options import SILENT, ProgressListener
from topicwarden.plan.cluster_identity import check_cluster
from topicwarden.plan.placement.replica_placement import ReplicaMove
from topicwarden.specs.resolve import Declaration


@dataclass(frozen=True)
class Rebalance:
    """A rebalance of one stack, on an open connection.

    ``declared`` are all topics of the stack, ``chosen`` the selected ones. ``rate`` is the throttle in bytes per
    second; None for no throttle. ``engine`` is None if Pulumi's state is not refreshed afterwards. ``remark`` is what
    could not be compared with the cluster of the last deploy. ``keeps_rate``: an earlier run has set the rate.
    """

    session: ReassignmentSession
    declared: Sequence[Declaration]
    chosen: tuple[Declaration, ...]
    rate: int | None
    engine: PulumiEngine | None
    remark: str | None
    listener: ProgressListener
    keeps_rate: bool = False

    @property
    def names(self) -> frozenset[str]:
        """The names of all topics of the stack."""
        return frozenset(declaration.topic.name for declaration in self.declared)

    def with_rate_in_force(self) -> Rebalance:
        """Return this rebalance with the throttle of an earlier run, if one is still set."""
        rate = self._throttle().rate_in_force()
        return self if rate is None else replace(self, rate=rate, keeps_rate=True)

    def targets(self) -> Targets:
        """Return the moves that the selected topics need, and what prevents others. Moves nothing."""
        with self.listener.stage("reading the cluster"):
            return targets(self.session, self.names, self.chosen)

    def move(self, target: Targets, watch: Watch) -> ReassignmentResult:
        """Move the replicas, and wait until all moves have ended or ``watch.stop`` is set."""
        outcome = self._runner(watch).run(target.placement.moves, target.under_way)
        return replace(outcome, released=self._without_declared(outcome.released))

    def complete(self, target: Targets) -> Sequence[ReplicaMove]:
        """Make the preferred replicas leaders again after ``move``, and return the moves that are still needed."""
        moves = (*target.placement.moves, *target.under_way)
        self.session.reassignment.elect_preferred(
            [(move.topic, move.partition) for move in moves if move.before[0] != move.after[0]]
        )
        return targets(self.session, self.names, self.chosen).placement.moves

    def cancel(self, watch: Watch) -> tuple[int, ReassignmentResult]:
        """Cancel the ongoing moves of the selected topics. Return their number, and the result."""
        runner, chosen = self._runner(watch), {declaration.topic.name for declaration in self.chosen}
        ongoing = [topic for topic, _ in runner.ongoing() if topic in chosen]
        outcome = runner.cancel(set(ongoing))
        return len(ongoing), replace(outcome, released=self._without_declared(outcome.released))

    def remove_throttle(self) -> ThrottleRemoval:
        """Remove a throttle that an earlier run has left."""
        return self._without_declared(self._throttle().remove())

    def refresh_state(self) -> int:
        """Refresh the topics whose replication factor differs in Pulumi's state; return their number."""
        if self.engine is None:
            return 0
        live = self.session.cluster.snapshot(self.names).topics
        factors = {name: live_topic.topic.replication_factor for name, live_topic in live.items()}
        urns = stale(self.engine, factors)
        if urns:
            with self.listener.stage("refreshing Pulumi's state"):
                refresh(self.engine, urns)
        return len(urns)

    def _throttle(self) -> ReplicationThrottle:
        return ReplicationThrottle(self.session, self.names, self.rate)

    def _runner(self, watch: Watch) -> ReassignmentRunner:
        return ReassignmentRunner(self.session, self.names, self._throttle(), watch)

    def _without_declared(self, released: ThrottleRemoval) -> ThrottleRemoval:
        """Return ``released`` without the throttle lists of others that the YAML of their topics declares."""
        declaring = {each.topic.name for each in self.declared if each.topic.config.keys() & {*REPLICAS}}
        others = tuple(topic for topic in released.lists_of_others if topic not in declaring)
        return replace(released, lists_of_others=others)


@contextmanager
def rebalancing(
    project: Project,
    stack: str,
    patterns: Sequence[str] = (),
    *,
    rate: int | None,
    resuming: bool = False,
    refreshing: bool = True,
    listener: ProgressListener = SILENT,
) -> Iterator[Rebalance]:
    """Yield a rebalance of the topics that match the globs ``patterns``, throttled to ``rate`` bytes per second.

    ``resuming``: the throttle of an earlier run applies instead of ``rate``, if it is still set. Raises Refusal, before
    anything moves, if the declarations have errors, if no topic matches, if Pulumi does not know the stack, if the
    cluster is another one than that of the last deploy, or if its service cannot move replicas.
    """
    connection = connect_to(project, stack)
    declarations = declared(project, stack, "placed")
    chosen = tuple(declaration for declaration in declarations if selected(declaration.topic.name, patterns))
    if not chosen:
        raise none_selected("declared topic", patterns, (each.topic.name for each in declarations))
    engine = writing_engine_of(project, stack, listener) if refreshing else None
    if engine is not None:
        engine.require_stack(remedy="--no-refresh does not use Pulumi's state")
    with open_reassignment_session(connection) as session:
        _check_service(session)
        remark = _check_cluster(project, stack, connection, session)
        rebalance = Rebalance(session, declarations, chosen, rate, engine, remark, listener)
        yield rebalance.with_rate_in_force() if resuming else rebalance


def _check_service(session: ReassignmentSession) -> None:
    """Raise Refusal if the service is known to have no replicas that can be moved."""
    service = session.cluster.service
    if missing := service.missing_api("AlterPartitionReassignments"):
        raise Refusal(f"{service.title} has no {missing.name}: {missing.effect} ({missing.source})")


def _check_cluster(project: Project, stack: str, connection: Connection, session: ReassignmentSession) -> str | None:
    """Raise Refusal if the stack was deployed to another cluster. Without Pulumi's state, nothing is compared."""
    try:
        deployed = read_stack_state(engine_of(project, stack))
    except Refusal:
        return None
    return check_cluster(stack, connection, deployed, session.cluster.snapshot(deployed.topics))
