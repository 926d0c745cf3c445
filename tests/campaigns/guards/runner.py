"""Run scenarios on the brokers step by step, and judge each step."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.campaigns.guards.cluster import HurriedCluster, TopicState
from tests.campaigns.guards.declared import Copied, ProjectFiles, days_later, in_force
from tests.campaigns.guards.judge import Before, Fault, Prediction, judge
from tests.campaigns.guards.scenario import (
    EDITS,
    IMPORTED,
    MOVED,
    Action,
    AddPartitionsByHand,
    Command,
    Commit,
    DaysPass,
    DeleteByHand,
    ImportAlias,
    InState,
    RestoreState,
    Scenario,
    SetByHand,
    StateCommand,
    Step,
    Verb,
    Write,
)
from topicwarden.model.planned_change import PlanReport, PreviewResult, Severity
from topicwarden.model.problem import Refusal
from topicwarden.model.topic import Allowance, AllowedChange


@dataclass(frozen=True)
class Violation:
    """A fault, and the step that revealed it."""

    scenario: str
    step: int
    command: str
    fault: Fault

    def __str__(self) -> str:
        return f"{self.scenario} step {self.step} `{self.command}`: {self.fault}"


@dataclass
class Tally:
    """The counts over all scenarios."""

    sequences: int = 0
    scenarios: int = 0
    steps: int = 0
    refused: int = 0
    commands: Counter[str] = field(default_factory=Counter)
    """Commands by result."""
    invalid: int = 0
    """Steps with invalid YAML, and therefore without a plan."""
    destroyed: int = 0
    weakened: int = 0
    predictions: list[Prediction] = field(default_factory=list)
    unsettled: int = 0
    interrupted: list[str] = field(default_factory=list)
    """Scenarios that the test itself could not complete, and why."""
    violations: list[Violation] = field(default_factory=list)

    def lines(self) -> Iterable[str]:
        """Yield the counts, one line each."""
        lossy = [one for one in self.predictions if one.lost]
        yield f"{self.sequences} sequences in {self.scenarios} projects, {self.steps} steps"
        yield f"{self.refused} plans refused, {self.invalid} steps with invalid YAML"
        yield "commands: " + ", ".join(f"{number} {how}" for how, number in sorted(self.commands.items()))
        yield (
            f"losses predicted and allowed: {len(self.predictions)}, {len(lossy)} of them happened within the step: "
            f"{sum(one.predicted == one.lost for one in lossy)} exactly, "
            f"{sum(one.predicted > one.lost for one in lossy)} within the bound"
        )
        yield f"topics destroyed: {self.destroyed}; settings or replicas weakened as allowed: {self.weakened}"
        yield f"steps in which the brokers did not settle in time: {self.unsettled}"
        yield from (f"interrupted: {one}" for one in self.interrupted)
        yield f"violations: {len(self.violations)}"


@dataclass(frozen=True)
class _Judged:
    """The last step and its judgement."""

    number: int
    shown: str
    known: Before
    command: Command
    faults: list[Fault]


class Run:
    """A run of one scenario on the brokers."""

    def __init__(self, cluster: HurriedCluster, scenario: Scenario, folder: Path, tally: Tally) -> None:
        self._cluster, self._scenario, self._tally = cluster, scenario, tally
        self._prefix = scenario.name
        self._files = ProjectFiles(folder, scenario.topics, cluster.servers)
        self._deployed: dict[str, tuple[Allowance, ...]] = {}
        """By topic: the allows in the YAML that was deployed last."""
        self._first_deployed: dict[str, tuple[Allowance, ...]] = {}
        """The same for the exported state."""
        self._last: _Judged | None = None
        self._went_through = False
        self._nudges = 0

    def run(self) -> None:
        """Deploy the topics, fill them, and take every step; delete the topics afterwards."""
        try:
            if not self.begin():
                return
            self._tally.scenarios += 1
            self._tally.sequences += len(self._scenario.topics)
            for number, step in enumerate(self._scenario.steps):
                self._tally.steps += 1
                self.step(number, step)
            self._judge_again(len(self._scenario.steps))
        finally:
            self._cluster.delete_all(self._prefix)

    def begin(self) -> bool:
        """Deploy the topics and fill them; return whether this succeeded."""
        done = self._files.pulumi("up", "--yes", "--skip-preview")
        if done.returncode:
            self._tally.interrupted.append(f"{self._scenario.name}: not begun: {_short(done.stdout + done.stderr)}")
            return False
        self._note_deployed(self._files.topics)
        self._first_deployed = dict(self._deployed)
        if any(isinstance(action, RestoreState) for step in self._scenario.steps for action in step.actions):
            self._files.export_state()
        if any("b" in step.servers for step in self._scenario.steps):
            self._cluster.create_twins([start.name for start in self._scenario.topics])
        for start in self._scenario.topics:
            for write in start.writes:
                self._write(write, range(start.partitions))
        self._settle()
        return True

    def step(self, number: int, step: Step) -> None:
        """Take one step: actions, plan, command. Then judge the outcome."""
        self._judge_again(number)
        copied = self._files.copied()
        stirred = [self._act(action) for action in step.actions]
        if any(stirred):
            self._settle()
        self._files.write()
        before, twins = self._cluster.observe(self._prefix), self._twins(step)
        if step.broker_down is not None:
            self._cluster.stop(step.broker_down)
        try:
            plan = self._planned(number, step, copied)
            if plan is not None:
                self._command(number, step, plan)
        finally:
            if step.broker_down is not None:
                self._cluster.start(step.broker_down)
        self._nudge()
        self._settle()
        after = self._cluster.observe(self._prefix)
        if changed := sorted(map(str, self._twins(step) ^ twins)):
            self._violated(number, str(step.command), Fault("other-cluster", "", f"changed: {changed[:5]}"))
        if plan is None:  # nothing may have changed
            command, known = Command(), self._known(before, empty_plan())
        else:
            command, known = step.command, self._known(before, plan)
        result = judge(known, command, after, int(time.time() * 1000))
        self._last = _Judged(number, "refused" if plan is None else str(command), known, command, result.faults)
        for fault in result.faults:
            self._violated(number, self._last.shown, fault)
        self._tally.predictions += result.predictions
        self._tally.destroyed += result.destroyed
        self._tally.weakened += result.weakened
        if plan is not None and command.runs_program:
            reached = frozenset(name for name in self._files.topics if not _left_out(name, command))
            self._note_deployed(reached if self._went_through else reached & self._unprotected_as_declared())

    def _unprotected_as_declared(self) -> frozenset[str]:
        """Return the topics that allow their deletion and are not protected: a failed command has deployed them.

        Without the word in the YAML, an earlier deploy has lifted the protection, and its words still hold: the command
        may have ended before it deployed anything.
        """
        topics = self._files.topics
        return frozenset(
            name for name in topics.keys() & self._files.unprotected() if AllowedChange.DELETE in topics[name].allowed()
        )

    def _twins(self, step: Step) -> frozenset[object]:
        return self._cluster.twins(self._prefix) if "b" in step.servers else frozenset()

    def _judge_again(self, number: int) -> None:
        """Judge the last step by the current state, because the brokers may have deleted records since then."""
        if self._last is None:
            return
        result = judge(
            self._last.known, self._last.command, self._cluster.observe(self._prefix), int(time.time() * 1000)
        )
        reported = {(fault.kind, fault.topic) for fault in self._last.faults}
        for fault in result.faults:
            if (fault.kind, fault.topic) not in reported:
                self._violated(self._last.number, f"{self._last.shown}, seen before step {number}", fault)

    def _planned(self, number: int, step: Step, copied: Copied) -> PlanReport | None:
        """Return the plan for the command, or None if no plan is accepted.

        If a plan is refused, `pulumi up` must fail too. Then the requested allows are written or the edits are
        reverted, and the plan is made again.
        """
        plan = self._plan()
        if plan is None:
            self._tally.invalid += 1
        if plan is not None and not plan.refused:
            if step.preview:
                self._previewed(number, plan)
            return plan
        if plan is not None:
            self._tally.refused += 1
        self._must_be_refused(number, step, plan)
        if step.command.verb is Verb.DESTROY and plan is not None:
            return plan
        self._repair(plan, step, copied)
        again = self._plan()
        if again is not None and again.refused:
            self._give_in(again)
            again = self._plan()
        return again if again is not None and not again.refused else None

    def _plan(self) -> PlanReport | None:
        try:
            return self._files.plan()
        except Refusal:
            return None

    def _must_be_refused(self, number: int, step: Step, plan: PlanReport | None) -> None:
        output = "YAML that does not hold" if plan is None else "a refused plan"
        commands = [["up", "--yes", "--skip-preview", *step.command.flags]]
        if not step.command.deploys:
            commands = [["up", "--yes", "--skip-preview"]]
        if step.preview:
            commands.append(["preview"])
        for command in commands:
            done = self._files.pulumi(*command)
            if done.returncode == 0:
                refused = [] if plan is None else [one.topic for one in plan.topics if one.severity is Severity.REFUSED]
                self._violated(number, " ".join(command), Fault("disagree", ", ".join(refused), f"accepted {output}"))
            self._stop_at_traceback(number, command, done.stdout + done.stderr)

    def _previewed(self, number: int, plan: PlanReport) -> None:
        done = self._files.pulumi("preview")
        if (done.returncode == 0) != plan.engine.ran:
            fault = Fault("disagree", "", f"plan accepts ({plan.engine.ran}), preview says {_short(done.stdout)}")
            self._violated(number, "preview", fault)

    def _command(self, number: int, step: Step, plan: PlanReport) -> None:
        command = step.command
        with self._files.connected_to(self._cluster.addresses(step.servers)):
            done = self._ran(command, twice=step.twice)
        self._went_through = done.returncode == 0
        words = [command.verb.value, *command.flags, *([command.per_topic] if command.per_topic else [])]
        self._tally.commands[f"{' '.join(words)} {'done' if self._went_through else 'failed'}"] += 1
        self._stop_at_traceback(number, words, done.stdout + done.stderr)
        alone = step.servers == "a" and not step.twice
        if alone and command.plain and self._went_through != plan.engine.ran:
            output = done.stdout + done.stderr
            accused = ", ".join(one.topic for one in plan.topics if f"'{one.topic}'" in output)
            described = f"plan's engine ran: {plan.engine.ran} {plan.engine.errors}; up said {_short(output)}"
            self._violated(number, str(command), Fault("disagree", accused, described))

    def _ran(self, command: Command, *, twice: bool) -> subprocess.CompletedProcess[str]:
        if command.verb in (Verb.REBALANCE, Verb.DEPLOY):
            return self._files.shell.topicwarden(*command.verb.value.split()[-1:], "--stack", "dev", "--yes")
        flags = list(command.flags)
        for topic in command.topics:
            flags += [command.per_topic, self._files.urn(topic, command.suffix)]
        if "--preview-only" not in flags:
            flags += ["--yes", "--skip-preview"]
        if not twice:
            return self._files.pulumi(command.verb.value, *flags)
        with self._files.beside(command.verb.value, *flags) as other:
            time.sleep(1)
            done = self._files.pulumi(command.verb.value, *flags)
            # One of the two may have found the stack locked.
            done.returncode = min(done.returncode, other.wait(300))
        return done

    def _stop_at_traceback(self, number: int, command: Iterable[str], output: str) -> None:
        if "Traceback" in output:
            self._violated(number, " ".join(command), Fault("traceback", "", _short(output)))

    def _repair(self, plan: PlanReport | None, step: Step, copied: Copied) -> None:
        """Write every permit for some refused topics, and revert the others; revert all if the YAML is invalid."""
        if plan is None:
            self._files.revert(copied)
            return
        edited = self._files.topics
        for one in plan.topics:
            if one.severity is not Severity.REFUSED or one.topic not in edited:
                continue
            if one.topic in step.repaired:
                edited[one.topic].allowances = tuple(map(Allowance, AllowedChange))
            elif one.topic in copied.topics:
                edited[one.topic] = copied.topics[one.topic]
        self._files.write()

    def _give_in(self, plan: PlanReport) -> None:
        """Repair everything that ``plan`` still refuses: the YAML, and what was done to the state."""
        edited = self._files.topics
        for one in plan.topics:
            if one.severity is not Severity.REFUSED or one.topic not in edited:
                continue
            topic = edited[one.topic]
            kinds = {each.kind for each in one.consequences if each.severity is Severity.REFUSED}
            topic.present, topic.allowances = "foreign" not in kinds, tuple(map(Allowance, AllowedChange))
            if "duplicate" in kinds:
                self._files.pulumi("state", "untaint", self._files.urn(one.topic), "--yes")
                for suffix in (IMPORTED, MOVED):
                    urn = self._files.urn(one.topic, suffix)
                    self._files.pulumi("state", "delete", urn, "--force", "--yes")
        self._files.write()

    def _known(self, before: Mapping[str, TopicState], plan: PlanReport) -> Before:
        topics = self._files.topics
        deletable = frozenset(
            name for name, allowances in self._deployed.items() if AllowedChange.DELETE in in_force(allowances)
        )
        return Before(
            before,
            plan,
            {name: topic.allowed() for name, topic in topics.items() if topic.present},
            deletable,
            frozenset(name for name, topic in topics.items() if topic.present),
        )

    def _note_deployed(self, names: Iterable[str]) -> None:
        for name in list(names):
            topic = self._files.topics[name]
            if topic.present:
                self._deployed[name] = topic.allowances

    def _act(self, action: Action) -> bool:
        """Carry out an action; return whether the brokers may need time to settle afterwards."""
        if isinstance(action, EDITS):
            self._files.edit(action)
        elif isinstance(action, InState | RestoreState | DaysPass | ImportAlias):
            self._change_state(action)
        else:
            return self._change_cluster(action)
        return False

    def _change_cluster(self, action: SetByHand | AddPartitionsByHand | DeleteByHand | Write | Commit) -> bool:
        match action:
            case SetByHand():
                return self._cluster.set_by_hand(action.topic, action.settings)
            case AddPartitionsByHand():
                return self._cluster.add_partitions(action.topic, action.partitions)
            case DeleteByHand():
                return self._cluster.delete(action.topic)
        live = self._cluster.observe(self._prefix).get(action.topic)
        if live is not None and isinstance(action, Commit):
            self._cluster.commit(f"{action.topic}-readers", action.topic, action.offset)
        if live is not None and isinstance(action, Write):
            self._write(action, sorted(live.partitions))
        return live is not None

    def _change_state(self, action: InState | RestoreState | DaysPass | ImportAlias) -> None:
        match action:
            case InState():
                self._change_resource(action)
            case RestoreState():
                if self._files.restore_state():
                    self._deployed = dict(self._first_deployed)
            case DaysPass():
                if self._files.days_pass():
                    self._deployed = {name: days_later(allowances) for name, allowances in self._deployed.items()}
            case ImportAlias():
                words = ("import", "kafka:index/topic:Topic", f"{action.topic}{IMPORTED}", action.topic)
                self._files.pulumi(*words, "--protect=false", "--yes", "--generate-code=false", "--skip-preview")

    def _change_resource(self, action: InState) -> None:
        urn = self._files.urn(action.topic)
        match action.command:
            case StateCommand.MOVE:
                self._files.move(action.topic)
            case StateCommand.RENAME:
                self._files.pulumi("state", "rename", urn, f"{action.topic}{MOVED}", "--yes")
            case StateCommand.DELETE:
                self._files.pulumi("state", "delete", urn, "--force", "--yes")
            case _:
                self._files.pulumi("state", action.command.value, urn, "--yes")

    def _write(self, write: Write, partitions: Iterable[int]) -> None:
        self._cluster.append(write, list(partitions))

    def _nudge(self) -> None:
        live = self._cluster.observe(self._prefix)
        self._nudges += 1
        self._cluster.nudge({name: sorted(state.partitions) for name, state in live.items()}, self._nudges)

    def _settle(self) -> None:
        self._tally.unsettled += not self._cluster.settle(self._prefix)

    def _violated(self, step: int, command: str, fault: Fault) -> None:
        self._tally.violations.append(Violation(self._scenario.name, step, command, fault))


def _left_out(name: str, command: Command) -> bool:
    if "target" in command.per_topic:
        return name not in command.topics
    return command.per_topic == "--exclude" and name in command.topics


def empty_plan() -> PlanReport:
    """Return a plan without changes."""
    return PlanReport(
        topicwarden="", stack="dev", cluster_id=None, taken_at=0, topics=[], unchanged=0, engine=PreviewResult(ran=True)
    )


def _short(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if "error" in line.lower() or "Traceback" in line]
    return " | ".join(lines)[:700] or output[-300:]
