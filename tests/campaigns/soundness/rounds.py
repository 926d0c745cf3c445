"""Run rounds of many histories at once: three audits each, and broker faults between the audits.

Suspects are followed from audit to audit: a suspect that no later audit settles is noise.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from pyspark.sql import SparkSession

from tests.campaigns.soundness.broker import CLEANER_OFF, WELL, Room
from tests.campaigns.soundness.comparisons import MISSED, compared_rules
from tests.campaigns.soundness.contents import counted, inexact
from tests.campaigns.soundness.hostile import FUNCTION
from tests.campaigns.soundness.logs import read_logs
from tests.campaigns.soundness.oracle import denied
from tests.campaigns.soundness.scenario import PHASES, Chance, declaration
from tests.campaigns.soundness.scene import Scene, Works
from tests.campaigns.soundness.workload import Workload, running_workload
from topicwarden.audit.request import AuditRequest
from topicwarden.audit.run import audit
from topicwarden.model.finding import AuditReport, Finding, SettledFinding
from topicwarden.model.verdict import ReadScope, Verdict

LEAST_PRECISION: Final = 0.95
GONE: Final = "topic gone"
NEVER: Final = "not looked at again"
_SETTLED: Final = (Verdict.FAIL.value, Verdict.PASS.value)


@dataclass
class Outcomes:
    """The number of suspects with each outcome at the next audit, one for each partition of a finding."""

    counted: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By check and outcome: a verdict, ``GONE`` or ``NEVER``."""
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By check: the reason why a suspect passed, with its numbers removed."""
    unsettled: list[str] = field(default_factory=list)

    def add(self, before: Scene, now: Scene) -> None:
        """Count the result of the audit ``now`` for each suspect of the audit ``before``."""
        for check, topic, partition, message in _suspects(before):
            settled = _settled(now, check, topic, partition)
            outcome = settled.now.value if settled else NEVER
            if settled is None and not _same_topic(before, now, topic):
                outcome = GONE
            self.counted[check, outcome] += 1
            if settled and settled.now is Verdict.PASS:
                self.reasons[check, _without_numbers(settled.why)] += 1
            if outcome not in (*_SETTLED, GONE):
                why = settled.why if settled else NEVER
                self.unsettled.append(f"{check} on {topic} [{partition}] ({outcome}): {message} | {why}")

    @property
    def judged(self) -> int:
        """Return the number of suspects whose topics the next audit saw again."""
        return sum(number for (_, outcome), number in self.counted.items() if outcome != GONE)

    @property
    def precision(self) -> float:
        """Return the share of suspects that the next audit settled; 1 if there were none."""
        settled = sum(number for (_, outcome), number in self.counted.items() if outcome in _SETTLED)
        return settled / self.judged if self.judged else 1.0


def _suspects(scene: Scene) -> Iterator[tuple[str, str, int, str]]:
    for one in scene.report.findings:
        if one.verdict is Verdict.SUSPECT:
            for partition in one.partitions or (-1,):
                yield one.check, one.topic, partition, one.message


def _settled(scene: Scene, check: str, topic: str, partition: int) -> SettledFinding | None:
    of_check = (one for one in scene.report.settled if (one.check, one.topic) == (check, topic))
    return next((one for one in of_check if partition in one.partitions and one.was is Verdict.SUSPECT), None)


def _same_topic(before: Scene, now: Scene, topic: str) -> bool:
    truths = (before.truths[topic], now.truths[topic])
    return all(one.there for one in truths) and truths[0].created == truths[1].created


def _without_numbers(text: str) -> str:
    return "".join("#" if one.isdigit() else one for one in text).replace("#,", "").replace("##", "#")


AT_ONCE: Final = 75
_PHASE_SECONDS: Final = (9, 14, 17)
"""The time before each audit, in seconds.

