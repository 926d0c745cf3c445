"""Kafka's own consumer of a share group."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from topicwarden.extensions.sandbox.jvm import Jvm


def share_consumer(
    newest: Jvm, servers: list[str], topic: str, group: str, *, records: int, folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run Kafka's share consumer until it has read and acknowledged ``records`` records.

    The consumer writes its log into ``folder``.
    """
    command = _command(newest, servers, topic, group, records)
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


@contextmanager
def sharing(newest: Jvm, servers: list[str], topic: str, group: str, folder: Path) -> Iterator[None]:
    """Run Kafka's share consumer during the block."""
    with (folder / "share-consumer.log").open("wb") as log:
        command = _command(newest, servers, topic, group, 1_000_000)
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


def _command(newest: Jvm, servers: list[str], topic: str, group: str, records: int) -> list[str]:
    return newest.tool(
        "org.apache.kafka.tools.VerifiableShareConsumer",
        *("--bootstrap-server", ",".join(servers), "--topic", topic, "--group-id", group),
        *("--max-messages", str(records), "--offset-reset-strategy", "earliest"),
    )
