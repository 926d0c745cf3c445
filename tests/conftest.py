"""The parts that `make setup` installed, and the order of the tiers."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import settings

from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.toolchain import Toolchain, toolchain

REPOSITORY = Path(__file__).parents[1]
# `pytest --hypothesis-profile nightly` tries more examples.
settings.register_profile("suite", max_examples=50, deadline=None)
settings.register_profile("nightly", max_examples=2_000, deadline=None)
settings.load_profile("suite")

TIERS = ("unit", "spark", "engine", "broker", "system", "soundness")


def pytest_configure() -> None:
    # A shell that starts a job in the background ignores SIGINT in it, and every child process inherits that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests by tier."""
    items.sort(key=lambda item: TIERS.index(item.path.relative_to(REPOSITORY / "tests").parts[0]))


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
