"""The report of `topicwarden doctor`: what is installed, what the cluster offers, and what each command can do.

These models are the published schema of ``topicwarden doctor --format json`` (``topicwarden schema doctor``).
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from topicwarden.model.field_types import StrictModel
from topicwarden.model.message_text import counted


class Ability(StrEnum):
    """The ability of a command. A limited command runs, and names what it misses."""

    READY = "ready"
    LIMITED = "limited"
    UNABLE = "cannot run"


class Possession(StrEnum):
    """The state of a permission of the user, as far as it can be found out without any effect."""

    GRANTED = "granted"
    MISSING = "missing"
    UNNEEDED = "missing, not needed now"
    UNTESTED = "not tested"


class InstalledPart(StrictModel):
    """A program or package that commands need."""

    name: str
    version: str | None = Field(description="Null if it is missing or too old.")
    commands: list[str] = Field(description="The commands that need it.")
    remedy: str = ""


class ClusterFacts(StrictModel):
    """The cluster that the stack's settings lead to."""

    cluster_id: str | None
    kafka: str | None = Field(description="The Kafka line of metadata.version; null if the brokers report none.")
    mode: str | None = Field(description="KRaft or ZooKeeper; null if the brokers are neither.")
    features: dict[str, int] = Field(description="Finalized features with their levels.")
    brokers: int
    topics: int = Field(description="Topics that this user sees.")
    groups: int = Field(description="Consumer groups that this user sees.")


class AbsentApi(StrictModel):
    """An API that not all brokers offer, and what is lost without it."""

    name: str
    version: int = Field(description="The version that is needed.")
    commands: list[str]
    lost: str


class PermissionState(StrictModel):
    """The state of one permission of the user. It has two if commands miss it on different topics."""

    permission: str
    state: Possession
    commands: list[str] = Field(description="The commands that need it.")
    topics: list[str] = Field(default=[], description="The topics or groups on which it is missing or not tested.")
    of: int = Field(default=0, description="The number of topics or groups on which it is needed; 0 for Cluster.")
    lost: dict[str, str] = Field(default={}, description="What is lost without it, by command.")
    reason: str = Field(default="", description="Why it was not tested.")

    @property
    def extent(self) -> str:
        """The share of topics or groups that ``topics`` are, such as `` on 3 of 12 topics``; empty for Cluster."""
        if not self.of or not self.topics:
            return ""
        noun = "group" if self.permission.endswith("Group") else "topic"
        return f" on {len(self.topics):,} of {counted(self.of, noun)}"


class RegistryState(StrictModel):
    """The Schema Registry that the stack's settings name."""

    url: str | None = Field(default=None, description="Its address, without a user; null if it does not answer.")
    commands: list[str] = Field(description="The commands that need it.")
    subjects: int | None = Field(default=None, description="Subjects that this user sees.")
    mode: str | None = Field(default=None, description="Such as READWRITE or READONLY; null if it has no modes.")
    compatibility: str | None = Field(default=None, description="The level of subjects that have none of their own.")
    problem: str = Field(default="", description="Why it cannot be used, and what to do.")


class CommandState(StrictModel):
    """The ability of one command, with what it misses."""

    command: str
    ability: Ability
    reasons: list[str] = Field(default=[])


class CheckState(StrictModel):
    """A check of the audit that is undecidable, at least for some topics."""

    check: str
    reasons: list[str]


class Diagnosis(StrictModel):
    """The whole report. Without a stack, it has only the installed parts and the commands that they allow."""

    topicwarden: str
    stack: str | None
    commands: list[CommandState]
    parts: list[InstalledPart]
    cluster: ClusterFacts | None = None
    registry: RegistryState | None = Field(default=None, description="Null if the stack sets no Schema Registry.")
    missing_apis: list[AbsentApi] = Field(default=[])
    permissions: list[PermissionState] = Field(default=[])
    checks: int = Field(default=0, description="The number of checks of the audit.")
    undecidable: list[CheckState] = Field(default=[])

    @property
    def healthy(self) -> bool:
        """True if every command can do all its work."""
        return all(command.ability is Ability.READY for command in self.commands)
