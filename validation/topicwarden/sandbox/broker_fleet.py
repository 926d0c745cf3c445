"""What is done with several brokers at once."""

from __future__ import annotations

import signal
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from topicwarden.kafka.reachability import brokers as brokers_that_answer
from topicwarden.model.problem import Refusal
from topicwarden.sandbox.broker import Broker, BrokerCondition, telling
from topicwarden.sandbox.jvm import Jvm
from topicwarden.sandbox.ports import is_free
from topicwarden.sandbox.sandbox_state import BrokerPorts, SandboxState, Say
from topicwarden.sandbox.server_properties import server_properties

_READY_S = 120.0
_PROBE_S = 3.0


@dataclass(frozen=True)
class BrokerFleet:
    """The brokers whose folders lie in ``directory``."""

    directory: Path
    jvm: Jvm

    def server(self, place: BrokerPorts) -> Broker:
        return Broker(self.directory / f"broker-{place.id}")

    def servers(self) -> list[Broker]:
        """Every broker that has a folder, also where the state file is lost."""
        return [Broker(folder) for folder in sorted(self.directory.glob("broker-*"))]

    def runs(self, place: BrokerPorts) -> bool:
        return self.server(place).condition is BrokerCondition.RUNNING

    def joined(self, places: Collection[BrokerPorts]) -> set[int]:
        """The ids that the metadata lists, asked of whichever of ``places`` listens."""
        listening = [place.address for place in places if not is_free(place.port)]
        return brokers_that_answer(listening, _PROBE_S) if listening else set()

    def prepare(self, state: SandboxState, places: Collection[BrokerPorts], say: Say) -> None:
        """Writes the properties, and formats the folders that are new, all at once."""
        if "," in str(self.directory):
            raise Refusal(f"Kafka takes no folder with a comma in its name: {self.directory}; choose another")
        unformatted = []
        for place in places:
            server = self.server(place)
            owner = server.owner()
            if owner is None:
                unformatted.append((place, server))
            elif owner != state.cluster_id:
                raise Refusal(
                    f"{server.data} belongs to another cluster ({owner}): "
                    "start afresh with `topicwarden sandbox down --remove`"
                )
            server.directory.mkdir(parents=True, exist_ok=True)
            server.properties.write_text(server_properties(state, place, server.data), encoding="ascii")
        if unformatted:
            say(f"formatting {count(len(unformatted))}")
        formatting = [(place, server.format(self.jvm, state.cluster_id)) for place, server in unformatted]
        for place, output, code in [(place, tool.communicate()[0], tool.returncode) for place, tool in formatting]:
            if code:
                raise Refusal(f"Kafka's StorageTool could not format broker {place.id}: {telling(output)}")

    def start(self, state: SandboxState, places: Collection[BrokerPorts], say: Say) -> None:
        say(f"starting {count(len(places))}: " + ", ".join(f"{place.id} at {place.address}" for place in places))
        for place in places:
            self.server(place).start(self.jvm, state.heap)

    def join(self, state: SandboxState, ids: Collection[int], say: Say) -> None:
        """Waits until each of ``ids`` itself answers, which it does only once it has joined, and sees all of them."""
        waiting = [place for place in state.brokers if place.id in ids]
        began = time.monotonic()
        while waiting:
            for place in waiting:
                self.server(place).require_alive()
            ready = [place for place in waiting if set(ids) <= self.joined([place])]
            waiting = [place for place in waiting if place not in ready]
            for place in ready:
                say(f"broker {place.id} has joined after {time.monotonic() - began:.1f} s")
            if waiting and time.monotonic() - began > _READY_S:
                server = self.server(waiting[0])
                raise Refusal(
                    f"broker {waiting[0].id} has not joined within {_READY_S:.0f} s: "
                    f"{server.last_words()}; see {server.log}"
                )
            if waiting:
                time.sleep(0.1)

    def end(self, servers: Collection[Broker], seconds: float, number: signal.Signals) -> None:
        """Signals all at once; kills what is left after ``seconds``."""
        for server in servers:
            server.signal(number)
        deadline = time.monotonic() + seconds
        for server in servers:
            if not server.ended_within(max(0.0, deadline - time.monotonic())):
                server.signal(signal.SIGKILL)
                server.ended_within(seconds)
            server.forget()


def count(brokers: int) -> str:
    return "one broker" if brokers == 1 else f"{brokers} brokers"
