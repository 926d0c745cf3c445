"""Define scenarios as plain data, drawn from a seed, so that a failing scenario can be reduced and run again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from topicwarden.model.topic import Allowance

Settings = tuple[tuple[str, str | None], ...]
"""Kafka's configurations by name. None unsets a configuration."""


class Layer(StrEnum):
    """The level at which a configuration is declared."""

    FILE = "file"
    DEFAULTS = "_defaults.yaml"
    STACK = "stacks section"


@dataclass(frozen=True)
class Configure:
    """Edit configurations in the YAML."""

    topic: str
    settings: Settings
    layer: Layer = Layer.FILE


@dataclass(frozen=True)
class Resize:
    """Edit partitions and replication factor in the YAML. None keeps a value."""

    topic: str
    partitions: int | None = None
    replication_factor: int | None = None


@dataclass(frozen=True)
class Allow:
    """Replace the allows in the YAML."""

    topic: str
    allowances: tuple[Allowance, ...]


@dataclass(frozen=True)
class RemoveFile:
    topic: str


@dataclass(frozen=True)
class RestoreFile:
    """Restore a removed YAML file with its old content."""

    topic: str


@dataclass(frozen=True)
class RenameFile:
    """Declare the topic under a new name in a new file, and delete the old declaration."""

    topic: str


@dataclass(frozen=True)
class SetByHand:
    """Alter configurations on the cluster incrementally, as ``kafka-configs --alter`` does."""

    topic: str
    settings: Settings


@dataclass(frozen=True)
class AddPartitionsByHand:
    topic: str
    partitions: int


@dataclass(frozen=True)
class DeleteByHand:
    """Delete the topic, as ``kafka-topics --delete`` does."""

    topic: str


@dataclass(frozen=True)
class Write:
    """Append a batch of records of each age (milliseconds; None is a record without a timestamp).

    If ``large``, each batch fills a segment. The oldest records come first, unless ``youngest_first``. ``aborted``: the
    records belong to transactions that are aborted.
    """

    topic: str
    ages: tuple[int | None, ...]
    keyless: bool = False
    large: bool = False
    youngest_first: bool = False
    aborted: bool = False


@dataclass(frozen=True)
class Commit:
    """Commit an offset in partition 0 for a consumer group."""

    topic: str
    offset: int


class StateCommand(StrEnum):
    """The commands of ``pulumi state`` that change one resource."""

    DELETE = "delete"
    MOVE = "move"
    PROTECT = "protect"
    RENAME = "rename"
    TAINT = "taint"
    UNPROTECT = "unprotect"
    UNTAINT = "untaint"


@dataclass(frozen=True)
class InState:
    """Run a ``pulumi state`` command for the topic's resource. ``move`` takes it to another stack."""

    topic: str
    command: StateCommand


@dataclass(frozen=True)
class RestoreState:
    """Import the state that was exported after the first deploy."""

    topic: str


@dataclass(frozen=True)
class DaysPass:
    """Let two days pass for every ``until``: each date in the YAML and in the state becomes two days earlier."""

    topic: str


@dataclass(frozen=True)
class ImportAlias:
    """Run ``pulumi import`` for the topic under another resource name, unprotected."""

    topic: str


Action = (
    Configure
    | Resize
    | Allow
    | RemoveFile
    | RestoreFile
    | RenameFile
    | SetByHand
    | AddPartitionsByHand
    | DeleteByHand
    | Write
    | Commit
    | InState
    | RestoreState
    | DaysPass
    | ImportAlias
)
EDITS = (Configure, Resize, Allow, RemoveFile, RestoreFile, RenameFile)
"""Actions that only change files of the project."""


IMPORTED, RENAMED, MOVED = "-alias", "-renamed", "-moved"
"""Suffixes: of a resource that ``pulumi import`` adds, of a topic with a new name, and of a renamed resource."""


class Verb(StrEnum):
    UP = "up"
    DEPLOY = "topicwarden up"
    DESTROY = "destroy"
    REFRESH = "refresh"
    REBALANCE = "rebalance"


