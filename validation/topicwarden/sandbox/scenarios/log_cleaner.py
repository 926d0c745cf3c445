"""The log cleaner, held and let go, so that a story can be told at one's own pace."""

from __future__ import annotations

import time
from collections.abc import Sequence

from topicwarden.model.problem import Refusal
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.sandbox.log_files import cleaner_checkpoint, segments
from topicwarden.sandbox.scenarios.cluster_settings import set_brokers

_SETTING = "log.cleaner.backoff.ms"
_HOUR_MS, _EAGER_MS, _KAFKA_DEFAULT_MS = 3_600_000, 500, 15_000
_STABLE_S, _TIMEOUT_S = 3.0, 90.0

Progress = dict[tuple[int, int], tuple[int, int]]
"""By broker and partition: what is cleaned up to, and where the active segment begins."""


def hold(servers: Sequence[str]) -> None:
    """The cleaners sleep for an hour before they look again."""
    set_brokers(servers, {_SETTING: str(_HOUR_MS)})


def wake(servers: Sequence[str]) -> None:
    """The cleaners look twice a second."""
    set_brokers(servers, {_SETTING: str(_EAGER_MS)})


def release(servers: Sequence[str]) -> None:
    """The cleaners look as often as Kafka's default has it."""
    set_brokers(servers, {_SETTING: str(_KAFKA_DEFAULT_MS)})


def wait_until_clean(sandbox: Sandbox, topic: str) -> None:
    """Waits until every replica is cleaned up to its active segment.

    A cleaner that has come by and leaves the rest, as little is dirty, is waited for no longer. Refuses
    where none comes at all.
    """
    deadline, seen, since = time.monotonic() + _TIMEOUT_S, Progress(), time.monotonic()
    while time.monotonic() < deadline:
        progress = _progress(sandbox, topic)
        if progress != seen:
            seen, since = progress, time.monotonic()
        begun = all(cleaned > 0 for cleaned, _ in progress.values())
        done = all(cleaned >= active for cleaned, active in progress.values())
        if progress and (done or (begun and time.monotonic() - since > _STABLE_S)):
            return
        time.sleep(0.2)
    raise Refusal(f"the sandbox's cleaner did not come to {topic} within {_TIMEOUT_S:g} s; see its log-cleaner.log")


def _progress(sandbox: Sandbox, topic: str) -> Progress:
    found = Progress()
    for broker in sandbox.status().brokers:
        log_dir = sandbox.log_dir(broker.id)
        checkpoint = cleaner_checkpoint(log_dir)
        for partition in (int(path.name.rpartition("-")[2]) for path in log_dir.glob(f"{topic}-[0-9]*")):
            if bases := segments(log_dir, topic, partition):
                found[broker.id, partition] = (checkpoint.get((topic, partition), 0), bases[-1])
    return found
