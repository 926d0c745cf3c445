"""Run a small part of the proof of use checks; ``python -m tests.campaigns.usage`` runs all of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.campaigns.usage.clients import Kind
from tests.campaigns.usage.cluster import UsageCluster, usage_cluster
from tests.campaigns.usage.histories import Tally, run_histories
from tests.campaigns.usage.planted import plant
from tests.campaigns.usage.traps import spring

SEED = "20261124"
PLANTED, HISTORIES = 1, 1
TRAPS = (
    "a member crashed",
    "an open transaction is aborted",
    "an observation of other access sees no groups",
    "the clock is set back",
    "the clock was ahead",
)


@pytest.fixture(scope="module")
def cluster(java: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[UsageCluster]:
    print(f"seed {SEED}")
    with usage_cluster(java, tmp_path_factory.mktemp("usage"), brokers=1) as running:
        yield running


def test_undeclared_users_of_each_kind_are_found(cluster: UsageCluster) -> None:
    kinds = (Kind.CLASSIC, Kind.CONSUMER, Kind.SHARE, Kind.MANUAL, Kind.TRANSACTIONAL, Kind.IDEMPOTENT)
    found = plant(cluster, None, PLANTED, SEED, kinds)
    assert found.missed == []
    assert found.claimed == []
    assert found.planted == dict.fromkeys(kinds, PLANTED)


def test_legitimate_users_are_not_reported(cluster: UsageCluster) -> None:
    tally = Tally()
    run_histories(cluster, range(HISTORIES), SEED, tally, rounds=3)
    assert tally.wrong == []
    assert tally.verdicts["undeclared-consumer", "pass"] > 0


@pytest.mark.parametrize("trap", TRAPS)
def test_what_looks_like_undeclared_use_is_not_reported(cluster: UsageCluster, trap: str) -> None:
    for of, false_fails in spring(cluster, SEED, (trap,)).items():
        assert false_fails == [], of
