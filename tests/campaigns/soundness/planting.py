"""Plant each fault in many variants, and audit three times: before the fault, with the fault, and some time later."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from tests.campaigns.soundness.broker import STUCK, TRANSACTION_MS, WELL
from tests.campaigns.soundness.comparisons import undecidable_reason
from tests.campaigns.soundness.draw import Draw, Plant
from tests.campaigns.soundness.faults import FAULTS, SCHEMA, SCHEMA_FILE, hung, uncleanable
from tests.campaigns.soundness.hostile import GUESTS, Guest, Survived, write_files
from tests.campaigns.soundness.rounds import Stage, Tally
from tests.campaigns.soundness.scenario import History, Record
from tests.campaigns.soundness.scene import Scene, Works
from tests.campaigns.soundness.workload import Workload, running_workload
from topicwarden.model.finding import Finding
from topicwarden.model.verdict import ReadScope, Verdict

AT_ONCE: Final = 160
_FILL_S, _SETTLE_S = 4.0, 8.0
_GRACE_S, _LONG_GRACE_S = 11.0, TRANSACTION_MS / 1000 + 16.0
"""Seconds that an audit waits for the cleaner; and the longest wait, for a transaction and the coordinator's check."""


@dataclass
class Found:
    """By fault: how many were planted, and how many were found no later than the second audit after planting."""

    planted: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    at_once: Counter[str] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)
    hostile: Survived = field(default_factory=Survived)


@dataclass(frozen=True)
class _Planted:
    """A history with the name of its fault. ``fault`` is empty for other histories in the same session."""

    fault: str
    history: History

    @property
    def plant(self) -> Plant | None:
        return FAULTS[self.fault].plant if self.fault else None


def plant(stage: Stage, variants: int, seed: int, tally: Tally, beside: Sequence[History] = ()) -> Found:
    """Plant all faults, and audit them. Faults that need a broken broker are planted on a broken broker.

    The first session on a working broker also has random histories (``beside``), and everything that must not stop an
    audit.
    """
    (stage.room.project.topics / SCHEMA_FILE).write_text(json.dumps(SCHEMA), encoding="utf-8")
    write_files(stage.room.project)
    found = Found()
    for stuck in (False, True):
        current = list(_planted(stuck, variants, seed))
        for begin in range(0, len(current), AT_ONCE):
            prefix = f"{'t' if stuck else 'f'}{begin}-"
            some = [_Planted(one.fault, _named(one.history, prefix)) for one in current[begin : begin + AT_ONCE]]
            first = begin == 0 and not stuck
            guests = list(_guests(variants, seed, prefix)) if first else []
            others = [_Planted("", _named(one, prefix)) for one in beside] if first else []
            hosts = [_Planted("", guest.history) for _, guest in guests]
            tally.histories += len(others)
            since = random.Random(f"{seed}/{prefix}").choice((ReadScope.ALL, ReadScope.LAST))
            looks = _session(stage, prefix, [*some, *others, *hosts], stuck, since)
            for before, scene in zip((None, *looks), looks, strict=False):
                tally.add(scene, before)
            for one in some:
                _count(one, looks, found)
            for kind, guest in guests:
                found.hostile.count(kind, guest, looks[-1])
    return found


def _planted(stuck: bool, variants: int, seed: int) -> Iterator[_Planted]:
    for variant in range(variants):
        for number, (name, fault) in enumerate(FAULTS.items()):
            if fault.stuck is stuck:
                own = f"{seed}/{name}/{variant}"
                history = fault.plant(Draw(f"{number}-{variant}", random.Random(own)))
                yield _Planted(name, replace(history, seed=own))


def _guests(variants: int, seed: int, prefix: str) -> Iterator[tuple[str, Guest]]:
    for variant in range(variants):
        for number, (kind, invite) in enumerate(GUESTS.items()):
            own = f"{seed}/{kind}/{variant}"
            guest = invite(Draw(f"h{number}-{variant}", random.Random(own)))
            yield kind, replace(guest, history=_named(replace(guest.history, seed=own), prefix))


