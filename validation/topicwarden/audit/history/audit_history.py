"""The history as an audit uses it: an audit notes any problem with the history, and goes on without it.

Whether a record names a schema of its subject depends on the registry. Counts of an earlier audit hold only as long as
the registry has the same versions, and the same deleted ones.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from topicwarden.audit.history.store import HistoryStore, HistoryUnavailable
from topicwarden.audit.history.topic_state import TopicState
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.spark_source import SparkSource
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.registry.client import RegistryClient
from topicwarden.kafka.registry.read import each_of, subject_state
from topicwarden.kafka.registry.registry_error import RegistryError
from topicwarden.model.problem import Refusal
from topicwarden.specs.stacks.registry_settings import RegistrySettings
from topicwarden.specs.stacks.stack_settings import MOVED_TO
from topicwarden.usage.use_history import UseHistory


class AuditHistory:
    """The history at ``url``; empty if that is None. ``notes`` has the problems for the report."""

    def __init__(self, spark: SparkSession | SparkSource, url: str | None) -> None:
        self._store = HistoryStore(spark, url) if url is not None else None
        self._url = url
        self.notes: list[str] = []

    @property
    def use(self) -> UseHistory:
        """The history of the use of topics, beside that of audits."""
        return UseHistory(self._url, self._store.files if self._store else None)

    @property
    def store(self) -> HistoryStore | None:
        return self._store

    def require_shared(self) -> None:
        """Raise ``Refusal`` if the history is on local disks that the driver and the executors do not share."""
        if self._store is None:
            return
        reason = "Spark's executors do not write to the disk that the driver reads"
        try:
            if self._store.is_shared():
                return
        except HistoryUnavailable as error:
            reason = f"Spark's executors cannot write there: {error}"
        raise Refusal(
            f"the history at {self._url} cannot be used: {reason}; choose an address that the driver and all executors "
            "share (--history s3a://bucket/history, or topicwarden:history of the stack), or turn the history off "
            "(--history none)"
        )

    def require_cluster(self, cluster_id: str | None, connection: Connection, stack: str) -> None:
        """Raise ``Refusal`` if all audits of the history were of other clusters than ``cluster_id``.

        ``connection`` is the one that leads there. A stack may move to another cluster if its settings say so. The
        sandbox knows its own cluster.
        """
        confirmed = connection.sandbox or connection.moved_to == cluster_id
        if self._store is None or cluster_id is None or confirmed:
            return
        try:
            before = self._store.cluster_instead_of(cluster_id)
        except HistoryUnavailable:  # noted by ``last_states``
            return
        if before is not None:
            raise Refusal(
                f"the history at {self._url} is about cluster {before}, but {connection.source} leads to cluster "
                f"{cluster_id}: nothing is judged there. Correct the setting; if the stack really moved, confirm it "
                f"with `pulumi config set {MOVED_TO} {cluster_id} --stack {stack}`; if this is the history of another "
                "stack, choose another one with --history or topicwarden:history"
            )

    def last_states(self, cluster_id: str | None, before: int | None = None) -> dict[str, TopicState]:
        """Return the last saved state of each topic of this cluster, by topic name.

        ``before``: the time of the snapshot (ms) that is compared with them. Another audit may have saved later states
        meanwhile, or the clock of its machine is ahead. Those are left out.
        """
        if self._store is None or cluster_id is None:
            return {}
        try:
            other_versions, states = self._store.other_versions(), self._store.last_states(before)
            is_overtaken = before is not None and self._store.has_audit_since(before)
        except HistoryUnavailable as error:
            self.add_note(f"cannot be read, and is ignored: {error}; findings that need two audits stay open")
            return {}
        if is_overtaken:
            self.add_note("has states of a later audit: this audit compares with an earlier one, if there is one")
        if other_versions and not states and not is_overtaken:
            names = ", ".join(other_versions)
            self.add_note(f"was written by another version ({names}) and is ignored: this counts as a first audit")
        return {state.topic: state for state in states if state.cluster_id == cluster_id}

    def save(self, states: Iterable[TopicState], started: int) -> None:
        """Add the states of this audit, which started at ``started`` (ms)."""
        if self._store is None:
            return
        try:
            self._store.save(states, started)
        except HistoryUnavailable as error:
            self.add_note(f"cannot be written: {error}; the next audit cannot compare with this one")
            return
        try:
            self._store.delete_old(started)
        except HistoryUnavailable as error:
            self.add_note(f"has an old part that cannot be deleted: {error}")

    def add_note(self, problem: str) -> None:
        self.notes.append(f"the history at {self._url} {problem}")


def registry_states(contracts: Contracts) -> dict[str, str]:
    """Return a digest of the registry's answers about the subjects of each topic whose records need the registry.

    If the registry does not answer, the digest is that of its error, because records are then undecidable.
    """
    subjects = {topic: found for topic, terms in contracts.topics.items() if (found := _subjects(terms))}
    if contracts.registry is None or not subjects:
        return {}
    answers = _answers(contracts.registry, sorted({name for names in subjects.values() for name in names}))
    return {
        topic: _digest([contracts.registry.url, *([name, answers[name]] for name in names)])
        for topic, names in subjects.items()
    }


def _subjects(terms: Any) -> list[str]:
    records = terms.get("records") or {}
    named = ((records.get(part) or {}).get("subject") for part in ("key", "value"))
    return [name for name in named if name]


def _answers(registry: RegistrySettings, names: list[str]) -> dict[str, Any]:
    try:
        with RegistryClient(registry) as client:
            return each_of(client, partial(subject_state, client), names)
    except RegistryError as error:
        return dict.fromkeys(names, error.reason)


def _digest(values: list[Any]) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()
