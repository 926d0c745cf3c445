"""The sandbox: a KRaft cluster of real brokers on this machine. It continues to run after the command ends."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from topicwarden.extensions.sandbox import sandbox_state as states
from topicwarden.extensions.sandbox.broker import BrokerCondition
from topicwarden.extensions.sandbox.broker_fleet import BrokerFleet, broker_count
from topicwarden.extensions.sandbox.jvm import Jvm
from topicwarden.extensions.sandbox.ports import QUORUM, assign
from topicwarden.extensions.sandbox.sandbox_state import HOST, BrokerPorts, SandboxState, Say
from topicwarden.extensions.sandbox.server_properties import rack
from topicwarden.model.problem import Refusal
from topicwarden.model.sandbox_folder import ADDRESS_FILE, STATE_FILE, refuse_copy, refuse_link


@dataclass(frozen=True)
class BrokerStatus:
    """One broker. ``pid`` is None if it is not running; ``in_cluster``: the cluster's metadata lists the broker."""

    id: int
    rack: str
    port: int
    pid: int | None
    condition: BrokerCondition
    in_cluster: bool

    @property
    def left(self) -> bool:
        """True if the broker is running, and has not joined the cluster or has left it."""
        return self.condition is BrokerCondition.RUNNING and not self.in_cluster


@dataclass(frozen=True)
class SandboxStatus:
    """The status of all brokers; empty if the sandbox was never started, or was deleted."""

    brokers: tuple[BrokerStatus, ...] = ()

    @property
    def bootstrap_servers(self) -> list[str]:
        return [f"{HOST}:{broker.port}" for broker in self.brokers]

    @property
    def answers(self) -> bool:
        """True if a broker answers with the cluster's metadata."""
        return any(broker.in_cluster for broker in self.brokers)

    @property
    def ready(self) -> bool:
        """True if every broker is running and has joined the cluster."""
        return bool(self.brokers) and all(
            broker.in_cluster and broker.condition is BrokerCondition.RUNNING for broker in self.brokers
        )


HEAP = "512m"
_BROKERS = 3
_STOP_S = 20.0


def _silent(_: str) -> None:
    """Print nothing."""