def _session(stage: Stage, prefix: str, current: Sequence[_Planted], stuck: bool, since: ReadScope) -> list[Scene]:
    doomed = [one.history.topic.name for one in current if one.plant is uncleanable]
    stage.room.restart(STUCK if stuck else WELL, kill=True)
    stage.cleaner = not stuck
    works = Works(not stuck, not stuck, not stuck)
    history = str(stage.room.folder / f"history-{prefix}{time.time_ns()}")
    with stage.room.holding() if stuck else nullcontext(), running_workload(stage.room.servers) as workload:
        workload.begin(one.history for one in current)
        workload.run(0, _FILL_S if any(not one.fault for one in current) else 0.0)
        looks = [stage.look(workload, prefix, history, None, works)]
        if doomed:
            workload.abort({topic: [Record(0, b"aborted", b"{}")] for topic in doomed})
        workload.run(1, _FILL_S)
        begun = _hang(workload, [one.history.topic.name for one in current if one.plant is hung])
        _spoil(stage.room.data, workload, doomed)
        time.sleep(_SETTLE_S)
        for waits in (0.0, _LONG_GRACE_S if stuck else _GRACE_S):
            if waits:
                workload.run(2, max(0.0, waits - (looks[-1].report.finished - looks[-1].report.started) / 1000))
            scene = stage.look(workload, prefix, history, looks[-1], works, since=since)
            looks.append(replace(scene, hung={name: (time.time() - since) * 1000 for name, since in begun.items()}))
        _write_indexes(stage.room.data, doomed, b"\0\0")
        workload.end()
    if stuck:
        stage.room.restart(WELL, kill=True)
        stage.cleaner = True
    return looks


def _named(history: History, prefix: str) -> History:
    name = prefix + history.topic.name
    declared = replace(history.declared, name=name) if history.declared else None
    if declared and declared.contents.references:
        rules = tuple(rule.model_copy(update={"topic": prefix + rule.topic}) for rule in declared.contents.references)
        declared = replace(declared, contents=declared.contents.model_copy(update={"references": rules}))
    return replace(history, topic=replace(history.topic, name=name), declared=declared)


def _hang(workload: Workload, topics: Sequence[str]) -> dict[str, float]:
    """Begin transactions that never end; return the start time of each.

    The coordinator loses the topic in which it remembers transactions, and creates it again for the next producer.
    """
    begun = workload.hang({topic: [Record(0, b"key", b"{}")] for topic in topics})
    if begun:
        workload.lose_transactions()
    return begun


def _spoil(data: Path, workload: Workload, topics: Sequence[str]) -> None:
    """Write an unknown version into the index of aborted transactions, so that the cleaner gives up."""
    _write_indexes(data, topics, b"\x7f\xff")
    for topic in topics:
        workload.configure(topic, {"min.cleanable.dirty.ratio": "0.01"})
        workload.truths[topic].config["min.cleanable.dirty.ratio"] = "0.01"


def _write_indexes(data: Path, topics: Sequence[str], version: bytes) -> None:
    """Write a version into the indexes.

    A starting broker rejects an index of another version, so the caller restores the right version in the end.
    """
    for path in (path for topic in topics for path in (data / f"{topic}-0").glob("*.txnindex")):
        if path.stat().st_size:
            with path.open("r+b") as file:
                file.write(version)


def _is_hidden(finding: Finding, scene: Scene) -> bool:
    """Return whether a finding is undecidable, and the oracle finds the reason in the logs."""
    return finding.verdict is Verdict.UNDECIDABLE and bool(undecidable_reason(scene, finding.topic))


def _count(one: _Planted, looks: Sequence[Scene], found: Found) -> None:
    found.planted[one.fault] += 1
    seen = [
        number
        for number, scene in enumerate(looks)
        for finding in scene.report.of_topic(one.history.topic.name)
        if finding.check in FAULTS[one.fault].found_by
        if finding.verdict is Verdict.FAIL or (FAULTS[one.fault].hidden and _is_hidden(finding, scene))
    ]
    if not seen:
        findings = looks[-1].report.of_topic(one.history.topic.name)
        reported = {
            finding.check: f"{finding.verdict.value} {finding.message}" for finding in findings if finding.message
        }
        found.missed.append(f"{one.fault} (seed {one.history.seed}): {reported} | {one.history.topic}")
        return
    found.found[one.fault] += 1
    found.at_once[one.fault] += min(seen) < 2
