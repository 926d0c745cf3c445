"""Totals of all keys of a partition, updated by each audit without reading every key again.

While nothing is cleaned or deleted, the counts of a key only grow, and a key with new records is counted again. So the
new totals are the old totals, minus the old counts of the changed keys, plus their new counts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from topicwarden.audit.scan.aggregate import Counted
from topicwarden.audit.scan.merge import hottest_rank
from topicwarden.audit.scan.partitioner_bits import ALGORITHMS

_ADDED = ("keys", "superseded", "clean_bytes_at_most", *(algorithm.name for algorithm in ALGORITHMS))
_PAIR = ("pair_second", "pair_first", "pair_key")
_HOTTEST = ("hottest", "hottest_offset", "hottest_key")


@dataclass(frozen=True)
class KeyTotals:
    """The counts of ``KeyTotals.java`` that do not depend on the time of the audit."""

    counted: Counted = field(default_factory=dict)

    @staticmethod
    def from_json(text: str) -> KeyTotals:
        return KeyTotals(json.loads(text)) if text else KeyTotals()

    @staticmethod
    def time_independent(keys: Counted) -> KeyTotals:
        """Return the totals among the reader's counts that do not depend on the time of the audit."""
        names = {*_ADDED, *_PAIR, *_HOTTEST, "first_superseded"}
        return KeyTotals({name: number for name, number in keys.items() if name in names})

    def to_json(self) -> str:
        return json.dumps(self.counted)

    def row(self) -> Counted:
        """Return the counts as the reader reports them, for keys with a record before every border."""
        keys = self.counted.get("keys", 0)
        return {**self.counted, "keys_rolled": keys, "keys_cleanable": keys}

    def without(self, changed: KeyTotals) -> KeyTotals:
        """Return the totals minus the counts of ``changed`` keys.

        Minima and maxima stay, because none of these keys has been removed.
        """
        remaining = {name: self.counted.get(name, 0) - number for name, number in changed.counted.items()}
        return KeyTotals({**self.counted, **remaining})

    def plus(self, more: KeyTotals) -> KeyTotals:
        """Return the totals plus the counts of other keys."""
        both = self.counted, more.counted
        sums = {
            name: sum(counted.get(name, 0) for counted in both)
            for name in _ADDED
            if any(name in counted for counted in both)
        }
        superseded = [counted["first_superseded"] for counted in both if "first_superseded" in counted]
        earlier = min(both, key=lambda counted: counted.get("pair_second", float("inf")))
        hotter = max(both, key=hottest_rank)
        pair = {name: earlier[name] for name in _PAIR if name in earlier}
        hottest = {name: hotter[name] for name in _HOTTEST if name in hotter}
        least = {"first_superseded": min(superseded)} if superseded else {}
        return KeyTotals({**sums, **least, **pair, **hottest})
