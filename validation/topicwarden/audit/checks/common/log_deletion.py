"""Judges whether brokers have deleted expired segments in time, by age or by size."""

from __future__ import annotations

from typing import Final

from topicwarden.audit.checks.common.persistence import cleaner_grace_ms, log_start_facts, repeated_verdict
from topicwarden.audit.collect.horizon import CLOCK_MS
from topicwarden.audit.evidence import Live
from topicwarden.model.verdict import Verdict

UNMOVED: Final = "the brokers have checked retention since the previous audit, and the log start has not moved"
UNMOVED_REMEDY: Final = "check the leader's log: brokers stop deleting if a log directory failed or the cleaner is dead"
_START_DELAY_SETTING, _DEFAULT_START_DELAY_MS = "log.initial.task.delay.ms", 30_000


def deletion_verdict(
    subject: Live, check: str, relevant_settings: tuple[str, ...], partition: int, explanation: str | None
) -> Verdict:
    """Return the verdict on a log start that deletion should have moved.

    ``check`` is the id of the check. ``explanation`` is the same as in ``repeated_verdict``.
    """
    interval = _deletion_interval_ms(subject)
    persisted_ms = subject.persisted_ms(check, partition, log_start_facts(subject, partition), relevant_settings)
    return Verdict.UNDECIDABLE if interval is None else repeated_verdict(persisted_ms, interval, explanation)


def _deletion_interval_ms(subject: Live) -> int | None:
    """Return how long healthy brokers may take to delete expired segments, in milliseconds.

    A broker that has just started waits first (``LogManager.startup``). For ``compact,delete`` the cleaner deletes,
    and the cleaner does not wait. None if the brokers' settings are not visible.
    """
    interval = subject.check_interval_ms
    if not subject.compacted:
        delay = subject.snapshot.broker_number(_START_DELAY_SETTING, _DEFAULT_START_DELAY_MS)
        return None if interval is None or delay is None else interval + delay + CLOCK_MS
    grace = cleaner_grace_ms(subject)
    return None if grace is None or interval is None else max(grace, interval + CLOCK_MS)
