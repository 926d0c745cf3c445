"""Assign ports to the brokers: the same ports at each start, or other free ports if these are in use."""

from __future__ import annotations

import socket
from collections.abc import Collection, Sequence
from itertools import chain

from topicwarden.extensions.sandbox.sandbox_state import HOST, BrokerPorts
from topicwarden.model.problem import Refusal

BROKERS_FROM = 19092
CONTROLLER_PORT_OFFSET = 100  # a controller's port is its broker's port plus this number, if that port is free
USER_PORT_OFFSET = 200
QUORUM = 3  # brokers that are also controllers: the cluster survives the loss of one; more would only cost memory


def is_free(port: int) -> bool:
    """Return whether a server can listen on ``port`` of the loopback address. TIME_WAIT counts as free."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
        client.settimeout(0.5)
        if client.connect_ex((HOST, port)) == 0:  # macOS can bind an address that a server on all addresses uses
            return False
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind((HOST, port))
        except OSError:
            return False
    return True


def assign(
    brokers: int,
    port: int | None,
    previous: Sequence[BrokerPorts] = (),
    running: Collection[int] = (),
    reserved: Collection[int] = (),
) -> tuple[BrokerPorts, ...]:
    """Return the ports of each of ``brokers``: from ``port`` on, else the previous ports, else free ports.

    ``previous`` are the ports of the last start. ``running`` are the ids of running brokers, which keep their ports.
    ``reserved`` are ports that count as in use. Raises Refusal if a requested port is in use or invalid, or if the port
    of a controller changes while brokers run that know this controller.
    """
    if port is not None and not 1 <= port <= 65536 - brokers:
        raise Refusal(f"--port {port} is not possible with {brokers} brokers: expected 1 to {65536 - brokers}")
    known = {ports.id: ports for ports in previous}
    if port is not None and any(known[id].port != port + id - 1 for id in running):
        listening = ", ".join(str(known[id].port) for id in sorted(running))
        raise Refusal(f"the sandbox already listens on {listening}: run `topicwarden sandbox down` first")
    used = {*reserved, *(number for id in running for number in known[id].numbers)}
    client_ports: dict[int, int] = {}
    for id in range(1, brokers + 1):
        if id in running:
            client_ports[id] = known[id].port
            continue
        requested = None if port is None else port + id - 1
        if requested and (requested in used or not is_free(requested)):
            raise Refusal(
                f"port {requested} is in use: stop the program that uses it, select another port with --port, "
                "or omit --port"
            )
        preferred = requested or (known[id].port if id in known else BROKERS_FROM + id - 1)
        client_ports[id] = free_port(preferred, used)
        used.add(client_ports[id])
    assigned = []
    for id in range(1, brokers + 1):
        controller = known[id].controller_port if id in known else None
        if id <= QUORUM and id not in running:
            preferred = controller or (port or BROKERS_FROM) + CONTROLLER_PORT_OFFSET + id - 1
            free = free_port(preferred, used)
            if running and controller and free != controller:
                raise Refusal(
                    f"port {controller} of controller {id} is in use by another program: stop that program, "
                    "or run `topicwarden sandbox down` and then `topicwarden sandbox up`"
                )
            controller = free
            used.add(controller)
        user_port = known[id].user_port if id in known else None
        if id not in running:
            user_port = free_port(user_port or client_ports[id] + USER_PORT_OFFSET, used)
            used.add(user_port)
        assigned.append(BrokerPorts(id=id, port=client_ports[id], controller_port=controller, user_port=user_port))
    return tuple(assigned)


def free_port(preferred: int, used: Collection[int] = ()) -> int:
    """Return ``preferred`` if it is free, else the next free port.

    Systems give clients ports far above ``BROKERS_FROM``. A client could take such a port before the server listens.
    """
    ports = chain(range(preferred, 65536), range(BROKERS_FROM, preferred))
    return next(port for port in ports if port not in used and is_free(port))
