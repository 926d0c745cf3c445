"""What was counted of all keys of a partition, carried on from audit to audit without looking at each key again.

A key's counts only grow while nothing is cleaned or deleted, and one that changed is counted anew: so the totals of
all keys are those of before, less those of the keys that changed as they were, and those of these as they are now.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from topicwarden.audit.algorithms import ALGORITHMS
from topicwarden.audit.groups import Totals

_ADDED = ("keys", "superseded", "clean_bytes_at_most", *(one.name for one in ALGORITHMS))
_PAIR = ("pair_last", "pair_first", "pair_key")
_HOTTEST = ("hottest", "hottest_offset")


@dataclass(frozen=True)
class KeyTotals:
    """Of ``groups.totals``, what is counted of keys and does not depend on the moment."""

    counted: Totals = field(default_factory=dict)

    @staticmethod
    def of(text: str) -> KeyTotals:
        return KeyTotals(json.loads(text)) if text else KeyTotals()

    @staticmethod
    def now(row: Mapping[str, Any]) -> KeyTotals:
        """Of a row of ``groups.totals``: the keys as they are."""
        return KeyTotals({name: row[name] for name in (*_ADDED, *_PAIR, *_HOTTEST, "first_superseded") if name in row})

    @staticmethod
    def before(row: Mapping[str, Any]) -> KeyTotals:
        """Of the same row: the same keys as they were."""
        return KeyTotals({name: row[f"before_{name}"] for name in _ADDED if f"before_{name}" in row})

    def told(self) -> str:
        return json.dumps(self.counted)

    def row(self) -> Totals:
        """As ``groups.totals`` has it: all of these keys have a record below any border there may be."""
        keys = self.counted.get("keys")
        return {**self.counted, "keys_rolled_border": keys, "keys_cleanable_border": keys}

    def without(self, changed: KeyTotals) -> KeyTotals:
        """Less what was counted of some keys; of extremes nothing is taken back, as none of these keys is gone."""
        taken = {name: (self.counted.get(name) or 0) - (value or 0) for name, value in changed.counted.items()}
        return KeyTotals({**self.counted, **taken})

    def plus(self, more: KeyTotals) -> KeyTotals:
        """With what was counted of other keys."""
        one, other = self.counted, more.counted
        counted: Totals = {
            name: (one.get(name) or 0) + (other.get(name) or 0) for name in _ADDED if name in one | other
        }
        superseded = [value for held in (one, other) if (value := held.get("first_superseded")) is not None]
        counted["first_superseded"] = min(superseded, default=None)
        earlier = min(one, other, key=_superseded_by)
        hotter = max(one, other, key=lambda held: held.get("hottest") or 0)
        chosen = {
            name: held[name] for held, names in ((earlier, _PAIR), (hotter, _HOTTEST)) for name in names if name in held
        }
        return KeyTotals({**counted, **chosen})


def _superseded_by(counted: Totals) -> float:
    last = counted.get("pair_last")
    return float("inf") if last is None else last
