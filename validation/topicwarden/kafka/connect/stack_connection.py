"""The connection of a stack, and its Schema Registry, from its decrypted settings.

The names are those of the ``pulumi-kafka`` provider, so deploy, plan and audit always use the same cluster.
``topicwarden:cluster: sandbox`` selects the sandbox of this project.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from topicwarden import child_processes
from topicwarden.kafka.connect.connection import Connection, certificates_for_java
from topicwarden.kafka_facts.services import by_hosts
from topicwarden.kafka_facts.services.profile import ServiceProfile
from topicwarden.model.problem import Refusal, limited
from topicwarden.model.project import Project
from topicwarden.model.sandbox_folder import ADDRESS_FILE, REGISTRY_FILE, refuse_copy, refuse_link, sandbox_cluster
from topicwarden.specs.stacks.connection_settings import NAMES, SERVERS, read_connection_settings
from topicwarden.specs.stacks.registry_settings import SANDBOX as SANDBOX_REGISTRY
from topicwarden.specs.stacks.registry_settings import RegistrySettings, read_registry_settings
from topicwarden.specs.stacks.settings_reader import SettingProblem, is_encrypted
from topicwarden.specs.stacks.stack_file import read_stack_document
from topicwarden.specs.stacks.stack_selection import selected_stacks
from topicwarden.specs.stacks.stack_settings import (
    CLUSTER,
    MOVED_TO,
    PROFILE,
    SANDBOX,
    SCHEMA_REGISTRY,
    TWO_CLUSTERS,
    named_profile,
)
from topicwarden.specs.stacks.stack_settings import SETTINGS as OUR_SETTINGS

SETTINGS = (CLUSTER, MOVED_TO, PROFILE, *NAMES)
"""Settings that are read from ``Pulumi.<stack>.yaml``."""

NO_PULUMI = (
    "pulumi is not on the PATH: `topicwarden sandbox install` installs it, and "
    '`eval "$(topicwarden sandbox env)"` puts it there; https://www.pulumi.com/docs/install has other ways'
)
SANDBOX_PASSPHRASE = "sandbox"
"""Passphrase of the sandbox's stacks. It is public, so no other stack may be encrypted with it."""
_OPTIONS: Final = ("PULUMI_OPTION_", "PULUMI_RUN_PROGRAM")
"""The start of variables that are options of ``pulumi`` (since 3.208), such as ``PULUMI_OPTION_TARGET``."""


def connect_to(project: Project, stack: str) -> Connection:
    """Return the connection of ``stack``; refuse an unknown stack and settings without a usable address."""
    return connection_from(project, settings_file(stack), stack_settings(project, stack))


def settings_file(stack: str) -> str:
    """Return the path of the stack's settings file as messages show it."""
    return f"stacks/Pulumi.{stack}.yaml"


def connection_from(project: Project, origin: str, settings: Mapping[str, Any]) -> Connection:
    """Return the connection in ``settings`` (named as in ``Pulumi.<stack>.yaml``, secrets decrypted).

    ``origin`` says in messages where the settings come from.
    """
    moved_to = settings.get(MOVED_TO)
    profile = _named_profile(origin, settings)
    if settings.get(CLUSTER) == SANDBOX:
        if settings.get(SERVERS) is not None:
            raise Refusal(f"{origin}: {CLUSTER}: {TWO_CLUSTERS}")
        return Connection(
            sandbox_servers(project),
            tls=False,
            sandbox=True,
            moved_to=moved_to,
            profile=profile,
            cluster_id=sandbox_cluster(project.cache / "sandbox"),
        )
    read, problems = read_connection_settings(settings, project.root)
    refuse_problems(problems, origin)
    if not read.servers:
        raise Refusal(
            f"{origin} names no cluster: set kafka:bootstrapServers, "
            "or topicwarden:cluster: sandbox for the cluster of this machine"
        )
    return Connection(
        bootstrap_servers=read.servers,
        tls=read.tls,
        verify_tls=read.verify_tls,
        ca_cert=read.certificates.ca_cert,
        client_cert=read.certificates.client_cert,
        client_key=read.certificates.client_key,
        sasl_mechanism=read.mechanism,
        username=read.username,
        password=read.password,
        token_url=read.token_url,
        scopes=read.scopes,
        aws=read.aws,
        moved_to=moved_to,
        profile=profile or by_hosts(read.servers),
    )


