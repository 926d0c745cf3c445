"""Kafka's own consumer of a share group."""

from __future__ import annotations

import subprocess
from pathlib import Path

from topicwarden.sandbox.jvm import Jvm


def share_consumer(
    newest: Jvm, servers: list[str], topic: str, group: str, *, records: int, folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run Kafka's share consumer until it has read and acknowledged ``records`` records.

    The consumer writes its log into ``folder``.
    """
    command = newest.tool(
        "org.apache.kafka.tools.VerifiableShareConsumer",
        *("--bootstrap-server", ",".join(servers), "--topic", topic, "--group-id", group),
        *("--max-messages", str(records), "--offset-reset-strategy", "earliest"),
    )
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
