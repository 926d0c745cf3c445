"""Transactional ids and active producers: who writes to topics, as far as brokers remember it (KIP-664).

A broker remembers a transactional id for ``transactional.id.expiration.ms`` after its last use (7 days), and a producer
with idempotence or transactions for ``producer.id.expiration.ms`` after its last record (1 day). It remembers nothing
of a producer without idempotence, and never the principal of a producer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Transaction:
    """The state of a transactional id, such as ``Ongoing``, and the topics of its current transaction.

    ``started`` is the start of the current transaction in milliseconds since the epoch, None without one.
    """

    name: str
    state: str
    producer_id: int
    topics: frozenset[str] = frozenset()
    started: int | None = None

    @property
    def ongoing(self) -> bool:
        """True during a transaction."""
        return self.state in ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")


@dataclass(frozen=True)
class Transactions:
    """The transactional ids that brokers remember.

    ``hidden`` are the requested names that this user may not describe. ``missing`` says why others may exist; empty if
    all could be read.
    """

    found: tuple[Transaction, ...] = ()
    hidden: frozenset[str] = frozenset()
    missing: str = ""


@dataclass(frozen=True)
class ProducerPosition:
    """The last batch of a producer in one partition: its epoch and its last sequence number.

    ``sequence`` is None if the partition has only a transaction marker with this epoch, and no record. The marker that
    ends a transaction has a higher epoch than its records since KIP-890 (``transaction.version`` 2), and the same one
    before. It changes no sequence (``ProducerStateEntry.maybeUpdateProducerEpoch``,
    ``ProducerAppendInfo.appendEndTxnMarker``). ``in_transaction`` is true during a transaction with records here.
    """

    epoch: int
    sequence: int | None
    in_transaction: bool = False


@dataclass(frozen=True)
class TopicProducers:
    """The producers of a topic that brokers remember: the time of the last record (ms) by producer id.

    ``positions`` has the last batch of each producer by (partition, producer id). ``missing`` says why partitions could
    not be read; empty if all could. ``unread`` are these partitions.
    """

    last_written: Mapping[int, int] = field(default_factory=dict)
    missing: str = ""
    positions: Mapping[tuple[int, int], ProducerPosition] = field(default_factory=dict)
    unread: frozenset[int] = frozenset()