def refuse_problems(problems: Sequence[SettingProblem], origin: str, setting: str = "") -> None:
    """Refuse settings with problems. ``setting`` is the one whose parts they name, ``origin`` as in messages."""
    if problems:
        lines = (f"{'.'.join(filter(None, (setting, each.name)))}: {each.message}" for each in problems)
        raise Refusal("\n".join(f"{origin}: {line}" for line in lines))


def _named_profile(origin: str, settings: Mapping[str, Any]) -> ServiceProfile | None:
    if settings.get(PROFILE) is None:
        return None
    try:
        return named_profile(settings[PROFILE])
    except ValueError as error:
        raise Refusal(f"{origin}: {PROFILE}: {error}") from error


def on_sandbox(project: Project, stack: str) -> bool:
    """Return whether ``stack`` uses the sandbox. Decrypts nothing; False if the settings cannot be read."""
    try:
        return written_settings(project, stack).get(CLUSTER) == SANDBOX
    except Refusal:
        return False


def refuse_sandbox_passphrase(project: Project, stack: str) -> None:
    """Refuse a stack on another cluster if the shell has the sandbox's public passphrase."""
    if os.environ.get("PULUMI_CONFIG_PASSPHRASE") == SANDBOX_PASSPHRASE and not on_sandbox(project, stack):
        raise Refusal(
            f"PULUMI_CONFIG_PASSPHRASE is the public passphrase of the sandbox, and stack {stack} is not on the "
            "sandbox: set a passphrase of your own; "
            f"`pulumi stack change-secrets-provider passphrase --stack {stack}` encrypts existing secrets again"
        )


def sandbox_servers(project: Project) -> tuple[str, ...]:
    """Return the addresses of the sandbox of ``project``; refuse if it does not run, or is another project's."""
    folder = project.cache / "sandbox"
    address = folder / ADDRESS_FILE
    if not address.is_file():
        raise Refusal("the sandbox is not running: start it with `topicwarden sandbox up`")
    refuse_link(folder)
    refuse_copy(folder)
    return tuple(address.read_text().split())


def stack_settings(project: Project, stack: str, variables: Mapping[str, str] | None = None) -> Mapping[str, Any]:
    """Return the settings in ``Pulumi.<stack>.yaml``; if some of ours are encrypted, ``pulumi`` decrypts them.

    ``variables`` are added to the environment of ``pulumi``. Passwords of declared users are not among ours: only a
    deploy needs them.
    """
    items = written_settings(project, stack)
    ours = (value for name, value in items.items() if name in OUR_SETTINGS or name.startswith("kafka:"))
    return {**items, **_decrypted(project, stack, variables or {})} if any(map(_encrypted, ours)) else items


def written_settings(project: Project, stack: str) -> Mapping[str, Any]:
    """Return the settings in ``Pulumi.<stack>.yaml`` as written, some encrypted; refuse an unreadable file."""
    selected_stacks(project, stack)
    file = settings_file(stack)
    try:
        document, problems = read_stack_document(project.root / file, file)
    except OSError as error:
        raise Refusal(f"{file} cannot be read as stack settings: {_first_line(error)}") from error
    if problems:
        raise Refusal("\n".join(f"{each.location}: {each.line}" for each in limited(problems)))
    settings = document.value.get("config") if isinstance(document.value, dict) else document.value
    settings = {} if settings is None else settings
    if not isinstance(settings, dict):
        raise Refusal(f"{file} cannot be read as stack settings: expected a mapping `config:`")
    return settings


