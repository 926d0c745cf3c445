"""Observe the use of topics as audits and usage reports do, and judge it by the product's checks."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Final
from unittest.mock import patch

from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.judge import results_of
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.kafka.read.use_reads import ClusterUse
from topicwarden.model.access import Acl, DeclaredAccess, LiveAccess
from topicwarden.model.verdict import Verdict
from topicwarden.policies.usage_policy import UsagePolicy
from topicwarden.usage.declared_use import AclUse
from topicwarden.usage.observe import observe_use
from topicwarden.usage.remember import remember
from topicwarden.usage.use_context import UseContext
from topicwarden.usage.use_history import RememberedUse, UseHistory, remember_use

CHECKED: Final = ("undeclared-consumer", "undeclared-producer", "idle-topic")
IDLE_MS: Final = 15_000
_TIMEOUT_S: Final = 3.0
_CLOCK_STEPS_MS: Final = (-86_400_000, -600_000, -30_000, -5_000, 5_000, 600_000)


@dataclass(frozen=True)
class Reading:
    """The state of all topics that brokers showed to one user at one time."""

    snapshot: Snapshot
    use: ClusterUse
    access: LiveAccess

    def of(self, topics: Collection[str], taken_at: int) -> tuple[Snapshot, ClusterUse]:
        """Return the part that concerns some topics, as if it was read at ``taken_at`` (ms)."""
        selected = {name: live for name, live in self.snapshot.topics.items() if name in topics or live.topic.internal}
        producers = {name: each for name, each in self.use.producers.items() if name in selected}
        return (
            replace(self.snapshot, topics=selected, taken_at=taken_at),
            replace(self.use, producers=producers),
        )


def read(connection: Connection) -> Reading:
    """Read the whole cluster once. What brokers do not answer within seconds is missing."""
    with open_cluster(connection) as cluster:
        snapshot = cluster.snapshot()
        with patch("topicwarden.kafka.connect.request_errors._TIMEOUT_S", _TIMEOUT_S):
            return Reading(snapshot, cluster.use(snapshot), cluster.access())


@dataclass(frozen=True)
class Reported:
    """One result of a check on a topic."""

    check: str
    topic: str
    verdict: str
    message: str


class Observer:
    """The audits of one stack, with a history in ``folder``. Its clock may be set in between.

    All declared ACLs are deployed, and ``also_live`` are on the cluster as well.
    """

    def __init__(self, folder: Path, chance: random.Random, also_live: Collection[Acl] = ()) -> None:
        self._folder, self._chance, self._also_live = folder, chance, frozenset(also_live)
        self._clock_ms = 0
        self.clock_was_set = False

    def step_the_clock(self) -> None:
        self.set_the_clock(self._clock_ms + self._chance.choice(_CLOCK_STEPS_MS))

    def set_the_clock(self, ahead_ms: int) -> None:
        self.clock_was_set = self.clock_was_set or ahead_ms != self._clock_ms
        self._clock_ms = ahead_ms

    def observe(self, reading: Reading, topics: Collection[str], declared: DeclaredAccess) -> list[Reported]:
        """Add an observation to the history, and return what the checks report."""
        snapshot, use = self._own(reading, topics)
        context = self._context(reading, declared)
        clock = SimpleNamespace(time=lambda: time.time() + self._clock_ms / 1000)
        with patch("topicwarden.usage.use_history.time", clock):
            remembered = remember_use(UseHistory(str(self._folder)), snapshot, use, declared, context.deployed)
        context = replace(context, groups=remembered.groups)
        return [each for topic in sorted(topics) for each in _judged(remembered, snapshot, topic, context)]

    def observe_at_once(
        self, one: Reading, other: Reading, topics: Collection[str], before: DeclaredAccess, after: DeclaredAccess
    ) -> list[Reported]:
        """Observe twice, by two runs; the first one saves last. Return what the second one reports."""
        snapshot, use = self._own(one, topics)
        history = UseHistory(str(self._folder))
        known = history.load(snapshot.cluster_id)
        reported = self.observe(other, topics, after)
        deployed = self._context(one, before).deployed
        history.save(remember(known, observe_use(snapshot, use, AclUse(before.acls).digest, deployed)))
        return reported

    def _own(self, reading: Reading, topics: Collection[str]) -> tuple[Snapshot, ClusterUse]:
        return reading.of(topics, reading.snapshot.taken_at + self._clock_ms)

    def _context(self, reading: Reading, declared: DeclaredAccess) -> UseContext:
        acls = dict.fromkeys({*declared.acls, *self._also_live}, True)
        live = replace(reading.access, parts={**reading.access.parts, "acls": acls})
        return UseContext(declared, live, policy=UsagePolicy(idle_after=IDLE_MS))


def _judged(remembered: RememberedUse, snapshot: Snapshot, topic: str, context: UseContext) -> Iterator[Reported]:
    live = snapshot.topics.get(topic)
    subject = AuditedTopic(
        snapshot=snapshot,
        declared=None,
        live=live,
        horizons={},
        counts={},
        committed={},
        use=remembered.topics.get(topic),
        previous_use=remembered.previous.get(topic),
        use_context=context,
    )
    for check in CHECKED:
        for result in results_of(CHECKS[check], subject) or (CheckResult(Verdict.PASS, ""),):
            text = f"{result.message} ({'; '.join(result.because)})"
            yield Reported(check, topic, str(result.verdict.value), text)


def failed(reported: Collection[Reported]) -> Mapping[str, list[str]]:
    """Return the messages of failed checks by check."""
    found: dict[str, list[str]] = {}
    for each in reported:
        if each.verdict == "fail":
            found.setdefault(each.check, []).append(each.message)
    return found
