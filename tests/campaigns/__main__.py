"""Run the campaigns at full length, each time with another seed: ``make campaigns [ONLY=name] [SEED=number]``."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.conftest import REPOSITORY

_ROUNDS: Final = {"TOPICWARDEN_KILLS": "10", "TOPICWARDEN_AGREEMENTS": "10"}


@dataclass(frozen=True)
class ModuleRun:
    """A module of ``tests`` with its arguments."""

    name: str
    arguments: tuple[str, ...] = ()
    seeded: bool = True

    def command(self, seed: int) -> list[str]:
        return [sys.executable, "-m", self.name, *self.arguments, *(["--seed", str(seed)] if self.seeded else [])]

    def variables(self, _seed: int) -> dict[str, str]:
        return {}


@dataclass(frozen=True)
class PytestRun:
    """Tests that environment variables repeat more often, with another seed."""

    paths: tuple[str, ...]
    options: tuple[str, ...] = ()
    rounds: Mapping[str, str] = field(default_factory=lambda: _ROUNDS)

    def command(self, _seed: int) -> list[str]:
        return [sys.executable, "-m", "pytest", "-s", "--campaign", "--fail-on-flaky", *self.options, *self.paths]

    def variables(self, seed: int) -> dict[str, str]:
        return {**self.rounds, "TOPICWARDEN_SEED": str(seed)}


def _module(name: str, *arguments: str, seeded: bool = True) -> ModuleRun:
    return ModuleRun(f"tests.campaigns.{name}", arguments, seeded)


def _tests(name: str) -> PytestRun:
    return PytestRun((f"tests/campaigns/{name}",))


CAMPAIGNS: Final[Mapping[str, tuple[ModuleRun | PytestRun, ...]]] = {
    "access": (_module("access", "--sequences", "100"),),
    "authorizer": (_module("authorizer", "--draws", "20"),),
    "cleaned": (_tests("cleaned"),),
    "codecs": (_module("codecs", "--count", "100000"),),
    "compatibility": (_module("compatibility", "--pairs", "330"),),
    "conformance": (_module("conformance", seeded=False),),
    "deploys": (
        _module("deploys", "--kills", "50"),
        PytestRun(
            (
                *("tests/engine/importing/test_kills.py", "tests/engine/rebalance/test_kills.py"),
                "tests/engine/provider/test_access_kills.py",
                *("tests/engine/predictions/test_agreement.py", "tests/engine/predictions/test_faults.py"),
                "tests/engine/predictions/test_identity.py",
            )
        ),
    ),
    "examples": (PytestRun(("tests/unit",), ("--hypothesis-profile", "nightly")),),
    "faults": (_module("faults", "--rounds", "1"),),
    "guards": (_module("guards", "--sequences", "300"),),
    "history": (_module("history", "--rounds", "200"),),
    "hostile": (_module("hostile", "--records", "2000"),),
    "inference": (_module("inference", "--topics", "300"),),
    "nightly": (
        PytestRun(
            ("tests",),
            (
                *("--nightly", "-n", "3"),
                *("--ignore=tests/campaigns/official_provider", "--ignore=tests/campaigns/pulumi_versions"),
            ),
            rounds={},
        ),
    ),
    "notices": (_tests("notices"),),
    "official_provider": (_module("official_provider", seeded=False), _tests("official_provider")),
    "pulumi_versions": (_module("pulumi_versions", "--kills", "10"),),
    "readability": (_module("readability", "--pairs", "2000"),),
    "records": (
        PytestRun(
            ("tests/broker/contents/test_dataframe_counts.py", "tests/broker/contents/test_subjects.py"),
            rounds={**_ROUNDS, "TOPICWARDEN_ROUNDS": "6"},
        ),
        PytestRun(("tests/broker/schema_registry/test_same_schema.py",), rounds={"TOPICWARDEN_AGREEMENTS": "400"}),
        PytestRun(("tests/broker/schema_registry/test_import_subjects.py",), rounds={"TOPICWARDEN_SUBJECTS": "200"}),
    ),
    "redrive": (_tests("redrive"),),
    "soundness": (_module("soundness", "--histories", "300", "--faults", "20"),),
    "subjects": (_tests("subjects"),),
    "usage": (_module("usage", "--planted", "20", "--legitimate", "100"), PytestRun(("tests/system/usage",))),
    "versions": (_module("versions", seeded=False),),
    "watch": (_tests("watch"),),
}
"""The commands of each campaign. Their numbers are its full length."""


def main() -> int:
    """Run the selected campaigns one after the other; return 1 if a command failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns", description=__doc__)
    parser.add_argument("--only", choices=sorted(CAMPAIGNS), help="one campaign; default: all")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="default: the time")
    parser.add_argument("--list", action="store_true", help="print the commands, and run none")
    selected = parser.parse_args()
    names = [selected.only] if selected.only else list(CAMPAIGNS)
    failed: list[str] = []
    for name, command, variables in _commands(names, selected.seed):
        text = " ".join([*(f"{key}={value}" for key, value in variables.items()), "python", *command[1:]])
        print(text if selected.list else f"{name}, seed {selected.seed}: {text}", flush=True)
        if not selected.list:
            began = time.monotonic()
            code = subprocess.run(command, cwd=REPOSITORY, env={**os.environ, **variables}, check=False).returncode
            print(f"{name}: exit code {code}, {time.monotonic() - began:.0f} s", flush=True)
            if code and name not in failed:
                failed.append(name)
    for name in failed:
        print(f"failed: make campaigns ONLY={name} SEED={selected.seed}")
    return 1 if failed else 0


def _commands(names: list[str], seed: int) -> Iterator[tuple[str, list[str], dict[str, str]]]:
    for name in names:
        for part in CAMPAIGNS[name]:
            yield name, part.command(seed), part.variables(seed)


if __name__ == "__main__":
    sys.exit(main())
