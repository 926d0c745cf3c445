"""Compare what a real Schema Registry does in a second with what `topicwarden` does with it, in the same run.

The benchmark starts Apicurio. A bare loop sends the same requests without any of topicwarden's code, with one
connection and with several; it is the lower bound. Then this reads as many subjects::

    .venv/bin/python benchmarks/registry.py [SUBJECTS]
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.registry import running_registry
from topicwarden.kafka.registry.client import CONNECTIONS, RegistryClient
from topicwarden.kafka.registry.read import read_registry
from topicwarden.kafka.registry.write import register
from topicwarden.model.subject import RegisteredSchema
from topicwarden.specs.stacks.registry_settings import RegistrySettings

ROUNDS = 3
_HEADERS = {"Content-Type": "application/vnd.schemaregistry.v1+json"}


def main() -> int:
    subjects = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    names = [f"orders-{number:05}-value" for number in range(subjects)]
    with tempfile.TemporaryDirectory() as folder, running_registry(Path(folder)) as url:
        register_all(url, [f"warm-{name}" for name in names], CONNECTIONS)
        print(f"{subjects:,} subjects")
        for connections in (1, 2, 4, CONNECTIONS, 16):
            register_with(url, names, connections)
        register_all(url, names, CONNECTIONS)
        for connections in (1, 2, 4, CONNECTIONS, 16, 32):
            read_with(url, names, connections)
    return 0


def register_with(url: str, names: list[str], connections: int) -> None:
    works: dict[str, Callable[[int], object]] = {
        "bare": lambda _: bare(url, renamed(names, f"bare-{connections}"), connections, post),
        "register": lambda _: register_all(url, renamed(names, f"ours-{connections}"), connections),
    }
    measure(f"registrations, {connections} connections", works, len(names), rounds=1)


def read_with(url: str, names: list[str], connections: int) -> None:
    works: dict[str, Callable[[int], object]] = {
        "bare": lambda _: bare(url, names, connections, get),
        "read_registry": lambda _: read_all(url, names, connections),
    }
    measure(f"reads, {connections} connections", works, len(names), rounds=ROUNDS)


def renamed(names: Iterable[str], prefix: str) -> list[str]:
    return [f"{prefix}-{name}" for name in names]


def measure(label: str, works: dict[str, Callable[[int], object]], subjects: int, *, rounds: int) -> None:
    """Print the median time of each work, in turn, and how many times the first one the others take."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds):
        for name, work in works.items():
            began = time.perf_counter()
            work(number)
            seconds[name].append(time.perf_counter() - began)
    first = median(next(iter(seconds.values())))
    for name, took in seconds.items():
        each = median(took)
        print(f"{label:32} {name:14} {each:6.2f} s {subjects / each:8,.0f} a second {each / first:6.2f}", flush=True)


def schema(name: str) -> RegisteredSchema:
    fields = [{"name": f"field_{number}", "type": ["null", "string"], "default": None} for number in range(20)]
    record = {"type": "record", "name": name.replace("-", "_"), "fields": fields}
    return RegisteredSchema("avro", json.dumps(record))


def register_all(url: str, names: list[str], connections: int) -> None:
    settings = RegistrySettings(url)
    with RegistryClient(settings, connections=connections) as client, ThreadPoolExecutor(connections) as threads:
        list(threads.map(lambda name: register(client, name, schema(name)), names))


def read_all(url: str, names: list[str], connections: int) -> None:
    with RegistryClient(RegistrySettings(url), connections=connections) as client:
        found = read_registry(client, names)
    assert all(subject.latest for subject in found.subjects.values())


def post(connection: HTTPConnection, path: str, name: str) -> None:
    body = json.dumps({"schema": schema(name).text})
    answered(connection, "POST", f"{path}/subjects/{name}/versions", body)


def get(connection: HTTPConnection, path: str, name: str) -> None:
    answered(connection, "GET", f"{path}/subjects/{name}/versions/latest")
    answered(connection, "GET", f"{path}/config/{name}")


def answered(connection: HTTPConnection, method: str, path: str, body: str | None = None) -> None:
    connection.request(method, path, body, _HEADERS)
    json.loads(connection.getresponse().read())


def bare(url: str, names: list[str], connections: int, request: Callable[[HTTPConnection, str, str], None]) -> None:
    address = urlsplit(url)
    opened = threading.local()

    def one(name: str) -> None:
        if not hasattr(opened, "connection"):
            opened.connection = HTTPConnection(address.hostname or "", address.port, timeout=10)
        try:
            request(opened.connection, address.path, name)
        except TimeoutError:
            print("the registry did not answer a bare request within 10 s", flush=True)
            opened.connection.close()
            request(opened.connection, address.path, name)

    with ThreadPoolExecutor(connections) as threads:
        list(threads.map(one, names))


if __name__ == "__main__":
    sys.exit(main())
