"""What a check sees, and what it says. A check names a path of the YAML; only ``run`` knows lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from topicwarden.audit.counts import Counts, Pair
from topicwarden.audit.horizon import CHECK_INTERVAL, DEFAULT_CHECK_INTERVAL_MS, Horizon
from topicwarden.finding import Verdict
from topicwarden.kafka.snapshot import LiveTopic, Snapshot
from topicwarden.topic import Contents, Topic

Evidence = Mapping[str, int | float | str | None]


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reasons; ``path`` leads to the YAML that it is about, such as ``("config", "segment.ms")``."""

    verdict: Verdict
    message: str
    path: tuple[str, ...] = ()
    partitions: tuple[int, ...] = ()
    because: tuple[str, ...] = ()
    remedy: str = ""
    evidence: Evidence = field(default_factory=dict)


class Check(Protocol):
    """A module of ``checks/``: its docstring is its documentation, its name in the table its id."""

    def applies(self, subject: Subject) -> bool:
        """Whether there is anything to judge; if so, and nothing is said, the topic passes."""

    def judge(self, subject: Subject) -> Iterable[Judgement]: ...


@dataclass(frozen=True)
class Subject:
    """One topic under audit: as declared, as it is on the cluster, and what its records were found to be."""

    snapshot: Snapshot
    declared: Topic | None
    live: LiveTopic | None
    horizons: Mapping[int, Horizon]
    counts: Mapping[int, Counts]
    pairs: Mapping[int, tuple[Pair, ...]] = field(default_factory=dict)

    @property
    def contents(self) -> Contents:
        return self.declared.contents if self.declared else Contents()

    @property
    def compacted(self) -> bool:
        return self.live is not None and self.live.topic.compacted

    @property
    def settings_known(self) -> bool:
        """Whether the brokers told the topic's configuration (DescribeConfigs)."""
        return self.live is not None and bool(self.live.sources)

    @property
    def check_interval_ms(self) -> int:
        """How often the brokers look for what may be deleted."""
        return self.snapshot.broker_number(CHECK_INTERVAL, DEFAULT_CHECK_INTERVAL_MS)

    def number(self, setting: str) -> int | None:
        return self.live.topic.number(setting) if self.live else None
