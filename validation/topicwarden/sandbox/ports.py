"""Which ports the brokers get: the same ones each time, other free ones where those are taken."""

from __future__ import annotations

import socket
from collections.abc import Collection, Sequence

from topicwarden.model.problem import Refusal
from topicwarden.sandbox.sandbox_state import HOST, BrokerPorts

BROKERS_FROM = 19092
CONTROLLERS_ABOVE = 100  # a controller's port is its broker's plus this, where that is free
QUORUM = 3  # brokers that are controllers too: enough to lose one, and more would only cost memory


def is_free(port: int) -> bool:
    """Whether a server could listen on ``port`` of the loopback address now; TIME_WAIT does not count."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
        client.settimeout(0.5)
        if client.connect_ex((HOST, port)) == 0:  # macOS lets one bind below a listener on every address
            return False
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind((HOST, port))
        except OSError:
            return False
    return True


def assign(
    brokers: int, port: int | None, remembered: Sequence[BrokerPorts] = (), running: Collection[int] = ()
) -> tuple[BrokerPorts, ...]:
    """Where each of ``brokers`` listens: as remembered, or from ``port`` on, or else on free ports.

    ``running`` are the ids that listen already and keep their place. Raises Refusal when a port that was
    demanded is taken or does not exist, and when a controller that the running ones know would have to move.
    """
    if port is not None and not 1 <= port <= 65536 - brokers:
        raise Refusal(f"port {port} leaves no room for {brokers} brokers below 65536: choose a smaller one")
    kept = {place.id: place for place in remembered}
    if port is not None and any(kept[id].port != port + id - 1 for id in running):
        listening = ", ".join(str(kept[id].port) for id in sorted(running))
        raise Refusal(f"the sandbox already listens on {listening}: run `topicwarden sandbox down` first")
    used = {number for id in running for number in (kept[id].port, kept[id].controller_port) if number}
    ports: dict[int, int] = {}
    for id in range(1, brokers + 1):
        if id in running:
            ports[id] = kept[id].port
            continue
        demanded = None if port is None else port + id - 1
        if demanded and (demanded in used or not is_free(demanded)):
            raise Refusal(f"port {demanded} is taken: free it, or choose another with --port, or leave --port out")
        wanted = demanded or (kept[id].port if id in kept else BROKERS_FROM + id - 1)
        ports[id] = _free(wanted, used)
        used.add(ports[id])
    places = []
    for id in range(1, brokers + 1):
        controller = kept[id].controller_port if id in kept else None
        if id <= QUORUM and id not in running:
            known = controller
            controller = _free(known or (port or BROKERS_FROM) + CONTROLLERS_ABOVE + id - 1, used)
            if running and known and controller != known:
                raise Refusal(
                    f"port {known} of controller {id} was taken by another program: free it, "
                    "or run `topicwarden sandbox down` and then `topicwarden sandbox up`"
                )
            used.add(controller)
        places.append(BrokerPorts(id=id, port=ports[id], controller_port=controller))
    return tuple(places)


def _free(wanted: int, used: Collection[int]) -> int:
    if wanted <= 65535 and wanted not in used and is_free(wanted):
        return wanted
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as server:
            server.bind((HOST, 0))
            port = int(server.getsockname()[1])
        if port not in used:
            return port
