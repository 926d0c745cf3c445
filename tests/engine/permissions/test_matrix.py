"""Take each permission from each command, and compare what the command does with the table that the documentation
shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.engine.permissions.scenes import (
    AUDITED,
    AuditScene,
    DestroyScene,
    ImportScene,
    InferScene,
    Observed,
    Permissions,
    PlanScene,
    RebalanceScene,
    RedriveScene,
    RefreshScene,
    Scene,
    UpScene,
    UsageScene,
    fill_audited,
    rules,
)
from tests.support.projects import project_of
from tests.support.restricted_user import RestrictedCluster
from topicwarden.operations.audit import auditing
from topicwarden.operations.doctor.command_permissions import (
    ADD_PARTITIONS,
    CHANGE_SETTINGS,
    COMMANDS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    MOVE_REPLICAS,
    READ_RECORDS,
    SEE_CLUSTER,
    SEE_TOPICS,
    THROTTLE_BROKERS,
    WRITE_RECORDS,
    Effect,
    RequiredPermission,
)
from topicwarden.operations.operation_options import AuditOptions

NEEDS_DECLARED_USE = {"undeclared-consumer", "undeclared-producer", "idle-topic"}
"""The checks that need declared access or a policy; see ``test_access.py``."""
NEEDS_SUBJECTS = {"schema-version", "unused-schema-version"}
"""The checks that need declared subjects; see ``tests/broker/contents/test_subjects.py``."""
NEEDS_EARLIER_AUDITS = {"compaction-gap", "hung-transaction", "resurrection", "tombstone-retention"}
"""Checks that judge nothing in a first audit; their permissions are tested in ``tests/unit/checks``."""

SCENES: Mapping[str, Callable[[RestrictedCluster, Path, Permissions, Sequence[int]], Scene]] = {
    "plan": PlanScene,
    "up": UpScene,
    "destroy": DestroyScene,
    "refresh": RefreshScene,
    "rebalance": RebalanceScene,
    "import": ImportScene,
    "usage": UsageScene,
    "infer": InferScene,
}

ROWS = [
    (command, number)
    for command, permissions in COMMANDS.items()
    if command != "watch"  # it runs audits, with the same row of the table
    for number in range(len(permissions) + 1)
]


def required(command: str, number: int) -> RequiredPermission | None:
    return COMMANDS[command][number - 1] if number else None


WHOLE = ("plan", "audit", "infer", "import", "refresh")
"""The commands whose rows all stay in the suite."""
IN_SUITE = {
    "up": (SEE_TOPICS, CREATE_TOPICS, CHANGE_SETTINGS, ADD_PARTITIONS, DELETE_TOPICS),
    "destroy": (SEE_TOPICS, DELETE_TOPICS),
    "rebalance": (CHANGE_SETTINGS, MOVE_REPLICAS, THROTTLE_BROKERS),
    "usage": (SEE_TOPICS, READ_RECORDS, SEE_CLUSTER),
    "redrive": (READ_RECORDS, WRITE_RECORDS),
}
"""The permissions that the suite takes from the other commands: those to write, and one of each further effect."""


def stays(command: str, number: int) -> bool:
    without = required(command, number)
    return command in WHOLE or without is None or without.permission in IN_SUITE[command]


@pytest.fixture(scope="module")
def scenes(
    cluster: RestrictedCluster, folder: Path, spark: SparkSession, request: pytest.FixtureRequest
) -> Iterator[Callable[[str], Scene]]:
    """Return a function that prepares what a command has to do, once for each command."""
    with ExitStack() as stack:

        @cache
        def scene(command: str) -> Scene:
            path, rows = folder / command, rows_in_this_run(request.session, command)
            if command in SCENES:
                return SCENES[command](cluster, path, COMMANDS[command], rows)
            if command == "redrive":
                return RedriveScene(cluster, path, COMMANDS[command], rows, spark)
            fill_audited(cluster.servers)
            project = project_of(path, {f"{name}.yaml": text for name, text in AUDITED.items()}, cluster.settings)
            return AuditScene(stack.enter_context(auditing(project, "dev", options=AuditOptions("none"))))

        yield scene


def rows_in_this_run(session: pytest.Session, command: str) -> list[int]:
    """Return the rows of a command that this run tests."""
    functions = (each for each in session.items if isinstance(each, pytest.Function) and hasattr(each, "callspec"))
    rows = [each.callspec.params for each in functions if {"command", "number"} <= each.callspec.params.keys()]
    return sorted({int(str(row["number"])) for row in rows if row["command"] == command})


def row_id(command: str, number: int) -> str:
    without = required(command, number)
    return f"{command}-without-{without and without.permission}"


@pytest.mark.nightly(
    "The suite keeps each row of plan and audit, and of the other commands each kind of effect.",
    stays=[row_id(command, number) for command, number in ROWS if stays(command, number)],
)
@pytest.mark.parametrize(("command", "number"), ROWS, ids=[row_id(*row) for row in ROWS])
def test_each_command_behaves_as_the_permission_table_says(
    cluster: RestrictedCluster, scenes: Callable[[str], Scene], command: str, number: int
) -> None:
    """The rows of a command run in this order; the first one has all permissions, and is compared with the others."""
    scene, without = scenes(command), required(command, number)
    with cluster.granted(rules(COMMANDS[command], without)):
        observed = scene.run(number)
    print(observed)
    assert "no Kafka cluster answers" not in observed.text
    assert "unexpected error" not in observed.text
    assert "Traceback" not in observed.text
    if without is None:
        assert observed.effect is None
        assert not re.search(r"\bgrant\b|lacks|denies|does not let|may not (read|see|describe)", observed.text)
    else:
        compare(command, without, observed)


def compare(command: str, without: RequiredPermission, observed: Observed) -> None:
    assert observed.effect is without.effect
    if command in ("up", "destroy") and observed.effect is Effect.LESS_PRECISE:
        return  # the plan, which is the same code, compares what is less precise
    assert observed.affected == {*without.affected} - NEEDS_EARLIER_AUDITS - NEEDS_DECLARED_USE - NEEDS_SUBJECTS
    assert re.search(rf"\b{without.permission.operation}\b", observed.text), "the message names the permission"


def test_a_move_without_a_throttle_needs_no_permission_to_throttle(cluster: RestrictedCluster, folder: Path) -> None:
    needed = (SEE_TOPICS, SEE_CLUSTER, MOVE_REPLICAS)
    permissions = tuple(each for each in COMMANDS["rebalance"] if each.permission in needed)
    scene = RebalanceScene(cluster, folder / "unthrottled", (), (0,))
    with cluster.granted(rules(permissions, None)):
        observed = scene.run(0, "--throttle", "unlimited", "--no-refresh")
    assert observed.effect is None, observed.text
