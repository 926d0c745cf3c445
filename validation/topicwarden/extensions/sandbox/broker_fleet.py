"""Operations on several brokers at once: format, start, wait for the cluster, stop."""

from __future__ import annotations

import signal
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from topicwarden.extensions.sandbox.broker import META, Broker, BrokerCondition, failure_line
from topicwarden.extensions.sandbox.jvm import Jvm
from topicwarden.extensions.sandbox.ports import is_free
from topicwarden.extensions.sandbox.sandbox_state import BrokerPorts, SandboxState, Say, new_uuid
from topicwarden.extensions.sandbox.server_properties import server_properties
from topicwarden.kafka.write.config_admin import unfenced_brokers
from topicwarden.model.problem import Refusal

_READY_S = 120.0
_PROBE_S = 3.0
_ANSWER_S = 10.0


@dataclass(frozen=True)
class BrokerFleet:
    """The brokers of the sandbox in ``directory``; each broker has a folder there."""

    directory: Path
    jvm: Jvm

    def broker(self, ports: BrokerPorts) -> Broker:
        return Broker(self.directory / f"broker-{ports.id}")

    def brokers(self) -> list[Broker]:
        """Return every broker that has a folder, even if the state file is lost."""
        return [broker for folder in sorted(self.directory.glob("broker-*")) if (broker := Broker(folder)).of_a_sandbox]

    def runs(self, ports: BrokerPorts) -> bool:
        return self.broker(ports).condition is BrokerCondition.RUNNING

    def joined(self, broker_ports: Collection[BrokerPorts]) -> set[int]:
        """Return the ids of the brokers in the cluster's metadata, from the brokers of ``broker_ports`` that listen."""
        listening = [ports.address for ports in broker_ports if not is_free(ports.port)]
        return unfenced_brokers(listening, _PROBE_S) if listening else set()

    def listed(self, broker_ports: Collection[BrokerPorts]) -> set[int]:
        """Return what ``joined`` does; ask again while no broker answers, for some seconds.

        A client may ask the broker that was lost a moment ago: the metadata lists it until its session times out.
        """
        deadline = time.monotonic() + _ANSWER_S
        while not (found := self.joined(broker_ports)) and time.monotonic() < deadline:
            if all(is_free(ports.port) for ports in broker_ports):
                break
            time.sleep(0.1)
        return found

    def refuse_taken(self, state: SandboxState, ports: BrokerPorts) -> None:
        """Refuse to start a broker, which does not run, if one of its ports is in use."""
        remedy = "stop that program, or run `topicwarden sandbox up`, which selects another port"
        if ports.controller_port is not None and not is_free(ports.controller_port):
            remedy = (
                "stop that program, or run `topicwarden sandbox down` and then `topicwarden sandbox up`, which selects "
                "other ports"
            )
        numbers = (ports.port, ports.controller_port, ports.user_port if state.authorizer else None)
        if taken := [str(number) for number in numbers if number is not None and not is_free(number)]:
            raise Refusal(
                f"broker {ports.id} cannot start: another program uses {'port' if len(taken) == 1 else 'ports'} "
                f"{', '.join(taken)}; {remedy}"
            )

    def prepare(self, state: SandboxState, broker_ports: Collection[BrokerPorts], say: Say) -> None:
        """Write each broker's properties, and format all new folders."""
        if "," in str(self.directory):
            raise Refusal(
                f"the folder of the sandbox contains a comma, which Kafka's log.dirs does not allow: {self.directory}; "
                "move the project to another folder"
            )
        unformatted = []
        for ports in broker_ports:
            broker = self.broker(ports)
            _refuse_folder(broker)
            cluster_id = broker.cluster_id()
            if cluster_id is None:
                unformatted.append((ports, broker))
            elif cluster_id != state.cluster_id:
                raise Refusal(
                    f"{broker.data} belongs to another cluster ({cluster_id}): delete the sandbox with "
                    "`topicwarden sandbox down --remove`, then start it again"
                )
            broker.directory.mkdir(parents=True, exist_ok=True)
            broker.properties.write_text(server_properties(state, ports, broker.data), encoding="ascii")
        if unformatted:
            say(f"formatting {broker_count(len(unformatted))}")
            template = self._template(state, unformatted[0])
            for ports, broker in unformatted:
                if broker != template:
                    broker.format_like(template, state.cluster_id, ports.id, new_uuid())

    def _template(self, state: SandboxState, first: tuple[BrokerPorts, Broker]) -> Broker:
        """Return a formatted broker, from which others are copied: an earlier one, or else ``first`` after StorageTool.

        What StorageTool writes depends on the jars alone, unless an override is about versions, folders or the quorum.
        """
        ports, broker = first
        usual = not any(word in name for name in state.overrides for word in ("version", "dir", "quorum"))
        saved = Broker(self.jvm.formatted)
        if usual and (saved.data / META).is_file():
            return saved
        tool = broker.format(self.jvm, state.cluster_id)
        output, _ = tool.communicate()
        if tool.returncode:
            raise Refusal(f"Kafka's StorageTool could not format broker {ports.id}: {failure_line(output)}")
        if usual:
            with suppress(OSError), TemporaryDirectory(dir=self.jvm.jars) as folder:  # the jars may be read-only
                copy = Broker(Path(folder, "broker"))
                copy.format_like(broker, state.cluster_id, ports.id, new_uuid())
                copy.directory.rename(saved.directory)
        return broker

    def start(self, state: SandboxState, broker_ports: Collection[BrokerPorts], say: Say) -> None:
        say(
            f"starting {broker_count(len(broker_ports))}: "
            + ", ".join(f"{ports.id} at {ports.address}" for ports in broker_ports)
        )
        for ports in broker_ports:
            self.broker(ports).start(self.jvm, state.heap)

    def join(self, state: SandboxState, ids: Collection[int], say: Say) -> None:
        """Wait until each of the brokers ``ids`` answers and its metadata lists all of them.

        A broker answers only after it has joined the cluster. Raises Refusal if a broker dies or the wait times out.
        """
        waiting = [ports for ports in state.brokers if ports.id in ids]
        started = time.monotonic()
        while waiting:
            for ports in waiting:
                if not self.runs(ports):
                    self.refuse_taken(state, ports)
                self.broker(ports).require_alive()
            ready = [ports for ports in waiting if set(ids) <= self.joined([ports])]
            waiting = [ports for ports in waiting if ports not in ready]
            for ports in ready:
                say(f"broker {ports.id} has joined after {time.monotonic() - started:.1f} s")
            if waiting and time.monotonic() - started > _READY_S:
                broker = self.broker(waiting[0])
                raise Refusal(
                    f"broker {waiting[0].id} has not joined within {_READY_S:.0f} s: "
                    f"{broker.failure()}; see {broker.log}"
                )
            if waiting:
                time.sleep(0.1)

    def end(self, brokers: Collection[Broker], seconds: float, number: signal.Signals) -> None:
        """Send the signal ``number`` to all brokers; kill those that still run after ``seconds``."""
        for broker in brokers:
            broker.signal(number)
        deadline = time.monotonic() + seconds
        for broker in brokers:
            if not broker.wait(max(0.0, deadline - time.monotonic())):
                broker.signal(signal.SIGKILL)
                broker.wait(seconds)
            broker.mark_stopped()


def _refuse_folder(broker: Broker) -> None:
    """Refuse a folder that no sandbox wrote, or whose broker runs from the folder in which it was before."""
    if broker.directory.exists() and not broker.of_a_sandbox:
        raise Refusal(f"{broker.directory} is not a folder of this sandbox: move it away, then start the sandbox again")
    if process := broker.process_elsewhere:
        raise Refusal(
            f"process {process.pid} still runs {broker.directory.name} from the folder in which the sandbox was "
            f"before: `kill {process.pid}`, then start the sandbox again"
        )


def broker_count(brokers: int) -> str:
    """Return ``one broker``, ``3 brokers``."""
    return "one broker" if brokers == 1 else f"{brokers} brokers"