It is longer than a healthy cleaner needs for all logs. Only then can an audit settle a suspect.
"""


@dataclass
class Tally:
    """The results of all rounds."""

    histories: int = 0
    looks: int = 0
    fails: Counter[str] = field(default_factory=Counter)
    suspects: Counter[str] = field(default_factory=Counter)
    outcomes: Outcomes = field(default_factory=Outcomes)
    exact: int = 0
    inexact: list[str] = field(default_factory=list)
    compared: Counter[str] = field(default_factory=Counter)
    """How many rules that compare records the oracle found to be broken, kept, or not decidable."""
    missed: list[str] = field(default_factory=list)
    """The rules that are broken on the disk, and that an audit neither failed nor left undecidable with a reason."""
    denied: list[str] = field(default_factory=list)

    def add(self, scene: Scene, before: Scene | None) -> None:
        """Count one audit; ``before`` is the previous audit of the same topics."""
        self.looks += 1
        self.exact += counted(scene)
        self.inexact += list(inexact(scene))
        for one in scene.report.findings:
            if one.verdict is Verdict.SUSPECT:
                self.suspects[one.check] += 1
            if one.verdict is Verdict.FAIL:
                self.fails[one.check] += 1
                if why := denied(one, scene):
                    self.denied.append(_denial_text(one, why, scene))
        for outcome, message in compared_rules(scene):
            self.compared[outcome] += 1
            self.missed += [message] if outcome == MISSED else []
        if before is not None:
            self.outcomes.add(before, scene)


def _denial_text(finding: Finding, why: str, scene: Scene) -> str:
    truth = scene.truths[finding.topic]
    return f"{finding.check} on {finding.topic} (seed {truth.history.seed}): {why} | {finding.message} | {truth.config}"


@dataclass(frozen=True)
class Event:
    """A broker fault: a restart after a crash or a clean stop. Afterwards, the cleaner is on or off."""

    kill: bool = False
    cleaner: bool = True


Course = tuple[Event | None, ...]
"""For each interval between audits: the event at its start."""
_QUIET: Final[Course] = (None, None, None)
COURSES: Final[tuple[Course, ...]] = (
    (Event(cleaner=False), None, None),
    (None, Event(kill=True), None),
    _QUIET,
    (None, None, Event(kill=False)),
    (Event(cleaner=False), None, Event(cleaner=True)),
    (None, Event(cleaner=False), None),
    (None, Event(kill=True), Event(kill=True)),
)


_SPILLS: Final = {"in.memory.threshold": 2, "spill.threshold": 5}
"""Spark compares so many records of one identity in memory, so that small histories cross these borders."""


class Stage:
    """A ``Room`` with its Spark session, and the state of the broker."""

    def __init__(self, room: Room, spark: SparkSession) -> None:
        self.room, self.spark = room, spark
        self.cleaner = True
        for name, rows in _SPILLS.items():
            spark.conf.set(f"spark.sql.windowExec.buffer.{name}", str(rows))

    def inject(self, event: Event | None) -> None:
        if event is not None:
            self.cleaner = event.cleaner
            self.room.restart(WELL if event.cleaner else CLEANER_OFF, event.kill)

    def look(
        self,
        workload: Workload,
        prefix: str,
        history: str,
        last: Scene | None,
        works: Works,
        *,
        since: ReadScope = ReadScope.ALL,
    ) -> Scene:
        """Audit all topics with this prefix, and read the logs before and after the audit."""
        truths = {name: replace(truth, config=dict(truth.config)) for name, truth in workload.truths.items()}
        declared = tuple(declaration(one.history.declared) for one in truths.values() if one.history.declared)
        request = AuditRequest(
            "dev",
            self.room.connection,
            declared,
            (f"{prefix}*",),
            history=history,
            root=self.room.project.root,
            partition_functions=frozenset({FUNCTION}),
            since=since,
        )
        before = read_logs(self.room.data, prefix)
        report: AuditReport = audit(self.spark, request, lambda _: None)
        after = read_logs(self.room.data, prefix)
        created = {one.name: one.created for one in last.truths.values() if one.there} if last else {}
        return Scene(report, before, after, truths, created, works, last is None)


def run(stage: Stage, numbers: Iterable[int], seed: int, tally: Tally) -> None:
    """Run one round: the histories with these numbers."""
    seeds = list(numbers)
    course = COURSES[seeds[0] // AT_ONCE % len(COURSES)]
    prefix = f"s{seeds[0]}-"
    names = tuple(f"{prefix}{number}" for number in seeds)
    histories = [Chance(f"{prefix}{number}", f"{seed}/{number}", names).history() for number in seeds]
    draw = random.Random(f"{seed}/{seeds[0]}/round")
    history = str(stage.room.folder / f"history-{prefix}{time.time_ns()}")
    stage.inject(Event() if not stage.cleaner else None)
    with running_workload(stage.room.servers) as workload:
        workload.begin(histories)
        last: Scene | None = None
        for phase in range(PHASES):
            was = stage.cleaner
            if course[phase]:
                stage.inject(course[phase])
                workload.reconnect()
            workload.run(phase, _PHASE_SECONDS[phase] * draw.uniform(0.8, 1.2))
            works, since = Works(cleaner=was and stage.cleaner), draw.choice((ReadScope.ALL, ReadScope.LAST))
            before, last = last, stage.look(workload, prefix, history, last, works, since=since)
            tally.add(last, before)
        workload.end()
    tally.histories += len(seeds)
