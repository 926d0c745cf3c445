"""A cluster that no project declares: its address and its settings come from the command line, as for Kafka's tools."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.remedy_settings import CLIENT_PROPERTIES
from topicwarden.kafka.connect.stack_connection import connection_from, registry_with
from topicwarden.model.project import Project, user_project
from topicwarden.operations.operation_options import ClusterAddress
from topicwarden.specs.stacks.client_properties import read_client_properties
from topicwarden.specs.stacks.history_address import history_address
from topicwarden.specs.stacks.registry_settings import RegistrySettings

_OPTION: Final = CLIENT_PROPERTIES.servers


@dataclass(frozen=True)
class UndeclaredCluster:
    """The connection to a cluster that no project declares. ``name`` is in reports in place of a stack.

    ``project`` has the folders for Spark's configuration and log, in the user's cache.
    """

    name: str
    project: Project
    connection: Connection
    registry: RegistrySettings | None

    def history(self, option: str | None) -> str | None:
        """Return the URI of the history in ``option``, as ``history_address`` does; by default, none is kept."""
        return None if option is None else history_address(self.project, self.name, None, option)


def undeclared_cluster(address: ClusterAddress) -> UndeclaredCluster:
    """Return the cluster at ``address``. Connects to nothing.

    Raises Refusal with every setting of the file that is wrong or cannot be obeyed.
    """
    project = user_project()
    properties = read_client_properties(address.bootstrap_server, address.command_config)
    origin = str(address.command_config or _OPTION)
    connection = connection_from(project, origin, properties.settings)
    connection = replace(connection, verify_hosts=properties.verify_hosts, origin=_OPTION, names=CLIENT_PROPERTIES)
    registry = None if properties.registry is None else registry_with(properties.registry, project, origin)
    return UndeclaredCluster(",".join(connection.bootstrap_servers), project, connection, registry)
