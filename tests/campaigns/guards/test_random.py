"""Run a small part of the random test; ``python -m tests.campaigns.guards`` runs all of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.campaigns.guards.cluster import HurriedCluster, hurried_cluster
from tests.campaigns.guards.draw import DAY, HOUR, Chance
from tests.campaigns.guards.judge import Before, judge
from tests.campaigns.guards.runner import Run, Tally, empty_plan
from tests.campaigns.guards.scenario import (
    Allow,
    Command,
    Configure,
    Layer,
    RemoveFile,
    Resize,
    Scenario,
    Step,
    TopicStart,
    Verb,
    Write,
)
from topicwarden.model.topic import Allowance, AllowedChange
from topicwarden.toolchain import Toolchain

SEED, SEQUENCES, STEPS = "20261122", 6, 3


@pytest.fixture(scope="module")
def cluster(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HurriedCluster]:
    with hurried_cluster(tmp_path_factory.mktemp("guards")) as cluster:
        yield cluster


def start(name: str) -> TopicStart:
    write = Write(name, (3 * DAY, 2 * HOUR, 0))
    return TopicStart(name, "orders", 1, 3, (("retention.ms", "-1"), ("segment.ms", str(HOUR))), (), (write,))


def test_nothing_is_lost_without_an_allowance(cluster: HurriedCluster, tmp_path: Path) -> None:
    tally = Tally()
    drawn = Chance("ga", f"{SEED}/0").scenario(SEQUENCES)
    scenario = replace(drawn, steps=drawn.steps[:STEPS])
    print("\n".join(scenario.lines()))
    Run(cluster, scenario, tmp_path / "project", tally).run()
    print("\n".join(tally.lines()))
    assert [str(violation) for violation in tally.violations] == []
    assert tally.commands.total() >= 1


def allow_change(topic: str, word: AllowedChange) -> Allow:
    return Allow(topic, (Allowance(word),))


TARGETED = Command(Verb.UP, (), "--target", ("gc-1",))
WAYS = {
    "a permit that is withdrawn before its change, which a targeted deploy left out, is applied": Scenario(
        "gc",
        (start("gc-0"), start("gc-1")),
        (
            Step(
                (
                    Configure("gc-0", (("retention.ms", str(DAY)),)),
                    allow_change("gc-0", AllowedChange.SHRINK_RETENTION),
                ),
                TARGETED,
            ),
            Step((Allow("gc-0", ()),), Command()),
        ),
    ),
    "a deletion that only a targeted deploy without the topic has seen allowed": Scenario(
        "gc",
        (start("gc-0"), start("gc-1")),
        (
            Step((allow_change("gc-0", AllowedChange.DELETE),), TARGETED),
            Step((RemoveFile("gc-0"),), Command()),
        ),
    ),
    "a topic that was created again as allowed is destroyed": Scenario(
        "gc",
        (replace(start("gc-0"), partitions=2),),
        (
            Step((allow_change("gc-0", AllowedChange.RECREATE), Resize("gc-0", 1)), Command()),
            Step((), Command(Verb.DESTROY, (), "--target", ("gc-0",))),
        ),
    ),
}
"""Reduced scenarios that random tests and their variations have found."""


@pytest.mark.parametrize("scenario", WAYS.values(), ids=WAYS.keys())
def test_known_bypasses_of_the_guards_are_refused(scenario: Scenario, cluster: HurriedCluster, tmp_path: Path) -> None:
    tally = Tally()
    Run(cluster, scenario, tmp_path / "project", tally).run()
    assert [str(violation) for violation in tally.violations] == []
    assert tally.steps == 2


def test_a_loss_outside_of_a_deploy_is_detected_on_disk(cluster: HurriedCluster, tmp_path: Path) -> None:
    """A change that the guard refuses is made by hand, and judged as if a command had made it."""
    refused = Step((Configure("gb.v1", (("retention.ms", str(DAY)),), Layer.FILE),), Command())
    tally = Tally()
    run = Run(cluster, Scenario("gb", (start("gb.v1"),), (refused,)), tmp_path / "project", tally)
    run.begin()
    run.step(0, refused)
    assert (tally.refused, tally.violations) == (1, [])
    was = cluster.observe("gb")
    known = Before(was, empty_plan(), {}, frozenset(), frozenset(was))
    cluster.set_by_hand("gb.v1", (("retention.ms", str(DAY)),))
    cluster.settle("gb")
    faults = judge(known, Command(), cluster.observe("gb"), int(time.time() * 1000)).faults
    assert [fault.kind for fault in faults] == ["lost-silently", "weaker-silently"]
    assert "12 of " in faults[0].detail
    cluster.delete_all("gb")
