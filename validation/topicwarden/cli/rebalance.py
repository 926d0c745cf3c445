"""`topicwarden rebalance`: move replicas to their target brokers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Event

from topicwarden.cli import replica_moves_text as shown
from topicwarden.cli.confirmation import confirmed, require_terminal
from topicwarden.cli.declared_topics import declared
from topicwarden.cli.find_pulumi import engine_of, writing_engine_of
from topicwarden.cli.interrupt import interruptible
from topicwarden.cli.waiting import waiting
from topicwarden.deploy.refresh import refresh, stale
from topicwarden.deploy.stack_state import read_stack_state
from topicwarden.kafka.connection import Connection
from topicwarden.kafka.reassignment_admin import ReassignmentSession, open_reassignment_session
from topicwarden.kafka.stack_connection import connect_to
from topicwarden.kafka.throttle_admin import REPLICAS
from topicwarden.model.message_text import counted
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.model.topic_selection import none_selected, selected
from topicwarden.model.units import SIZE
from topicwarden.plan.cluster_identity import check_cluster
from topicwarden.plan.placement.replica_placement import ReplicaMove
from topicwarden.rebalance.reassignment import ReassignmentResult, ReassignmentRunner
from topicwarden.rebalance.targets import targets
from topicwarden.rebalance.throttling import ReplicationThrottle, ThrottleRemoval, remove_lists_command
from topicwarden.specs.resolve import Declaration

UNLIMITED = "unlimited"


@dataclass(frozen=True)
class RebalanceOptions:
    """The command-line options besides the stack and the topics."""

    throttle: str
    dry_run: bool = False
    cancel: bool = False
    yes: bool = False
    refresh: bool = True


def rebalance(stack: str, patterns: Sequence[str], options: RebalanceOptions) -> int:
    """Move the replicas that are not on their target brokers, and return the exit code.

    Returns 1 if the declared replication factor or placement cannot be reached.
    """
    rate = _rate(options.throttle)
    project = find_project()
    connection = connect_to(project, stack)
    declarations = declared(project, stack, "placed")
    chosen = tuple(declaration for declaration in declarations if selected(declaration.topic.name, patterns))
    if not chosen:
        raise none_selected("declared topic", patterns, (each.topic.name for each in declarations))
    refreshing = options.refresh and not (options.dry_run or options.cancel)
    engine = writing_engine_of(project, stack) if refreshing else None
    if engine is not None:
        engine.require_stack(remedy="--no-refresh does not use Pulumi's state")
    names = frozenset(declaration.topic.name for declaration in declarations)
    stop = Event()
    with open_reassignment_session(connection) as session:
        _check_service(session)
        _check_cluster(project, stack, connection, session)
        run = _Run(stack, session, names, chosen, rate, stop)
        if options.cancel:
            return run.cancel()
        code = run.move(options)
        factors = run.factors()
    if engine is not None and not stop.is_set() and (urns := stale(engine, factors)):
        with waiting("refreshing Pulumi's state"):
            refresh(engine, urns)
        print(f"refreshed {counted(len(urns), 'topic')} in Pulumi's state")
    return code


def _check_cluster(project: Project, stack: str, connection: Connection, session: ReassignmentSession) -> None:
    """Raise Refusal if the stack was deployed to another cluster. Without Pulumi's state, nothing is compared."""
    try:
        deployed = read_stack_state(engine_of(project, stack))
    except Refusal:
        return
    if remark := check_cluster(stack, connection, deployed, session.cluster.snapshot(deployed.topics)):
        print(remark)


def _check_service(session: ReassignmentSession) -> None:
    """Raise Refusal if the service is known to have no replicas that can be moved."""
    service = session.cluster.service
    if missing := service.missing_api("AlterPartitionReassignments"):
        raise Refusal(f"{service.title} has no {missing.name}: {missing.effect} ({missing.source})")


