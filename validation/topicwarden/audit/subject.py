"""What a check sees, and what it says. A check names a path of the YAML; only ``run`` knows lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from topicwarden.audit.counts import Counts, Pair
from topicwarden.audit.following import Following
from topicwarden.audit.history.memory import Facts, Past
from topicwarden.audit.horizon import CHECK_INTERVAL, DEFAULT_CHECK_INTERVAL_MS, Horizon
from topicwarden.audit.internal import Internal
from topicwarden.audit.placement import Placement
from topicwarden.kafka.snapshot import LiveTopic, Snapshot
from topicwarden.topic import Contents, Topic
from topicwarden.verdict import Verdict

Evidence = Mapping[str, int | float | str | None]


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reasons; ``path`` leads to the YAML that it is about, such as ``("config", "segment.ms")``.

    ``standing`` is what the next audit has to see again, by partition, and ``rests_on`` the settings that have
    to stay as they are until then: so a ``suspect`` becomes a ``fail``. A pass without a message that has
    something standing is remembered, and not reported.
    """

    verdict: Verdict
    message: str
    path: tuple[str, ...] = ()
    partitions: tuple[int, ...] = ()
    because: tuple[str, ...] = ()
    remedy: str = ""
    evidence: Evidence = field(default_factory=dict)
    standing: Mapping[int, Facts] = field(default_factory=dict)
    rests_on: tuple[str, ...] = ()


class Check(Protocol):
    """A module of ``checks/``: its docstring is its documentation, its name in the table its id."""

    def applies(self, subject: Subject) -> bool:
        """Whether there is anything to judge; if so, and nothing is said, the topic passes."""

    def judge(self, subject: Subject) -> Iterable[Judgement]: ...


@dataclass(frozen=True)
class Read:
    """What was read of one partition: offsets ``[start, end)``, and where its log began when all was read."""

    start: int
    end: int
    log_start: int

    def lost(self, records: int) -> int:
        """Offsets that retention took before they were read; ``records`` are those that were read.

        What lies below the log's new start and was not read; where single records are missing anyway (compaction,
        transactions), some of those may be among them.
        """
        return min(max(0, self.end - self.start - records), max(0, min(self.log_start, self.end) - self.start))


@dataclass(frozen=True)
class Subject:
    """One topic under audit: as declared, as it is on the cluster, and what its records were found to be."""

    snapshot: Snapshot
    declared: Topic | None
    live: LiveTopic | None
    horizons: Mapping[int, Horizon]
    counts: Mapping[int, Counts]
    """By partition, of every record that stands: compaction, retention and disks know no transactions."""
    committed: Mapping[int, Counts]
    """By partition, of the records that a consumer with ``isolation.level=read_committed`` sees; what checks of
    contents judge. Where a number may include others, it says so (``Counts.at_most``, ``Fault.at_most``).
    """
    pairs: Mapping[int, tuple[Pair, ...]] = field(default_factory=dict)
    past: Past = field(default_factory=Past)
    placement: Placement | None = None
    reading: Mapping[int, Read] = field(default_factory=dict)
    coverage: float = 1.0
    """The share of the offsets that was to be read, or is known from the last audit."""
    internal: Internal | None = None
    """What the topic is for, where Kafka, Connect or Streams made it."""
    following: Following | None = None
    """The groups that read it; None where nobody asked."""
    readable: bool = True
    """Whether this user may read its records (Read on the topic)."""

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
    def broker_settings_known(self) -> bool:
        """Return whether the brokers told their own settings (DescribeConfigs on the Cluster resource)."""
        return bool(self.snapshot.broker_configs)

    @property
    def check_interval_ms(self) -> int | None:
        """Return how often the brokers look for what may be deleted; None if their settings may not be seen."""
        return self.snapshot.broker_number(CHECK_INTERVAL, DEFAULT_CHECK_INTERVAL_MS)

    def stood_for(self, check: str, partition: int, facts: Facts, rests_on: tuple[str, ...]) -> int | None:
        """For how long (ms) each look has seen these facts, under the same settings; None where the last did not."""
        since = self.past.since(check, partition, facts, self.in_force(rests_on))
        return None if since is None else self.snapshot.taken_at - since

    def in_force(self, settings: tuple[str, ...]) -> dict[str, str]:
        """The values of some settings: the topic's, and else the broker's of that name."""
        topic = self.live.topic.config if self.live else {}
        known = {name: topic.get(name, self.snapshot.broker_config.get(name)) for name in settings}
        return {name: value for name, value in known.items() if value is not None}

    def number(self, setting: str) -> int | None:
        return self.live.topic.number(setting) if self.live else None
