"""The history as an audit uses it: whatever goes wrong with it is said, and the audit goes on without."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import SparkSession

from topicwarden.audit.history.store import HistoryStore, Unreadable
from topicwarden.audit.history.topic_state import TopicState
from topicwarden.model.problem import Refusal

NONE = "none"
"""Turns the history off."""


class AuditHistory:
    """What earlier audits remember, at ``url``; nothing where that is None. ``notes`` say what was not to be had."""

    def __init__(self, spark: SparkSession, url: str | None) -> None:
        self._store = HistoryStore(spark, url) if url is not None else None
        self._url = url
        self.notes: list[str] = []

    @property
    def store(self) -> HistoryStore | None:
        return self._store

    def require_shared(self) -> None:
        """Refuse a history on disks that the driver and the executors do not share."""
        if self._store is None:
            return
        why = "Spark's executors do not write to the disk that this process reads"
        try:
            if self._store.shared():
                return
        except Unreadable as error:
            why = f"Spark's executors cannot write there: {error}"
        raise Refusal(
            f"the history at {self._url} cannot be kept, as {why}: name an address that all of them share "
            "(--history s3a://bucket/history, or topicwarden:history of the stack), or turn it off with --history none"
        )

    def looks(self, cluster_id: str | None) -> dict[str, TopicState]:
        """The last look at each topic of this cluster, by its name."""
        if self._store is None or cluster_id is None:
            return {}
        try:
            others, looks = self._store.others(), self._store.looks()
        except Unreadable as error:
            self.doubt(f"cannot be read, and is ignored: {error}; what one look cannot settle stays open")
            return {}
        if others and not looks:
            self.doubt(
                f"was written by another version ({', '.join(others)}) and is ignored: this audit is a first look"
            )
        return {look.topic: look for look in looks if look.cluster_id == cluster_id}

    def remember(self, looks: Iterable[TopicState], started: int) -> None:
        """Adds this audit's looks."""
        if self._store is None:
            return
        try:
            self._store.remember(looks, started)
        except Unreadable as error:
            self.doubt(f"cannot be written: {error}; the next audit will not know of this one")

    def doubt(self, what: str) -> None:
        self.notes.append(f"the history at {self._url} {what}")
