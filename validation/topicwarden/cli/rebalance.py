"""`topicwarden rebalance`: replicas to where they belong."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from threading import Event

from topicwarden.cli import moves_text as shown
from topicwarden.cli.declared_topics import declared
from topicwarden.cli.find_pulumi import engine_of
from topicwarden.cli.interrupt import interruptible
from topicwarden.deploy.refresh import refresh, stale
from topicwarden.deploy.stack_state import read_stack_state
from topicwarden.kafka.connection import Connection, connect_to
from topicwarden.kafka.reassignment_admin import ReassignmentSession, open_reassignment_session
from topicwarden.kafka.throttle_admin import REPLICAS
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.plan.cluster_identity import check_cluster
from topicwarden.plan.placement.replica_placement import ReplicaMove
from topicwarden.rebalance.reassignment import ReassignmentResult, ReassignmentRunner
from topicwarden.rebalance.targets import targets
from topicwarden.rebalance.throttling import Released, ReplicationThrottle, remove_lists_command
from topicwarden.report.problems.digest import many
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.units import SIZE

UNLIMITED = "unlimited"


@dataclass(frozen=True)
class RebalanceOptions:
    """What the command line says besides the stack and the topics."""

    throttle: str
    dry_run: bool = False
    cancel: bool = False
    yes: bool = False
    refresh: bool = True


def rebalance(stack: str, patterns: Sequence[str], wish: RebalanceOptions) -> int:
    """Moves what is not where it belongs; 1 where something that is declared could not be brought about."""
    rate = _rate(wish.throttle)
    project = find_project()
    connection = connect_to(project, stack)
    declarations = declared(project, stack, "placed")
    chosen = tuple(held for held in declarations if _like(held.topic.name, patterns))
    if not chosen:
        raise Refusal(f"no declared topic is like {' or '.join(patterns)}: look at --topics")
    engine = engine_of(project, stack) if wish.refresh and not (wish.dry_run or wish.cancel) else None
    if engine is not None:
        stale(engine, {})  # a stack that Pulumi does not know is refused before anything moves
    names = frozenset(held.topic.name for held in declarations)
    stop = Event()
    with open_reassignment_session(connection) as movable:
        _check_cluster(project, stack, connection, movable)
        run = _Run(stack, movable, names, chosen, rate, stop)
        if wish.cancel:
            return run.take_back()
        code = run.move(wish)
        factors = run.factors()
    if engine is not None and not stop.is_set() and (urns := stale(engine, factors)):
        refresh(engine, urns)
        print(f"Pulumi's state agrees: refreshed {many(len(urns), 'topic')}")
    return code


def _check_cluster(project: Project, stack: str, connection: Connection, movable: ReassignmentSession) -> None:
    """Refuse another cluster than the stack was deployed to; without Pulumi's state there is nothing to compare."""
    try:
        deployed = read_stack_state(engine_of(project, stack))
    except Refusal:
        return
    if remark := check_cluster(stack, connection, deployed, movable.cluster.snapshot(deployed.topics)):
        print(remark)


