"""Test that access in the state of a stack that an earlier version deployed is unchanged: ``states/`` has one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import copy
from typing import Any

import pytest

from topicwarden.deploy.access_state import ACCESS_RESOURCES, deployed_access, recorded_access
from topicwarden.kinds.access_resource import ACCESS_SET_TYPE
from topicwarden.kinds.scram_user.change import USERS
from topicwarden.model.access import DeclaredAccess, LiveAccess
from topicwarden.plan.access_change import access_change
from topicwarden.specs.access_files import load_access, resolve_access

STATES = Path(__file__).parent / "states"
STATE: list[Mapping[str, Any]] = json.loads((STATES / "access.json").read_text(encoding="utf-8"))
"""What the version before kinds had folders registered for ``states/access.yaml``."""


@pytest.fixture
def declared(tmp_path: Path) -> DeclaredAccess:
    folder = tmp_path / "access"
    folder.mkdir()
    copy(STATES / "access.yaml", folder)
    loaded = load_access(folder, tmp_path, ())
    resolved = resolve_access(loaded, (), None)
    assert (loaded.problems, resolved.problems) == ((), ())
    return resolved.access


def registered(access: DeclaredAccess) -> Iterator[dict[str, Any]]:
    """Yield what the program registers, in the form of `pulumi stack export`."""
    set_urn = f"urn:pulumi:dev::shop::{ACCESS_SET_TYPE}"
    yield {"type": ACCESS_SET_TYPE, "urn": f"{set_urn}::dev", "outputs": recorded_access(access, access.part(USERS))}
    for kind in ACCESS_RESOURCES:
        for key, value in access.part(kind.part).items():
            urn = f"{set_urn}${kind.type(key)}::{kind.name(key)}"
            yield {"type": kind.type(key), "urn": urn, "inputs": kind.properties(key, value)}


def test_the_program_registers_what_the_state_has(declared: DeclaredAccess) -> None:
    def by_urn(resources: list[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
        return {resource["urn"]: resource for resource in resources}

    assert by_urn(json.loads(json.dumps([*registered(declared)]))) == by_urn(STATE)


def test_a_plan_shows_no_change(declared: DeclaredAccess) -> None:
    deployed = deployed_access(STATE)
    change = access_change(declared, deployed, LiveAccess())
    assert (change.items, change.undeclared, deployed.undeclared) == ([], (), ())
    assert change.unchanged() == declared.size > 20
