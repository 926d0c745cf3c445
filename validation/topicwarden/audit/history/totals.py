"""What was counted of all keys of a partition, carried on from audit to audit without looking at each key again.

A key's counts only grow while nothing is cleaned or deleted, and one that changed is counted anew: so the totals of
all keys are those of before, less those of the keys that changed as they were, and those of these as they are now.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from topicwarden.audit.algorithms import ALGORITHMS
from topicwarden.audit.groups import Counted
from topicwarden.audit.merging import heat

_ADDED = ("keys", "superseded", "clean_bytes_at_most", *(one.name for one in ALGORITHMS))
_PAIR = ("pair_last", "pair_first", "pair_key")
_HOTTEST = ("hottest", "hottest_offset", "hottest_key")


@dataclass(frozen=True)
class KeyTotals:
    """Of ``counting/KeyTotals.java``, what does not depend on the moment."""

    counted: Counted = field(default_factory=dict)

    @staticmethod
    def of(text: str) -> KeyTotals:
        return KeyTotals(json.loads(text)) if text else KeyTotals()

    @staticmethod
    def lasting(keys: Counted) -> KeyTotals:
        lasting = {*_ADDED, *_PAIR, *_HOTTEST, "first_superseded"}
        return KeyTotals({name: number for name, number in keys.items() if name in lasting})

    def told(self) -> str:
        return json.dumps(self.counted)

    def row(self) -> Counted:
        """As the reader tells it: all of these keys have a record below any border there may be."""
        keys = self.counted.get("keys", 0)
        return {**self.counted, "keys_rolled": keys, "keys_cleanable": keys}

    def without(self, changed: KeyTotals) -> KeyTotals:
        """Less what was counted of some keys; of extremes nothing is taken back, as none of these keys is gone."""
        taken = {name: self.counted.get(name, 0) - number for name, number in changed.counted.items()}
        return KeyTotals({**self.counted, **taken})

    def plus(self, more: KeyTotals) -> KeyTotals:
        """With what was counted of other keys."""
        one, other = self.counted, more.counted
        counted = {name: one.get(name, 0) + other.get(name, 0) for name in _ADDED if name in one | other}
        superseded = [held["first_superseded"] for held in (one, other) if "first_superseded" in held]
        earlier = min(one, other, key=lambda held: held.get("pair_last", float("inf")))
        hotter = max(one, other, key=heat)
        chosen = {
            name: held[name] for held, names in ((earlier, _PAIR), (hotter, _HOTTEST)) for name in names if name in held
        }
        least = {"first_superseded": min(superseded)} if superseded else {}
        return KeyTotals({**counted, **least, **chosen})
