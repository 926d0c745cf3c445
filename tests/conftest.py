"""The parts that `make setup` installed, and the order of the tiers."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.sandbox import ports
from topicwarden.toolchain import Toolchain, toolchain

REPOSITORY = Path(__file__).parents[1]
# `pytest --hypothesis-profile nightly` tries more examples.
settings.register_profile("suite", max_examples=50, deadline=None)
settings.register_profile("nightly", max_examples=2_000, deadline=None)
settings.load_profile("suite")

TIERS = ("unit", "spark", "engine", "broker", "system", "soundness")


_BY_FILE = ("engine/predictions", "engine/processes")
"""Rooms whose files may run at the same time; each worker has a cluster of its own for them."""
_DEFAULT_PORTS = ("system/sandbox", "system/workflows", "system/example")
"""Rooms that start a sandbox by the command, which takes the default ports: one after the other."""


def pytest_configure() -> None:
    # A shell that starts a job in the background ignores SIGINT in it, and every child process inherits that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Two workers that look for free ports at the same moment would find the same ones.
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        ports.BROKERS_FROM += 1_000 * (1 + int(worker.removeprefix("gw")))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests by tier, and keep those that share a cluster in one worker of pytest-xdist."""
    items.sort(key=lambda item: TIERS.index(_parts(item)[0]))
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_group(_parts(item))))


def _parts(item: pytest.Item) -> tuple[str, ...]:
    return item.path.relative_to(REPOSITORY / "tests").parts


def _group(parts: tuple[str, ...]) -> str:
    room = "/".join(parts[:2])
    if room in _DEFAULT_PORTS:
        return "default ports"
    return "/".join(parts) if room in _BY_FILE else room


@pytest.fixture(scope="session")
def tools() -> Toolchain:
    """Java, the jars and Pulumi; fails, saying what to do, where they are not installed."""
    try:
        return toolchain(Project(REPOSITORY))
    except Refusal as refusal:
        pytest.fail(str(refusal), pytrace=False)


@pytest.fixture(scope="session")
def java(tools: Toolchain) -> Path:
    return tools.java


@pytest.fixture(scope="session")
def jars(tools: Toolchain) -> Path:
    """Kafka's."""
    return tools.kafka_jars
