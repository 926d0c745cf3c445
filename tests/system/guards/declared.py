"""The YAML files of a scenario's project, and Pulumi for its one stack."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.support.projects import Shell, project_of
from tests.system.guards.scenario import (
    Allow,
    Configure,
    Layer,
    RemoveFile,
    RenameFile,
    Resize,
    RestoreFile,
    TopicStart,
)
from topicwarden.cli.plan import planned
from topicwarden.deploy.pulumi_engine import TOPIC_TYPE, PulumiEngine
from topicwarden.model.planned_change import PlanReport
from topicwarden.model.topic import Allowance, Permission
from topicwarden.toolchain import environment

STACK = "dev"


@dataclass
class DeclaredTopic:
    """One topic's YAML document, as edited so far."""

    folder: str
    partitions: int
    replication_factor: int
    config: dict[str, str]
    permits: tuple[Permission, ...]
    stack_config: dict[str, str] = field(default_factory=dict)
    present: bool = True

    def document(self) -> dict[str, Any]:
        stacks = {"stacks": {STACK: {"config": _typed(self.stack_config)}}} if self.stack_config else {}
        return {
            "owner": "team",
            "partitions": self.partitions,
            "replication_factor": self.replication_factor,
            "config": _typed(self.config),
            "allow": [_permit(permit) for permit in self.permits],
            **stacks,
        }

    def allowed(self) -> frozenset[Allowance]:
        today = datetime.now(UTC).date()
        return frozenset(permit.change for permit in self.permits if permit.valid_on(today))


@dataclass(frozen=True)
class Copied:
    """All that is declared, at one moment."""

    topics: dict[str, DeclaredTopic]
    defaults: dict[str, dict[str, str]]


class ProjectFiles:
    """A project in a folder of its own, with a state of its own."""

    def __init__(self, root: Path, starts: Sequence[TopicStart]) -> None:
        self.topics: dict[str, DeclaredTopic] = {
            start.name: DeclaredTopic(
                start.folder,
                start.partitions,
                start.replication_factor,
                {name: value for name, value in start.config if value is not None},
                start.permits,
            )
            for start in starts
        }
        self._defaults: dict[str, dict[str, str]] = {}
        self.project = project_of(root, {})
        state = root / "state"
        state.mkdir()
        self.shell = Shell(root, {**environment(self.project), "PULUMI_BACKEND_URL": state.as_uri()})
        self._engine = PulumiEngine(self.project, STACK, self.shell.variables)
        self.write()
        made = self.pulumi("stack", "init", STACK, stack=False)
        assert made.returncode == 0, made.stderr

    def edit(self, action: Configure | Resize | Allow | RemoveFile | RestoreFile | RenameFile) -> str | None:
        """Carry out an edit; return the new name of a topic that was renamed."""
        topic = self.topics.get(action.topic)
        if topic is None:
            return None
        match action:
            case Configure():
                target = {
                    Layer.FILE: topic.config,
                    Layer.STACK: topic.stack_config,
                    Layer.DEFAULTS: self._defaults.setdefault(topic.folder, {}),
                }[action.layer]
                for name, value in action.settings:
                    if value is None:
                        target.pop(name, None)
                    else:
                        target[name] = value
            case Resize():
                topic.partitions = action.partitions or topic.partitions
                topic.replication_factor = action.replication_factor or topic.replication_factor
            case Allow():
                topic.permits = action.permits
            case RemoveFile():
                topic.present = False
            case RestoreFile():
                topic.present = True
            case RenameFile():
                topic.present = False
                renamed = f"{action.topic}-renamed"
                self.topics[renamed] = DeclaredTopic(**{**vars(topic), "present": True})
                return renamed
        return None

    def write(self) -> None:
        files = {
            f"{topic.folder}/{name}.yaml": json.dumps(topic.document())
            for name, topic in self.topics.items()
            if topic.present
        }
        files |= {
            f"{folder}/_defaults.yaml": json.dumps({"config": _typed(config)})
            for folder, config in self._defaults.items()
        }
        for file in self.project.topics.rglob("*.yaml"):
            if str(file.relative_to(self.project.topics)) not in files:
                file.unlink()
        project_of(self.project.root, files)

    def copied(self) -> Copied:
        """Return a copy of all that is declared, to be given to ``revert``."""
        topics = {
            name: DeclaredTopic(
                **{**vars(topic), "config": dict(topic.config), "stack_config": dict(topic.stack_config)}
            )
            for name, topic in self.topics.items()
        }
        return Copied(topics, {folder: dict(config) for folder, config in self._defaults.items()})

    def revert(self, copied: Copied) -> None:
        self.topics, self._defaults = copied.topics, copied.defaults
        self.write()

    def plan(self) -> PlanReport:
        """Return what `topicwarden plan` finds; refuses YAML that does not hold."""
        return planned(self.project, STACK, self._engine)

    def pulumi(self, *arguments: str, stack: bool = True) -> subprocess.CompletedProcess[str]:
        named = ("--stack", STACK) if stack else ()
        return self.shell.run("pulumi", *arguments, *named, "--non-interactive")

    def urns(self) -> dict[str, str]:
        """Return the URN of each topic that the state holds under the program's own URN."""
        found = {one["urn"]: one for one in self._engine.resources() if one["type"] == TOPIC_TYPE}
        return {urn.rpartition("::")[2]: urn for urn in found}

    def urn(self, topic: str) -> str:
        """Return the URN that the program gives a topic, also before the state holds it."""
        chain = f"topicwarden:index:TopicSet$topicwarden:index:Domain${TOPIC_TYPE}"
        return f"urn:pulumi:{STACK}::topicwarden::{chain}::{topic}"


def _permit(permit: Permission) -> Any:
    return {"change": permit.change.value, "until": str(permit.until)} if permit.until else permit.change.value


def _typed(config: dict[str, str]) -> dict[str, Any]:
    return {name: _value(name, value) for name, value in sorted(config.items())}


def _value(name: str, value: str) -> Any:
    if name == "cleanup.policy" or name.endswith("throttled.replicas"):
        return value.split(",")
    if value in ("true", "false"):
        return value == "true"
    try:
        return float(value) if "." in value else int(value)
    except ValueError:
        return value