@dataclass(frozen=True)
class _Run:
    """One connection to one stack's cluster, from the first look to the last; ``names`` are all of its topics."""

    stack: str
    movable: ReassignmentSession
    names: frozenset[str]
    chosen: tuple[Declaration, ...]
    rate: int | None
    stop: Event

    @property
    def brake(self) -> ReplicationThrottle:
        return ReplicationThrottle(self.movable, self.names, self.rate)

    def move(self, wish: RebalanceOptions) -> int:
        found = targets(self.movable, self.names, self.chosen)
        placed, under_way = found.placement, found.under_way
        for reduction in found.reductions:
            if reduction.problem is None:
                print(reduction.message)
        for problem in placed.problems:
            print(problem)
        for stuck in placed.stuck:
            print(f"{stuck.topic}, partition {stuck.partition}: {stuck.reason}")
        if under_way:
            print(f"under way already: {many(len(under_way), 'partition')}")
        unplaced = bool(placed.problems or placed.stuck)
        if placed.moves:
            shown.show(placed.moves, self.rate)
        elif not under_way and not unplaced:
            print(f"nothing to move: {many(len(self.chosen), 'topic')} as declared")
        code = 1 if unplaced else 0
        if wish.dry_run:
            return code
        if placed.moves and not wish.yes:
            _confirm(len(placed.moves))
        if not placed.moves and not under_way:
            return max(self._say_released(self.brake.remove(), left_behind=True), code)
        return max(self._carried_out(placed.moves, under_way), code)

    def take_back(self) -> int:
        with interruptible(self.stop), shown.watching(self.stop) as watch:
            mover = ReassignmentRunner(self.movable, self.names, self.brake, watch)
            found = [topic for topic, _ in mover.ongoing() if self._is_chosen(topic)]
            outcome = mover.cancel(set(found))
        for (topic, partition), why in sorted(outcome.refused.items()):
            print(f"{topic}, partition {partition}: not taken back: {why}")
        print(f"taken back: {many(len(found) - len(outcome.refused) - outcome.in_progress, 'partition')}")
        return max(self._say_released(outcome.released, left_behind=True), 1 if outcome.refused else 0)

    def factors(self) -> Mapping[str, int]:
        """The replication factors of the stack's topics, as they are now."""
        live = self.movable.cluster.snapshot(self.names).topics
        return {name: one.topic.replication_factor for name, one in live.items()}

    def _carried_out(self, moves: Sequence[ReplicaMove], under_way: Sequence[ReplicaMove]) -> int:
        with interruptible(self.stop), shown.watching(self.stop) as watch:
            outcome = ReassignmentRunner(self.movable, self.names, self.brake, watch).run(moves, under_way)
        for (topic, partition), why in sorted(outcome.refused.items()):
            print(f"{topic}, partition {partition}: not moved: {why}")
        if self.stop.is_set():
            return self._stopped(outcome)
        self.movable.reassignment.elect_preferred(
            [(move.topic, move.partition) for move in (*moves, *under_way) if _led_anew(move)]
        )
        left = targets(self.movable, self.names, self.chosen).placement
        done = len(moves) + len(under_way) - len(outcome.refused)
        print(f"moved: {many(done, 'partition')}")
        if left.moves and not outcome.refused:
            print(f"not where declared all the same: {many(len(left.moves), 'partition')}; {self._again()}")
        code = self._say_released(outcome.released, left_behind=False)
        return 1 if left.moves or outcome.refused else code

    def _stopped(self, outcome: ReassignmentResult) -> int:
        if outcome.in_progress:
            brake = "unthrottled" if self.rate is None else "throttled"
            begun = f"{many(outcome.in_progress, 'partition')} move on, {brake}"
            waiting = f"{many(outcome.not_started, 'partition')} not begun"
            print(f"stopped: {begun}; {waiting}; {self._again()}, or take back what moves with --cancel")
        else:
            print(f"stopped: nothing moves; {many(outcome.not_started, 'partition')} not begun")
        return 1

    def _say_released(self, released: Released, left_behind: bool) -> int:
        if left_behind and released.topics:
            brokers = ", ".join(map(str, released.brokers)) or "none"
            topics = ", ".join(released.topics)
            print(f"removed the replication throttle that was left: brokers {brokers}; topics {topics}")
        for broker, rates in released.unused.items():
            shown_rates = ", ".join(f"{name}={value}" for name, value in rates.items())
            print(f"broker {broker}: removed a replication throttle that nothing used ({shown_rates})")
        for broker, why in released.retained.items():
            print(f"broker {broker} may keep a replication throttle, as {why}: {self._again()} when that is over")
        for broker, why in released.used_by_others.items():
            print(f"broker {broker} keeps a replication throttle that is not ours, {why}")
        for topic in released.lists_of_others:
            if not self._declares_throttle(topic):
                print(
                    f"{topic} keeps a throttle list that topicwarden did not write: if nobody needs it, "
                    f"remove it with `{remove_lists_command(topic)}`"
                )
        return 1 if released.retained else 0

    def _declares_throttle(self, topic: str) -> bool:
        return any(held.topic.name == topic and held.topic.config.keys() & {*REPLICAS} for held in self.chosen)

    def _is_chosen(self, topic: str) -> bool:
        return any(held.topic.name == topic for held in self.chosen)

    def _again(self) -> str:
        return f"run `topicwarden rebalance --stack {self.stack}` again"


def _led_anew(move: ReplicaMove) -> bool:
    return move.before[0] != move.after[0]


def _rate(throttle: str) -> int | None:
    if throttle == UNLIMITED:
        return None
    try:
        rate = SIZE.parse(throttle)
    except ValueError as error:
        raise Refusal(f"--throttle: {error}, or {UNLIMITED}") from error
    if rate < 1:
        raise Refusal(f"--throttle {throttle}: expected at least one byte a second, or {UNLIMITED}")
    return rate


def _like(topic: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(topic, pattern) for pattern in patterns)


def _confirm(partitions: int) -> None:
    if not sys.stdin.isatty():
        raise Refusal("nothing was moved: say --yes where nobody can be asked, or --dry-run only to look")
    if input(f"Move {many(partitions, 'partition')}? [y/N] ").strip().lower() not in ("y", "yes"):
        raise Refusal("nothing was moved")
