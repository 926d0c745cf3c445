"""Write the YAML files of a scenario's project, and run Pulumi for its only stack."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import yaml

from tests.campaigns.guards.scenario import (
    IMPORTED,
    RENAMED,
    Allow,
    Configure,
    Layer,
    RemoveFile,
    RenameFile,
    Resize,
    RestoreFile,
    TopicStart,
)
from tests.support.projects import empty_stack, project_of, write_topics
from tests.support.warm_python import SOCKET
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.kinds.topic.resource import TOPIC_TYPE
from topicwarden.model.planned_change import PlanReport
from topicwarden.model.topic import Allowance, AllowedChange
from topicwarden.operations.plan import planned

STACK, OTHER_STACK = "dev", "other"
_UNTIL: Final = re.compile(r'(\\*"until\\*": *\\*")(\d{4}-\d\d-\d\d)')
"""A date in the state, which may be in JSON within JSON."""
_PASSED: Final = timedelta(days=2)


@dataclass
class DeclaredTopic:
    """The YAML document of one topic, with all edits so far."""

    folder: str
    partitions: int
    replication_factor: int
    config: dict[str, str]
    allowances: tuple[Allowance, ...]
    stack_config: dict[str, str] = field(default_factory=dict)
    present: bool = True

    def document(self) -> dict[str, Any]:
        stacks = {"stacks": {STACK: {"config": _typed(self.stack_config)}}} if self.stack_config else {}
        return {
            "owner": "team",
            "partitions": self.partitions,
            "replication_factor": self.replication_factor,
            "config": _typed(self.config),
            "allow": [_allow_entry(allowance) for allowance in self.allowances],
            **stacks,
        }

    def allowed(self) -> frozenset[AllowedChange]:
        return in_force(self.allowances)


def in_force(allowances: Sequence[Allowance]) -> frozenset[AllowedChange]:
    """Return what is allowed today."""
    today = datetime.now(UTC).date()
    return frozenset(allowance.change for allowance in allowances if allowance.valid_on(today))


def days_later(allowances: Sequence[Allowance]) -> tuple[Allowance, ...]:
    """Return the allows as they are when days have passed: their last days are that much earlier."""
    return tuple(replace(each, until=each.until - _PASSED) if each.until else each for each in allowances)


@dataclass(frozen=True)
class Copied:
    """All declarations at one point in time."""

    topics: dict[str, DeclaredTopic]
    defaults: dict[str, dict[str, str]]


class ProjectFiles:
    """A project with its own folder and its own Pulumi state; ``servers`` are the addresses of its cluster."""

    def __init__(self, root: Path, starts: Sequence[TopicStart], servers: Sequence[str]) -> None:
        self.topics: dict[str, DeclaredTopic] = {
            start.name: DeclaredTopic(
                start.folder,
                start.partitions,
                start.replication_factor,
                {name: value for name, value in start.config if value is not None},
                start.allowances,
            )
            for start in starts
        }
        self._defaults: dict[str, dict[str, str]] = {}
        self.project = project_of(root, {})
        self.shell = empty_stack(self.project, root / "state", {"PULUMI_CONFIG_PASSPHRASE": "guards"})
        self._connect(servers)
        self._state_file = root / "exported.json"
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
                topic.allowances = action.allowances
            case RemoveFile():
                topic.present = False
            case RestoreFile():
                topic.present = True
            case RenameFile():
                topic.present = False
                renamed = f"{action.topic}{RENAMED}"
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
        return planned(self._engine)

    def pulumi(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.shell.run("pulumi", *arguments, "--stack", STACK, "--non-interactive")

    def beside(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start ``pulumi`` in a PID namespace of its own, as in another container with the same host name."""
        namespace = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
        variables = {name: value for name, value in self.shell.variables.items() if name != SOCKET}
        return subprocess.Popen(
            [*namespace, "pulumi", *arguments, "--stack", STACK, "--non-interactive"],
            cwd=self.project.root,
            env={**os.environ, **variables, SOCKET: ""},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    @contextmanager
    def connected_to(self, servers: Sequence[str]) -> Iterator[None]:
        """Give the stack other servers during the block."""
        path = self._settings_file
        before = path.read_bytes()
        self._connect(servers)
        try:
            yield
        finally:
            path.write_bytes(before)

    def _connect(self, servers: Sequence[str]) -> None:
        settings = yaml.safe_load(self._settings_file.read_text(encoding="utf-8"))
        settings["config"] = {"kafka:bootstrapServers": [*servers], "kafka:tlsEnabled": False}
        self._settings_file.write_text(yaml.safe_dump(settings), encoding="utf-8")

    @property
    def _settings_file(self) -> Path:
        return self.project.stacks / f"Pulumi.{STACK}.yaml"

    def export_state(self) -> None:
        """Export the state for ``restore_state``."""
        self._state_file.write_text(self.pulumi("stack", "export").stdout, encoding="utf-8")

    def restore_state(self) -> bool:
        """Import the exported state; return whether that succeeded."""
        return self.pulumi("stack", "import", "--file", str(self._state_file)).returncode == 0

    def days_pass(self) -> bool:
        """Make every ``until`` in the state and in the YAML earlier; return whether that succeeded."""
        state = self.pulumi("stack", "export").stdout
        path = self.project.root / "later.json"
        path.write_text(_UNTIL.sub(_earlier, state), encoding="utf-8")
        if self.pulumi("stack", "import", "--file", str(path)).returncode:
            return False
        for topic in self.topics.values():
            topic.allowances = days_later(topic.allowances)
        return True

    def unprotected(self) -> frozenset[str]:
        """Return the topics of the state that the engine does not protect."""
        resources = json.loads(self.pulumi("stack", "export").stdout)["deployment"].get("resources", [])
        return frozenset(each["urn"].rsplit("::", 1)[1] for each in resources if not each.get("protect"))

    def move(self, topic: str) -> None:
        """Move a topic's resource to another stack of the project."""
        settings = self.project.stacks / f"Pulumi.{OTHER_STACK}.yaml"
        if not settings.exists():
            self.shell.run("pulumi", "stack", "init", OTHER_STACK, "--non-interactive")
            settings.unlink(missing_ok=True)
        stacks = ("--source", STACK, "--dest", OTHER_STACK)
        self.shell.run("pulumi", "state", "move", *stacks, "--yes", "--include-parents", self.urn(topic))

    def urn(self, topic: str, suffix: str = "") -> str:
        """Return the URN that the program gives a topic, even if the state does not contain the topic yet.

        ``suffix``: return the URN of the topic's imported or renamed resource.
        """
        if suffix == IMPORTED:
            return f"urn:pulumi:{STACK}::topicwarden::{TOPIC_TYPE}::{topic}{suffix}"
        chain = f"topicwarden:index:TopicSet$topicwarden:index:Domain${TOPIC_TYPE}"
        return f"urn:pulumi:{STACK}::topicwarden::{chain}::{topic}{suffix}"


def _earlier(found: re.Match[str]) -> str:
    return found[1] + str(date.fromisoformat(found[2]) - _PASSED)


def _allow_entry(allowance: Allowance) -> Any:
    return (
        {"change": allowance.change.value, "until": str(allowance.until)} if allowance.until else allowance.change.value
    )


def _typed(config: dict[str, str]) -> dict[str, Any]:
    return {name: _value(name, value) for name, value in sorted(config.items())}


def _value(name: str, value: str) -> Any:
    if name == "cleanup.policy" or name.endswith("throttled.replicas"):
        return [part for part in value.split(",") if part]
    if value in ("true", "false"):
        return value == "true"
    try:
        return float(value) if "." in value else int(value)
    except ValueError:
        return value
