"""What several rooms' tests need: the parts that `make setup` installed, and the slow tests last."""

from __future__ import annotations

from pathlib import Path

import pytest

from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.toolchain import Toolchain, toolchain

REPOSITORY = Path(__file__).parents[1]
_SLOW_ROOMS = (
    *("engine", "sandbox", "rebalance", "adopt", "foretold", "guards", "workflows"),
    *("contents", "history", "internal", "soundness", "cluster"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Units first, then what starts brokers and engines."""
    items.sort(key=lambda item: next((n for n, room in enumerate(_SLOW_ROOMS, 1) if room in item.path.parts), 0))


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
