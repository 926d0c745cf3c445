"""The page ``docs/rights.md``: the Kafka rights of each command, and what is lost without each one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from topicwarden.doctor.command_rights import COMMANDS, IMPLIED, Effect, RequiredFor, RequiredRight, Resource


def page() -> str:
    """Return the page as Markdown, generated from the table that `topicwarden doctor` uses."""
    parts = ["# Rights", _INTRODUCTION, "## Summary", _summary(), _IMPLIED.format(implied=_implied())]
    for command, rights in COMMANDS.items():
        parts += [f"## {command}", _LEADS[command], _table(rights), "```sh\n" + _acls(rights) + "\n```"]
    return "\n\n".join([*parts, "## How it is tested", _TESTED]) + "\n"


_PER_LINE: Final = 4
_CONTINUED: Final = " \\\n  "
_INTRODUCTION: Final = """\
Each command works with few Kafka rights. This page lists them: an operation on a type of resource, as in Kafka's ACLs.
They are rights of the user in the `kafka:` settings of the stack. `topicwarden check` needs no cluster.
`topicwarden doctor --stack prod` compares this page with the rights that the user has, and changes nothing.

A missing right never leads to a wrong result. What the user cannot see is refused, named, or `undecidable`:

| without it | means |
|---|---|
| refused | the command, or the change of the topic, is refused, and the message names the right |
| less precise | the command runs; numbers become upper bounds, and the report names the right |
| left out | the command runs without these topics, because Kafka does not show them |
| undecidable | the audit runs; these checks report `undecidable` with the right |"""

_IMPLIED: Final = """\
Some operations imply others on the same resource: {implied}. Create on Cluster implies Create on all topics.

Rights on topics can be limited to a prefix of their names. Commands then work for these topics, and `audit` and
`import` do not see others."""

_LEADS: Final = {
    "plan": "`topicwarden plan` and `pulumi preview` only read.",
    "up": "`topicwarden up` and `pulumi up` plan first, and need the same rights for it.",
    "destroy": "`topicwarden destroy` shows the records of the topics before it deletes them.",
    "refresh": "`topicwarden refresh` and `pulumi refresh` only read.",
    "rebalance": "`topicwarden rebalance` checks its rights to throttle before it changes anything.",
    "import": "`topicwarden import` only reads.",
    "audit": "`topicwarden audit` only reads. It joins no group, so it needs no Read on groups.",
}

_TESTED: Final = """\
The test `tests/engine/rights` runs each command on a real cluster with an authorizer, first with exactly the rights on
this page, then without each single right. With all of them, no message names a right. Without one, the observed result
must be the one on this page. The checks `compaction-gap`, `hung-transaction`, `resurrection` and `tombstone-retention`
need earlier audits, and are tested with plain values."""


def _summary() -> str:
    rights = list(dict.fromkeys(required.right for needed in COMMANDS.values() for required in needed))
    rows = [
        f"| {right} | " + " | ".join("×" if _has(needed, str(right)) else "" for needed in COMMANDS.values()) + " |"
        for right in rights
    ]
    return "\n".join([f"| right | {' | '.join(COMMANDS)} |", "|---|" + "---|" * len(COMMANDS), *rows])


def _has(needed: Sequence[RequiredRight], right: str) -> bool:
    return any(str(required.right) == right for required in needed)


def _implied() -> str:
    return "; ".join(
        f"{', '.join(others)} imply {operation}" if len(others) > 1 else f"{others[0]} implies {operation}"
        for operation, others in IMPLIED.items()
    )


def _table(rights: Sequence[RequiredRight]) -> str:
    rows = [f"| {required.right}{_topics(required)} | {required.reason} | {_effect(required)} |" for required in rights]
    return "\n".join(["| right | needed for | without it |", "|---|---|---|", *rows])


def _topics(required: RequiredRight) -> str:
    return "" if required.topics is RequiredFor.EVERY else f", for {required.topics}"


def _effect(required: RequiredRight) -> str:
    affected = ", ".join(f"`{name}`" for name in sorted({*required.affected}))
    kind = "checks" if required.effect is Effect.UNDECIDABLE else "consequences"
    return f"{required.effect}: {required.lost}" + (f" ({kind}: {affected})" if affected else "")


def _acls(rights: Sequence[RequiredRight]) -> str:
    """Return the ``kafka-acls`` commands that grant ``rights`` to one user."""
    names = {Resource.TOPIC: "--topic '*'", Resource.CLUSTER: "--cluster", Resource.GROUP: "--group '*'"}
    granted: dict[Resource, list[str]] = {}
    for required in rights:
        granted.setdefault(required.right.resource, []).append(f"--operation {required.right.operation}")
    return "\n".join(
        f'kafka-acls --bootstrap-server "$SERVERS" --add --allow-principal User:topicwarden {names[resource]} \\\n'
        f"  {_CONTINUED.join(' '.join(operations[at : at + _PER_LINE]) for at in range(0, len(operations), _PER_LINE))}"
        for resource, operations in granted.items()
    )