class Sandbox:
    """A cluster with its state, data and logs in ``directory``. ``jars`` is the folder of Kafka's jars.

    ``recording`` is the file of a class archive that the brokers write; see ``class_archive``.
    """

    def __init__(self, directory: Path, java: Path, jars: Path, recording: Path | None = None) -> None:
        self._folder = directory
        self._directory = directory.resolve()
        self._jvm = Jvm(java, jars.resolve(), recording)
        self._fleet = BrokerFleet(self._directory, self._jvm)

    def up(
        self,
        brokers: int | None = None,
        say: Say = _silent,
        *,
        port: int | None = None,
        overrides: Mapping[str, str] | None = None,
        heap: str | None = None,
        authorizer: bool | None = None,
    ) -> SandboxStatus:
        """Start all brokers that are not running, and return when every broker has joined the cluster.

        ``brokers`` is their number; None for as before, and for three in a new cluster. ``port`` is the port of the
        first broker; the other brokers use the next ports. Without it, each broker uses
        its previous port if that is free, else another free port. ``overrides`` are added to every broker's
        properties. ``overrides`` and ``heap`` (as after ``-Xmx``, default 512m) are saved, and apply to brokers that
        are started from now on. ``authorizer``: the brokers enforce ACLs, and have a listener for users with a
        password; None for as before. ``say`` receives each line of progress.

        Raises Refusal if Java or the jars are missing, if a port is in use, if the cluster has another number of
        brokers, if state or data belong to another cluster, or if a broker dies or does not join.
        """
        if brokers is not None and brokers < 1:
            raise Refusal("a cluster needs at least one broker: use --brokers 1 or more")
        self._jvm.require()
        with self._own(say), states.port_lock(say):
            state = self._new_state(brokers, port, overrides, heap, authorizer)
            missing = [ports for ports in state.brokers if not self._fleet.runs(ports)]
            if missing:
                state.save(self._directory)  # before the start, so that the next `up` continues an interrupted one
                self._fleet.prepare(state, missing, say)
                self._fleet.start(state, missing, say)
            else:
                say(f"{broker_count(len(state.brokers))} already running")
            self._fleet.join(state, [ports.id for ports in state.brokers], say if missing else _silent)
            (self._directory / ADDRESS_FILE).write_text("\n".join(state.addresses) + "\n", encoding="utf-8")
        return self.status()

    def down(self, remove: bool = False, say: Say = _silent) -> None:
        """Stop every broker; with ``remove``, also delete state, data and logs.

        Works without a valid state file. In a copied folder, the brokers of the original continue to run.
        """
        refuse_link(self._folder)
        with states.lock(self._directory, say):
            brokers = self._fleet.brokers()
            running = [broker for broker in brokers if broker.condition is BrokerCondition.RUNNING]
            if running:
                say(f"stopping {broker_count(len(running))}")
            else:
                say("no broker is running")
            self._fleet.end(running, _STOP_S, signal.SIGKILL if remove else signal.SIGTERM)
            (self._directory / ADDRESS_FILE).unlink(missing_ok=True)
            if remove:
                for broker in brokers:
                    rmtree(broker.directory)
                (self._directory / STATE_FILE).unlink(missing_ok=True)
                say(f"deleted state, data and logs in {self._directory}")

    def status(self) -> SandboxStatus:
        """Return the state of every broker. Takes some seconds if a running broker does not answer."""
        self._refuse_other()
        state = states.load(self._directory)
        if state is None:
            return SandboxStatus()
        joined = self._fleet.listed([ports for ports in state.brokers if self._fleet.runs(ports)])
        return SandboxStatus(tuple(self._status_of(ports, joined) for ports in state.brokers))

    def stop(self, broker_id: int, say: Say = _silent) -> None:
        """Stop one broker with a controlled shutdown, which first moves its leaders to other brokers.

        Does nothing if the broker is not running.
        """
        with self._own(say):
            broker = self._fleet.broker(self._ports(self._state(), broker_id))
            self._fleet.end([broker], _STOP_S, signal.SIGTERM)

    def kill(self, broker_id: int, say: Say = _silent) -> None:
        """Kill one broker, like a crash. The cluster notices when the broker's session times out."""
        with self._own(say):
            broker = self._fleet.broker(self._ports(self._state(), broker_id))
            broker.signal(signal.SIGKILL)
            broker.wait(_STOP_S)

    def start(self, broker_id: int, say: Say = _silent) -> None:
        """Start one broker of the cluster, and return when it has joined.

        Without a quorum of running controllers, the broker cannot join. Then report this to ``say``, and return at
        once. Raises Refusal if one of the broker's ports is in use.
        """
        self._jvm.require()
        with self._own(say):
            state = self._state()
            ports = self._ports(state, broker_id)
            if not self._fleet.runs(ports):
                self._fleet.refuse_taken(state, ports)
                self._fleet.start(state, [ports], say)
            voters = state.brokers[:QUORUM]
            running = [voter for voter in voters if self._fleet.runs(voter)]
            if len(running) * 2 <= len(voters):
                say(
                    f"broker {broker_id} is started; it can join when {len(voters) // 2 + 1} of {len(voters)} "
                    "controllers are running"
                )
                return
            self._fleet.join(state, [broker_id], say)

    @property
    def bootstrap_servers(self) -> list[str]:
        """The ``host:port`` of every broker. Raises Refusal if there is no sandbox."""
        return self._state().addresses

    @property
    def user_servers(self) -> list[str]:
        """The ``host:port`` of each broker for users with a password. Raises Refusal without an authorizer."""
        state = self._state()
        if not state.authorizer:
            raise Refusal(
                "the sandbox has no authorizer: run `topicwarden sandbox down`, then `topicwarden sandbox up`"
            )
        return [f"{HOST}:{ports.user_port}" for ports in state.brokers]

    def log_dir(self, broker_id: int) -> Path:
        """Return Kafka's ``log.dirs`` of a broker."""
        return self._fleet.broker(self._ports(self._state(), broker_id)).data

    @contextmanager
    def _own(self, say: Say) -> Iterator[None]:
        """Lock the sandbox for one command; refuse a folder that is a copy or a link."""
        self._refuse_other()
        with states.lock(self._directory, say):
            yield

    def _refuse_other(self) -> None:
        refuse_link(self._folder)
        refuse_copy(self._folder)

    def _new_state(
        self,
        brokers: int | None,
        port: int | None,
        overrides: Mapping[str, str] | None,
        heap: str | None,
        authorizer: bool | None,
    ) -> SandboxState:
        """Return the state to start: the saved one, with new ports where necessary, or that of a new cluster."""
        state = states.load(self._directory)
        if state is None:
            if self._fleet.brokers():
                raise Refusal(
                    f"{self._directory} contains brokers but no {STATE_FILE}: delete the sandbox with "
                    "`topicwarden sandbox down --remove`, then start it again"
                )
            return SandboxState(
                directory=str(self._directory),
                cluster_id=states.new_uuid(),
                brokers=assign(_BROKERS if brokers is None else brokers, port, reserved=self._ports_of_others()),
                heap=heap or HEAP,
                overrides=dict(overrides or {}),
                authorizer=bool(authorizer),
            )
        if brokers not in (None, len(state.brokers)):
            raise Refusal(
                f"the sandbox has {broker_count(len(state.brokers))}, not {brokers}: start it as it is with "
                "`topicwarden sandbox up`, or delete it with `topicwarden sandbox down --remove` first"
            )
        running = {ports.id for ports in state.brokers if self._fleet.runs(ports)}
        if running and authorizer not in (None, state.authorizer):
            raise Refusal(
                f"brokers already run {'with' if state.authorizer else 'without'} an authorizer: "
                "run `topicwarden sandbox down` first"
            )
        return SandboxState(
            directory=str(self._directory),
            cluster_id=state.cluster_id,
            brokers=assign(len(state.brokers), port, state.brokers, running, self._ports_of_others()),
            heap=heap or state.heap,
            overrides=dict(state.overrides if overrides is None else overrides),
            authorizer=state.authorizer if authorizer is None else authorizer,
        )

    def _ports_of_others(self) -> frozenset[int]:
        """Return the ports of other running sandboxes. Their stopped brokers will start again on the same ports."""
        numbers = set[int]()
        for directory in states.other_sandboxes(self._directory):
            with suppress(OSError, Refusal):
                state, fleet = states.load(directory), BrokerFleet(directory, self._jvm)
                if state is not None and any(map(fleet.runs, state.brokers)):
                    numbers.update(number for ports in state.brokers for number in ports.numbers)
        return frozenset(numbers)

    def _state(self) -> SandboxState:
        state = states.load(self._directory)
        if state is None:
            raise Refusal("there is no sandbox: start it with `topicwarden sandbox up`")
        return state

    def _status_of(self, ports: BrokerPorts, joined: set[int]) -> BrokerStatus:
        broker = self._fleet.broker(ports)
        condition = broker.condition
        process = broker.process if condition is BrokerCondition.RUNNING else None
        pid = process.pid if process else None
        return BrokerStatus(ports.id, rack(ports.id), ports.port, pid, condition, ports.id in joined)

    def _ports(self, state: SandboxState, broker_id: int) -> BrokerPorts:
        for ports in state.brokers:
            if ports.id == broker_id:
                return ports
        ids = ", ".join(str(ports.id) for ports in state.brokers)
        raise Refusal(f"the sandbox has no broker {broker_id}: choose one of {ids}")