@dataclass(frozen=True)
class Command:
    """A Pulumi command with its ``flags``. ``per_topic`` is repeated for each of ``topics``.

    ``per_topic`` is ``--target``, ``--exclude``, ``--replace``, ``--target-replace``, or empty. ``suffix`` selects the
    topics' renamed or imported resources.
    """

    verb: Verb = Verb.UP
    flags: tuple[str, ...] = ()
    per_topic: str = ""
    topics: tuple[str, ...] = ()
    suffix: str = ""

    def __str__(self) -> str:
        named = [f"{self.per_topic} {topic}{self.suffix}" for topic in self.topics]
        return " ".join([self.verb.value, *self.flags, *named])

    @property
    def plain(self) -> bool:
        """Return whether the command does exactly what the plan says."""
        return self.deploys and not self.per_topic and "--refresh" not in self.flags

    @property
    def runs_program(self) -> bool:
        """Return whether the program reads the YAML during the command."""
        return self.deploys or "--run-program" in self.flags

    @property
    def deploys(self) -> bool:
        return self.verb in (Verb.UP, Verb.DEPLOY)


@dataclass(frozen=True)
class Step:
    """Actions, and then a command. ``broker_down`` is stopped after the actions and started after the command.

    ``repaired``: topics whose allows are written after a refusal; the edits of the others are reverted. ``preview``:
    also run ``pulumi preview``. ``servers``: the clusters whose addresses the stack's settings have for the command,
    ``a`` and another cluster ``b`` with topics of the same names. ``twice``: a process in another PID namespace runs
    the same command at the same time.
    """

    actions: tuple[Action, ...]
    command: Command
    broker_down: int | None = None
    repaired: tuple[str, ...] = ()
    preview: bool = False
    servers: str = "a"
    twice: bool = False


@dataclass(frozen=True)
class TopicStart:
    """A topic as first deployed, and its first records."""

    name: str
    folder: str
    partitions: int
    replication_factor: int
    config: Settings
    allowances: tuple[Allowance, ...]
    writes: tuple[Write, ...]


@dataclass(frozen=True)
class Scenario:
    """The history of one project: a sequence for each of its topics, and the commands that they share."""

    name: str
    topics: tuple[TopicStart, ...]
    steps: tuple[Step, ...]

    def only(self, topics: Iterable[str]) -> Scenario:
        """Return the scenario without everything that concerns other topics."""
        kept = frozenset(topics)
        steps = (
            replace(
                step,
                actions=tuple(action for action in step.actions if action.topic in kept),
                command=_only(step.command, kept),
            )
            for step in self.steps
        )
        return replace(self, topics=tuple(one for one in self.topics if one.name in kept), steps=tuple(steps))

    def lines(self) -> Iterator[str]:
        """Yield the scenario as text: one line for each topic, action and command."""
        for start in self.topics:
            yield (
                f"start {start.name}: {start.partitions} partitions, {start.replication_factor} replicas, "
                f"{dict(start.config)}, allow {shown(start.allowances)}, {', '.join(map(str, start.writes))}"
            )
        for number, step in enumerate(self.steps):
            for action in step.actions:
                yield f"step {number}: {action}"
            down = f" with broker {step.broker_down} down" if step.broker_down else ""
            repaired = ", ".join(step.repaired) or "none"
            servers = f" with servers {', '.join(step.servers)}" if step.servers != "a" else ""
            twice = ", twice at the same time" if step.twice else ""
            yield f"step {number}: {step.command}{down}{servers}{twice}; after a refusal allows for {repaired}"


def shown(allowances: Iterable[Allowance]) -> list[str]:
    return [
        allowance.change.value + (f" until {allowance.until}" if allowance.until else "") for allowance in allowances
    ]


def _only(command: Command, kept: frozenset[str]) -> Command:
    topics = tuple(topic for topic in command.topics if topic in kept)
    return replace(
        command, topics=topics, per_topic=command.per_topic if topics else "", suffix=command.suffix if topics else ""
    )
