"""Run random legitimate histories on one cluster, many at a time, and count findings that are wrong."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from confluent_kafka.admin import AdminClient

from tests.campaigns.usage.clients import Clients
from tests.campaigns.usage.cluster import UsageCluster
from tests.campaigns.usage.observer import IDLE_MS, Observer, Reading, Reported, failed, read
from tests.campaigns.usage.scenario import History

AT_ONCE: Final = 25
ROUNDS: Final = 7
_THREADS: Final = 6


@dataclass
class Tally:
    """The results of the checks on legitimate histories. ``wrong`` has a message for each false ``fail``."""

    histories: int = 0
    observations: int = 0
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def count(self, history: History, reported: Sequence[Reported], *, may_be_idle: bool) -> None:
        """Count what was reported. ``may_be_idle``: nothing has used the topic for the time of the policy."""
        self.observations += 1
        self.verdicts.update((each.check, each.verdict) for each in reported)
        for check, messages in failed(reported).items():
            if check == "idle-topic" and may_be_idle:
                continue
            events = "; ".join(history.log[-25:])
            self.wrong += [f"{check} on {history.topic}: {message}\n    after: {events}" for message in messages]

    def table(self) -> str:
        """Return the number of verdicts by check, and what is wrong."""
        lines = [f"{self.histories} legitimate histories, {self.observations} observations"]
        lines += [f"{check:24}{verdict:14}{number:7}" for (check, verdict), number in sorted(self.verdicts.items())]
        return "\n".join([*lines, *(f"WRONG   {each}" for each in self.wrong)])


@dataclass(frozen=True)
class _Observed:
    """A history with its observer."""

    history: History
    observer: Observer
    chance: random.Random


def run_histories(cluster: UsageCluster, numbers: Sequence[int], seed: str, tally: Tally, rounds: int = ROUNDS) -> None:
    """Run the histories with these numbers at the same time. Each round ends with an observation."""
    clients = Clients(cluster.bootstrap)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    running = []
    for number in numbers:
        chance = random.Random(f"{seed}/{number}")
        history = History(f"h{seed}x{number}", chance, clients, admin)
        running.append(_Observed(history, Observer(cluster.folder / "histories" / history.name, chance), chance))
    chance = random.Random(f"{seed}/{numbers[0]}/cluster")
    with ThreadPoolExecutor(_THREADS) as executor:

        def each(act: Callable[[History], object]) -> None:
            list(executor.map(act, [one.history for one in running]))

        each(History.create)
        each(History.change_declarations)
        try:
            for number in range(rounds):
                each(History.act)
                readings: list[Reading] = []
                before = {one.history.name: one.history.declared() for one in running}
                if chance.random() < 0.3:
                    readings.append(read(cluster.admin))
                each(History.change_declarations)
                if chance.random() < 0.5:
                    each(History.act)
                with _disturbed(cluster, chance if number else None):
                    seen = {connection: read(connection) for connection in (cluster.admin, cluster.restricted)}
                    for one in running:
                        history = one.history
                        if one.chance.random() < 0.15:
                            one.observer.step_the_clock()
                            history.log.append("the clock is set")
                        connection = cluster.restricted if one.chance.random() < 0.15 else cluster.admin
                        now = seen[connection]
                        topics = {history.topic}
                        if readings and one.chance.random() < 0.5:
                            reported = one.observer.observe_at_once(
                                readings[0], now, topics, before[history.name], history.declared()
                            )
                            history.log.append("--- two observations at once")
                        else:
                            reported = one.observer.observe(now, topics, history.declared())
                            history.log.append(
                                "--- observed" + (" without Describe" * (connection is not cluster.admin))
                            )
                        idle = now.snapshot.taken_at - history.used_at * 1000 >= IDLE_MS and not history.running
                        tally.count(history, reported, may_be_idle=idle or one.observer.clock_was_set)
        finally:
            each(History.close)
    tally.histories += len(running)


@contextmanager
def _disturbed(cluster: UsageCluster, chance: random.Random | None) -> Iterator[None]:
    """Stop or kill a broker during the block, sometimes. ``chance`` is None to leave them alone."""
    brokers = len(cluster.servers)
    if chance is None or brokers == 1 or chance.random() < 0.75:
        yield
        return
    broker = chance.randint(1, brokers)
    chance.choice((cluster.sandbox.stop, cluster.sandbox.kill))(broker)
    try:
        yield
    finally:
        cluster.sandbox.start(broker)
        _until_led(cluster)


def _until_led(cluster: UsageCluster) -> None:
    """Wait until each partition has a leader again."""
    deadline = time.monotonic() + 60
    while any(state.leader is None for live in read(cluster.admin).snapshot.topics.values() for state in live.replicas):
        assert time.monotonic() < deadline
        time.sleep(0.3)