@dataclass(frozen=True)
class _Run:
    """One run on the cluster of a stack. ``names`` are all topics of the stack, ``chosen`` the selected ones."""

    stack: str
    session: ReassignmentSession
    names: frozenset[str]
    chosen: tuple[Declaration, ...]
    rate: int | None
    stop: Event

    @property
    def throttle(self) -> ReplicationThrottle:
        return ReplicationThrottle(self.session, self.names, self.rate)

    def move(self, options: RebalanceOptions) -> int:
        """Print the moves and, unless it is a dry run, carry them out; return the exit code."""
        with waiting("reading the cluster"):
            target = targets(self.session, self.names, self.chosen)
        placed, under_way = target.placement, target.under_way
        for reduction in target.reductions:
            if reduction.problem is None:
                print(reduction.message)
        for problem in placed.problems:
            print(problem)
        for stuck in placed.stuck:
            print(f"{stuck.topic}, partition {stuck.partition}: {stuck.reason}")
        if under_way:
            print(f"already in progress: {counted(len(under_way), 'partition')}")
        unplaced = bool(placed.problems or placed.stuck)
        if placed.moves:
            shown.show(placed.moves, self.rate)
        elif not under_way and not unplaced:
            print(f"nothing to move: {counted(len(self.chosen), 'topic')} as declared")
        code = 1 if unplaced else 0
        if options.dry_run:
            return code
        if placed.moves and not options.yes:
            self._confirm(len(placed.moves))
        if not placed.moves and not under_way:
            return max(self._report_released(self.throttle.remove(), left_behind=True), code)
        return max(self._carry_out(placed.moves, under_way), code)

    def _confirm(self, partitions: int) -> None:
        require_terminal(f"topicwarden rebalance --stack {self.stack} --dry-run")
        if not confirmed(f"Move {counted(partitions, 'partition')}?"):
            raise Refusal("nothing was moved")

    def cancel(self) -> int:
        """Cancel the ongoing moves of the selected topics, and return the exit code."""
        with interruptible(self.stop), shown.watching(self.stop) as watch:
            runner = ReassignmentRunner(self.session, self.names, self.throttle, watch)
            ongoing = [topic for topic, _ in runner.ongoing() if self._is_chosen(topic)]
            outcome = runner.cancel(set(ongoing))
        for (topic, partition), reason in sorted(outcome.refused.items()):
            print(f"{topic}, partition {partition}: not cancelled: {reason}")
        print(f"cancelled: {counted(len(ongoing) - len(outcome.refused) - outcome.in_progress, 'partition')}")
        return max(self._report_released(outcome.released, left_behind=True), 1 if outcome.refused else 0)

    def factors(self) -> Mapping[str, int]:
        """Return the current replication factors of the stack's topics."""
        live = self.session.cluster.snapshot(self.names).topics
        return {name: live_topic.topic.replication_factor for name, live_topic in live.items()}

    def _carry_out(self, moves: Sequence[ReplicaMove], under_way: Sequence[ReplicaMove]) -> int:
        with interruptible(self.stop), shown.watching(self.stop) as watch:
            outcome = ReassignmentRunner(self.session, self.names, self.throttle, watch).run(moves, under_way)
        for (topic, partition), reason in sorted(outcome.refused.items()):
            print(f"{topic}, partition {partition}: not moved: {reason}")
        if self.stop.is_set():
            return self._report_stopped(outcome)
        self.session.reassignment.elect_preferred(
            [(move.topic, move.partition) for move in (*moves, *under_way) if _leader_changes(move)]
        )
        remaining = targets(self.session, self.names, self.chosen).placement
        done = len(moves) + len(under_way) - len(outcome.refused)
        print(f"moved: {counted(done, 'partition')}")
        if remaining.moves and not outcome.refused:
            print(f"still not on the target brokers: {counted(len(remaining.moves), 'partition')}; {self._again()}")
        code = self._report_released(outcome.released, left_behind=False)
        return 1 if remaining.moves or outcome.refused else code

    def _report_stopped(self, outcome: ReassignmentResult) -> int:
        """Print the state of the moves after an interrupt, and return the exit code."""
        if outcome.in_progress:
            throttled = "unthrottled" if self.rate is None else "throttled"
            started = f"{counted(outcome.in_progress, 'partition')} still moving, {throttled}"
            waiting = f"{counted(outcome.not_started, 'partition')} not started"
            print(f"stopped: {started}; {waiting}; {self._again()}, or cancel the ongoing moves with --cancel")
        else:
            print(f"stopped: no partition is moving; {counted(outcome.not_started, 'partition')} not started")
        return 1

    def _report_released(self, released: ThrottleRemoval, left_behind: bool) -> int:
        if left_behind and released.topics:
            brokers = ", ".join(map(str, released.brokers)) or "none"
            topics = ", ".join(released.topics)
            print(f"removed the replication throttle of an earlier run: brokers {brokers}; topics {topics}")
        for broker, rates in released.unused.items():
            settings = ", ".join(f"{name}={value}" for name, value in rates.items())
            print(f"broker {broker}: removed an unused replication throttle ({settings})")
        for broker, reason in released.retained.items():
            print(f"broker {broker} may keep a replication throttle, because {reason}: {self._again()} later")
        for broker, reason in released.used_by_others.items():
            print(f"broker {broker} keeps a replication throttle that topicwarden did not set, {reason}")
        for topic in released.lists_of_others:
            if not self._declares_throttle(topic):
                print(
                    f"{topic} keeps a throttle list that topicwarden did not write: if no other tool needs it, "
                    f"remove it with `{remove_lists_command(topic)}`"
                )
        return 1 if released.retained else 0

    def _declares_throttle(self, topic: str) -> bool:
        """Return True if the YAML of ``topic`` declares a throttle list, which is then not reported as foreign."""
        return any(each.topic.name == topic and each.topic.config.keys() & {*REPLICAS} for each in self.chosen)

    def _is_chosen(self, topic: str) -> bool:
        return any(declaration.topic.name == topic for declaration in self.chosen)

    def _again(self) -> str:
        return f"run `topicwarden rebalance --stack {self.stack}` again"


def _leader_changes(move: ReplicaMove) -> bool:
    return move.before[0] != move.after[0]


def _rate(throttle: str) -> int | None:
    if throttle == UNLIMITED:
        return None
    try:
        rate = SIZE.parse(throttle)
    except ValueError as error:
        raise Refusal(f"--throttle: {error}, or {UNLIMITED}") from error
    if rate < 1:
        raise Refusal(f"--throttle {throttle}: expected at least 1 byte per second, or {UNLIMITED}")
    return rate
