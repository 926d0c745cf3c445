"""The catalogues of a stack, with the name that its cluster has in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from topicwarden.kafka.connect.stack_connection import connection_from, settings_file
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.specs.stacks.catalogue_settings import CatalogueSettings, read_catalogue_settings
from topicwarden.specs.stacks.stack_settings import CATALOGUES


@dataclass(frozen=True)
class CatalogueTarget:
    """A catalogue that gets the verdicts of audits.

    ``cluster`` is the namespace of the topics in OpenLineage: ``kafka://`` and the address of a broker.
    """

    settings: CatalogueSettings
    cluster: str

    @property
    def name(self) -> str:
        return self.settings.name


def kafka_namespace(bootstrap_servers: Iterable[str]) -> str:
    """Return the namespace of a cluster: its first broker address in alphabetical order, in lower case.

    The order in the settings has no effect. Source: "Kafka" in OpenLineage's ``spec/Naming.md``.
    """
    return f"kafka://{min(server.strip().lower() for server in bootstrap_servers)}"


def catalogue_targets(project: Project, stack: str, settings: Mapping[str, Any]) -> list[CatalogueTarget]:
    """Return the catalogues in the decrypted ``settings`` of ``stack``. Refuse invalid settings."""
    if settings.get(CATALOGUES) is None:
        return []
    catalogues, problems = read_catalogue_settings(settings[CATALOGUES], project.root)
    if problems:
        lines = (f"{'.'.join((CATALOGUES, *path))}: {message}" for path, message in problems)
        raise Refusal("\n".join(f"{settings_file(stack)}: {line}" for line in lines))
    own = kafka_namespace(connection_from(project, settings_file(stack), settings).bootstrap_servers)
    return [CatalogueTarget(each, kafka_namespace([each.cluster]) if each.cluster else own) for each in catalogues]
