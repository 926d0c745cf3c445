"""Provide the tools that `make setup` installed, and set the order of the test tiers."""

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
"""Folders whose files may run at the same time: each worker has its own cluster for them."""
_DEFAULT_PORTS = ("system/sandbox", "system/workflows", "system/example")
"""Folders that start a sandbox with the command. The sandbox uses the default ports, so these tests run in sequence."""


def pytest_configure() -> None:
    # A shell that starts a background job makes the job ignore SIGINT, and every child process inherits this.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Two workers that look for free ports at the same time would find the same ports.
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
    """Return Java, the jars and Pulumi. If they are not installed, fail with instructions."""
    try:
        return toolchain(Project(REPOSITORY))
    except Refusal as refusal:
        pytest.fail(str(refusal), pytrace=False)


@pytest.fixture(scope="session")
def java(tools: Toolchain) -> Path:
    return tools.java


@pytest.fixture(scope="session")
def jars(tools: Toolchain) -> Path:
    """Return the folder of Kafka's jars."""
    return tools.kafka_jars