def pulumi_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a ``pulumi`` command: that of this process, without options for it, and ``variables``.

    An option of the shell would change what a command does: leave out topics, or revert what the plan leaves.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_OPTIONS)}
    return {**inherited, **variables}


def _encrypted(value: object) -> bool:
    """Return whether ``value`` is encrypted by Pulumi, or contains an encrypted value."""
    return is_encrypted(value) or (isinstance(value, dict) and any(map(_encrypted, value.values())))


def _decrypted(project: Project, stack: str, variables: Mapping[str, str]) -> Mapping[str, Any]:
    environment = pulumi_environment(variables)
    pulumi = shutil.which("pulumi", path=environment.get("PATH"))
    if pulumi is None:
        raise Refusal(f"stack {stack!r} has encrypted settings, and {NO_PULUMI}")
    command = [pulumi, "config", "--show-secrets", "--json", "--stack", stack, "--non-interactive"]
    answer = child_processes.run(command, project.root, environment)
    if answer.returncode:
        raise Refusal(
            f"pulumi could not decrypt the settings of stack {stack!r}: {_first_line(answer.stderr)}; log in to the "
            f'stack\'s backend, or for one on the sandbox, run `eval "$(topicwarden sandbox env --stack {stack})"`'
        )
    return {name: entry.get("objectValue", entry.get("value")) for name, entry in json.loads(answer.stdout).items()}


def _first_line(error: object) -> str:
    return str(error).strip().partition("\n")[0]


def registry_of(project: Project, stack: str, variables: Mapping[str, str] | None = None) -> RegistrySettings | None:
    """Return the registry of ``stack``; None if no registry is set. Refuse invalid settings.

    ``variables`` are added to the environment of ``pulumi``, which decrypts the settings.
    """
    value = stack_settings(project, stack, variables).get(SCHEMA_REGISTRY)
    return None if value is None else registry_from(value, project, stack)


def registry_from(value: Any, project: Project, stack: str) -> RegistrySettings:
    """Return the registry in ``value``, the setting of ``stack`` with its secrets decrypted. Refuse invalid ones."""
    return registry_with(value, project, settings_file(stack))


def registry_with(value: Any, project: Project, origin: str) -> RegistrySettings:
    """Return the registry in ``value``, with its secrets decrypted; ``origin`` says in messages where it comes from."""
    registry, problems = read_registry_settings(value, project.root)
    refuse_problems(problems, origin, SCHEMA_REGISTRY)
    return replace(registry, url=_sandbox_url(project)) if registry.url == SANDBOX_REGISTRY else registry


def on_sandbox_registry(project: Project, stack: str) -> bool:
    """Return whether ``stack`` uses the registry of the sandbox. Decrypts nothing; False if settings are unreadable."""
    try:
        value = written_settings(project, stack).get(SCHEMA_REGISTRY)
    except Refusal:
        return False
    registry, problems = read_registry_settings(value, project.root, offline=True)
    return not problems and registry.url == SANDBOX_REGISTRY


def _sandbox_url(project: Project) -> str:
    """Return the URL of the sandbox's registry. Refuse a registry that was never started."""
    folder = project.cache / "sandbox"
    refuse_link(folder)
    refuse_copy(folder)
    try:
        return (folder / REGISTRY_FILE).read_text(encoding="utf-8").strip()
    except OSError:
        raise Refusal("the sandbox has no Schema Registry: run `topicwarden sandbox up`, which starts it") from None


def registry_for_java(registry: RegistrySettings) -> dict[str, str]:
    """Return the settings of ``SchemaRegistryClient.java``; those for TLS have Kafka's names."""
    access = {"username": registry.username, "password": registry.password, "token": registry.token}
    declared = {name: value for name, value in access.items() if value is not None}
    return {"url": registry.url, **declared, **certificates_for_java(registry.certificates)}
