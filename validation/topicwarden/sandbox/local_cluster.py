"""The sandbox: a KRaft cluster of real brokers on this machine, which outlives the command that started it."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree

from topicwarden.kafka.connection import ADDRESS_FILE
from topicwarden.model.problem import Refusal
from topicwarden.sandbox import sandbox_state as states
from topicwarden.sandbox.broker import BrokerCondition
from topicwarden.sandbox.broker_fleet import BrokerFleet, count
from topicwarden.sandbox.jvm import Jvm
from topicwarden.sandbox.ports import QUORUM, assign
from topicwarden.sandbox.sandbox_state import BrokerPorts, SandboxState, Say
from topicwarden.sandbox.sandbox_status import BrokerStatus, SandboxStatus
from topicwarden.sandbox.server_properties import rack

HEAP = "512m"
_STOP_S = 20.0


def _silent(_: str) -> None:
    """Says nothing."""


class Sandbox:
    """A cluster whose state, data and logs lie in ``directory``, run by ``java`` from Kafka's ``jars``."""

    def __init__(self, directory: Path, java: Path, jars: Path) -> None:
        self._directory = directory.resolve()
        self._jvm = Jvm(java, jars.resolve())
        self._fleet = BrokerFleet(self._directory, self._jvm)

    def up(
        self,
        brokers: int = 3,
        say: Say = _silent,
        *,
        port: int | None = None,
        overrides: Mapping[str, str] | None = None,
        heap: str | None = None,
    ) -> SandboxStatus:
        """Starts the cluster, or what does not run of it, and returns when every broker has joined.

        ``port`` is the first broker's, the others follow; without it free ones are taken, the same as last
        time if they are free. ``overrides`` go into every broker's properties; they and ``heap`` (as after
        ``-Xmx``, default 512m) are remembered, and hold for brokers started from now on.

        Raises Refusal for a machine without Java or the jars, a taken port, another number of brokers than
        the cluster has, state or data that are not this cluster's, and a broker that dies or never joins.
        """
        if brokers < 1:
            raise Refusal("a cluster has at least one broker: ask for --brokers 1 or more")
        self._jvm.require()
        with states.lock(self._directory, say), states.port_lock(say):
            state = self._planned(brokers, port, overrides, heap)
            missing = [place for place in state.brokers if not self._fleet.runs(place)]
            if missing:
                state.save(self._directory)  # first, so that an `up` cut short is taken up by the next
                self._fleet.prepare(state, missing, say)
                self._fleet.start(state, missing, say)
            else:
                say(f"{count(brokers)} already running")
            self._fleet.join(state, [place.id for place in state.brokers], say if missing else _silent)
            (self._directory / ADDRESS_FILE).write_text("\n".join(state.addresses) + "\n", encoding="utf-8")
        return self.status()

    def down(self, remove: bool = False, say: Say = _silent) -> None:
        """Ends every broker; with ``remove`` also deletes state, data and logs. Needs no readable state file."""
        with states.lock(self._directory, say):
            servers = self._fleet.servers()
            running = [server for server in servers if server.condition is BrokerCondition.RUNNING]
            if running:
                say(f"stopping {count(len(running))}")
            else:
                say("no broker is running")
            self._fleet.end(running, _STOP_S, signal.SIGKILL if remove else signal.SIGTERM)
            (self._directory / ADDRESS_FILE).unlink(missing_ok=True)
            if remove:
                for server in servers:
                    rmtree(server.directory)
                (self._directory / states.FILE).unlink(missing_ok=True)
                say(f"removed what was in {self._directory}")

    def status(self) -> SandboxStatus:
        """How every broker is, and whether the cluster answers; takes seconds where a running broker does not."""
        state = states.load(self._directory)
        if state is None:
            return SandboxStatus()
        joined = self._fleet.joined([place for place in state.brokers if self._fleet.runs(place)])
        return SandboxStatus(tuple(self._status_of(place, joined) for place in state.brokers))

    def stop(self, broker_id: int, say: Say = _silent) -> None:
        """Ends one broker in order (controlled shutdown): its leaders move first. Nothing where it does not run."""
        with states.lock(self._directory, say):
            self._fleet.end([self._fleet.server(self._place(self._state(), broker_id))], _STOP_S, signal.SIGTERM)

    def kill(self, broker_id: int, say: Say = _silent) -> None:
        """Ends one broker as a crash would; the cluster notices when its session times out."""
        with states.lock(self._directory, say):
            server = self._fleet.server(self._place(self._state(), broker_id))
            server.signal(signal.SIGKILL)
            server.ended_within(_STOP_S)

    def start(self, broker_id: int, say: Say = _silent) -> None:
        """Starts one broker of the cluster and returns when it has joined.

        Where too few controllers run for a quorum it cannot join: then it says so and returns at once.
        """
        self._jvm.require()
        with states.lock(self._directory, say):
            state = self._state()
            place = self._place(state, broker_id)
            if not self._fleet.runs(place):
                self._fleet.start(state, [place], say)
            voters = state.brokers[:QUORUM]
            voting = [voter for voter in voters if self._fleet.runs(voter)]
            if len(voting) * 2 <= len(voters):
                say(f"broker {broker_id} is started; it joins once {len(voters) // 2 + 1} of {len(voters)} run")
                return
            self._fleet.join(state, [broker_id], say)

    @property
    def bootstrap_servers(self) -> list[str]:
        """Every broker's ``host:port``. Refuses where there is no cluster."""
        return self._state().addresses

    def log_dir(self, broker_id: int) -> Path:
        """Kafka's ``log.dirs`` of a broker."""
        return self._fleet.server(self._place(self._state(), broker_id)).data

    def _planned(
        self, brokers: int, port: int | None, overrides: Mapping[str, str] | None, heap: str | None
    ) -> SandboxState:
        """The state to bring about: today's, with other ports where they must change, or a new cluster's."""
        state = states.load(self._directory)
        if state is None:
            if self._fleet.servers():
                raise Refusal(
                    f"{self._directory} holds brokers but no {states.FILE}: "
                    "start afresh with `topicwarden sandbox down --remove`"
                )
            return SandboxState(
                cluster_id=states.new_cluster_id(),
                brokers=assign(brokers, port),
                heap=heap or HEAP,
                overrides=dict(overrides or {}),
            )
        if len(state.brokers) != brokers:
            raise Refusal(
                f"the sandbox has {count(len(state.brokers))}, not {brokers}: ask for --brokers {len(state.brokers)}, "
                "or give it up with `topicwarden sandbox down --remove` first"
            )
        running = {place.id for place in state.brokers if self._fleet.runs(place)}
        return SandboxState(
            cluster_id=state.cluster_id,
            brokers=assign(brokers, port, state.brokers, running),
            heap=heap or state.heap,
            overrides=dict(state.overrides if overrides is None else overrides),
        )

    def _state(self) -> SandboxState:
        state = states.load(self._directory)
        if state is None:
            raise Refusal("there is no sandbox: start it with `topicwarden sandbox up`")
        return state

    def _status_of(self, place: BrokerPorts, joined: set[int]) -> BrokerStatus:
        server = self._fleet.server(place)
        condition = server.condition
        process = server.process if condition is BrokerCondition.RUNNING else None
        pid = process.pid if process else None
        return BrokerStatus(place.id, rack(place.id), place.port, pid, condition, place.id in joined)

    def _place(self, state: SandboxState, broker_id: int) -> BrokerPorts:
        for place in state.brokers:
            if place.id == broker_id:
                return place
        ids = ", ".join(str(place.id) for place in state.brokers)
        raise Refusal(f"the sandbox has no broker {broker_id}: choose one of {ids}")
