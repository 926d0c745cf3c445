"""Follow suspects from audit to audit: a suspect that no later audit settles is noise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tests.soundness.scene import Scene
from topicwarden.model.finding import SettledFinding
from topicwarden.model.verdict import Verdict

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
