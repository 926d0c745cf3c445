"""Run a sandbox for tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from topicwarden.extensions.sandbox.local_cluster import Sandbox


@contextmanager
def running(
    sandbox: Sandbox,
    brokers: int,
    overrides: Mapping[str, str] | None = None,
    heap: str | None = None,
    port: int | None = None,
    *,
    authorizer: bool | None = None,
) -> Iterator[Sandbox]:
    """Start ``sandbox`` for the block, and remove it at the end, also if it does not start."""
    try:
        sandbox.up(brokers=brokers, overrides=overrides, heap=heap, port=port, authorizer=authorizer)
        yield sandbox
    finally:
        sandbox.down(remove=True)
