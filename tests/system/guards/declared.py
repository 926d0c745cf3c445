"""Write the YAML files of a scenario's project, and run Pulumi for its only stack."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.support.projects import empty_stack, project_of, write_topics
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

STACK = "dev"


@dataclass
class DeclaredTopic:
    """The YAML document of one topic, with all edits so far."""

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
    """All declarations at one point in time."""

    topics: dict[str, DeclaredTopic]
    defaults: dict[str, dict[str, str]]


class ProjectFiles:
    """A project with its own folder and its own Pulumi state."""

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
        self.shell = empty_stack(self.project, root / "state")
        self._engine = PulumiEngine(self.project, STACK, self.shell.variables)
        self.write()

    def edit(self, action: Configure | Resize | Allow | RemoveFile | RestoreFile | RenameFile) -> str | None:
        """Apply an edit; return the new name of a renamed topic."""
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
        write_topics(self.project, files)

    def copied(self) -> Copied:
        """Return a copy of all declarations for ``revert``."""
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
        """Return the result of `topicwarden plan`. Invalid YAML is refused."""
        return planned(self.project, STACK, self._engine)

    def pulumi(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.shell.run("pulumi", *arguments, "--stack", STACK, "--non-interactive")

    def urns(self) -> dict[str, str]:
        """Return the URN of each topic that the state contains under the program's own URN."""
        found = {one["urn"]: one for one in self._engine.resources() if one["type"] == TOPIC_TYPE}
        return {urn.rpartition("::")[2]: urn for urn in found}

    def urn(self, topic: str) -> str:
        """Return the URN that the program gives a topic, even if the state does not contain the topic yet."""
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
