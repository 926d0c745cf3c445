"""The options of commands that can read a cluster that no stack declares, as those of Kafka's own tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from topicwarden.model.cluster_address import ClusterAddress
from topicwarden.model.problem import Refusal

BootstrapServer = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-server",
        metavar="HOST:PORT",
        help="Read this cluster, in place of that of a stack: no project, no YAML. Several brokers: a:9092,b:9092.",
        show_default=False,
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option(
        "--command-config",
        metavar="FILE",
        help="With --bootstrap-server: the client.properties that Kafka's own tools take, for TLS and SASL.",
        show_default=False,
    ),
]


def cluster_address(server: str | None, config: Path | None, *, stack: bool) -> ClusterAddress | None:
    """Return the cluster that the two options select; None without ``--bootstrap-server``.

    Raises Refusal for ``--command-config`` alone, and if ``stack``, a stack was selected, too.
    """
    if server is None:
        if config is not None:
            raise Refusal(
                "--command-config has the settings of a cluster that no stack declares: add --bootstrap-server"
            )
        return None
    if stack:
        raise Refusal("--bootstrap-server is for a cluster that no stack declares: remove it, or remove --stack")
    return ClusterAddress(server, config)
