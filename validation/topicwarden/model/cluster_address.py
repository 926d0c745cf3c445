"""The address of a cluster that no project declares, as the command line names it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ClusterAddress:
    """The brokers to ask first, ``host:port,…``, and the file of settings of Kafka's own tools; None for none."""

    bootstrap_server: str
    command_config: Path | None = None
