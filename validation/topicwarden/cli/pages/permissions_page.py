"""The page ``docs/permissions.md``: the Kafka permissions of each command, and what is lost without each one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from topicwarden.model.access import ResourceType
from topicwarden.operations.doctor.command_permissions import (
    ACCESS,
    COMMANDS,
    IMPLIED,
    Effect,
    RequiredFor,
    RequiredPermission,
)


def page() -> str:
    """Return the page as Markdown, generated from the table that `topicwarden doctor` uses."""
    parts = ["# Permissions", _INTRODUCTION, "## Summary", _summary(), _IMPLIED.format(implied=_implied())]
    for command, permissions in COMMANDS.items():
        parts += [f"## {command}", _LEADS[command]]
        if command != "watch":
            parts += [_table(permissions), "```sh\n" + _acls(permissions) + "\n```"]
    parts += ["## Access", _ACCESS]
    for command, permissions in ACCESS.items():
        if command == "watch":
            continue
        parts += [f"### Access: {command}", _table(permissions), "```sh\n" + _acls(permissions) + "\n```"]
    return "\n\n".join([*parts, "## How it is tested", _TESTED]) + "\n"


_PER_LINE: Final = 4
_CONTINUED: Final = " \\\n  "
_INTRODUCTION: Final = """\
Each command works with few Kafka permissions. This page lists them: an operation on a type of resource, as in Kafka's
ACLs. They are permissions of the user in the `kafka:` settings of the stack. `topicwarden check` needs no cluster.
`topicwarden doctor --stack prod` compares this page with the permissions that the user has, and changes nothing.

A missing permission never leads to a wrong result. What the user cannot see is refused, named, or `undecidable`:

| without it | means |
|---|---|
| refused | the command, or the change of the topic, is refused, and the message names the permission |
| less precise | the command runs; numbers become upper bounds, and the report names the permission |
| left out | the command runs without these topics, because Kafka does not show them |
| undecidable | the audit runs; these checks report `undecidable` with the permission |"""

_IMPLIED: Final = """\
Some operations imply others on the same resource: {implied}. Create on Cluster implies Create on all topics.

Permissions on topics can be limited to a prefix of their names. Commands then work for these topics, and `audit`,
`import` and `usage` do not see others."""

_LEADS: Final = {
    "plan": "`topicwarden plan` and `pulumi preview` change nothing. They also ask the brokers, with `validate_only`, "
    "whether they would refuse new topics and settings. Brokers answer that only to a user with Create and "
    "AlterConfigs on Topic; without them, only the deploy shows it.",
    "up": "`topicwarden up` and `pulumi up` plan first, and need the same permissions for it.",
    "destroy": "`topicwarden destroy` shows the records of the topics before it deletes them.",
    "refresh": "`topicwarden refresh` and `pulumi refresh` only read.",
    "rebalance": "`topicwarden rebalance` checks its permissions to throttle before it changes anything.",
    "import": "`topicwarden import` only reads.",
    "audit": "`topicwarden audit` only reads. It joins no group, so it needs no Read on groups.",
    "watch": "`topicwarden watch` runs audits: it needs the permissions of [audit](#audit), also those for access.",
    "redrive": "`topicwarden redrive` writes with `--execute` only. Its group and its transactional id begin with\n"
    "`topicwarden-redrive-`: [ACLs for this prefix](how-to/redrive.md#permissions) are enough.",
    "infer": "`topicwarden infer` only reads. It joins no group, so it needs no Read on groups.",
    "usage": "`topicwarden usage` only reads. It joins no group, so it needs no Read on groups.",
}

_ACCESS: Final = """\
If a stack declares access (`access:` in the YAML of topics, and files below `access/`), `plan`, `up` and `audit` need
these permissions in addition. So does `import --access`. Access is not read otherwise. Without DescribeConfigs on the
Cluster resource, brokers do not tell which groups have settings. `doctor` cannot test permissions on the settings of
groups and on transactional ids."""

_TESTED: Final = """\
The test `tests/engine/permissions` runs each command on a real cluster with an authorizer, first with exactly the
permissions on this page, then without each single permission. With all of them, no message names a permission. Without
one, the observed result must be the one on this page. The checks `compaction-gap`, `hung-transaction`, `resurrection`
and `tombstone-retention` need earlier audits, and are tested with plain values."""


def _summary() -> str:
    permissions = list(dict.fromkeys(required.permission for needed in COMMANDS.values() for required in needed))
    rows = [
        f"| {permission} | "
        + " | ".join("×" if _has(needed, str(permission)) else "" for needed in COMMANDS.values())
        + " |"
        for permission in permissions
    ]
    return "\n".join([f"| permission | {' | '.join(COMMANDS)} |", "|---|" + "---|" * len(COMMANDS), *rows])


def _has(needed: Sequence[RequiredPermission], permission: str) -> bool:
    return any(str(required.permission) == permission for required in needed)


def _implied() -> str:
    return "; ".join(
        f"{', '.join(others)} imply {operation}" if len(others) > 1 else f"{others[0]} implies {operation}"
        for operation, others in IMPLIED.items()
    )


def _table(permissions: Sequence[RequiredPermission]) -> str:
    rows = [
        f"| {required.permission}{_topics(required)} | {required.reason} | {_effect(required)} |"
        for required in permissions
    ]
    return "\n".join(["| permission | needed for | without it |", "|---|---|---|", *rows])


def _topics(required: RequiredPermission) -> str:
    return "" if required.topics is RequiredFor.EVERY else f", for {required.topics}"


def _effect(required: RequiredPermission) -> str:
    affected = ", ".join(f"`{name}`" for name in sorted({*required.affected}))
    kind = "checks" if required.effect is Effect.UNDECIDABLE else "consequences"
    return f"{required.effect}: {required.lost}" + (f" ({kind}: {affected})" if affected else "")


def _acls(permissions: Sequence[RequiredPermission]) -> str:
    """Return the ``kafka-acls`` commands that grant ``permissions`` to one user."""
    names = {ResourceType.TOPIC: "--topic '*'", ResourceType.CLUSTER: "--cluster", ResourceType.GROUP: "--group '*'"}
    names[ResourceType.TRANSACTIONAL_ID] = "--transactional-id '*'"
    granted: dict[ResourceType, list[str]] = {}
    for required in permissions:
        granted.setdefault(required.permission.resource, []).append(f"--operation {required.permission.operation}")
    return "\n".join(
        f'kafka-acls --bootstrap-server "$SERVERS" --add --allow-principal User:topicwarden {names[resource]} \\\n'
        f"  {_CONTINUED.join(' '.join(operations[at : at + _PER_LINE]) for at in range(0, len(operations), _PER_LINE))}"
        for resource, operations in granted.items()
    )
