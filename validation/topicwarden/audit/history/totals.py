"""What was counted of all keys of a partition, carried on from audit to audit without looking at each key again.

A key's counts only grow while nothing is cleaned or deleted, and one that changed is counted anew: so the totals of
all keys are those of before, less those of the keys that changed as they were, and those of these as they are now.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from topicwarden.audit.groups import Totals, band_of

HOUR_MS = 3_600_000
_RECENT_HOURS = 8 * 24

_LEAST = ("first_null_key", "first_empty_value", "first_timestamp", "first_superseded")
_GREATEST = ("largest_record", "last_timestamp")
_CHOSEN = ("pair_last", "pair_first", "pair_key", "hottest", "hottest_offset")
_NOT_ADDED = frozenset({*_LEAST, *_GREATEST, *_CHOSEN, "part", "band"})


@dataclass(frozen=True)
class KeyTotals:
    """Totals as ``scan`` makes them, over all age bands; ``hours``: records by the hour of their key's last one."""

    counted: Totals = field(default_factory=dict)
    hours: Mapping[int, int] = field(default_factory=dict)

    @staticmethod
    def of(text: str) -> KeyTotals:
        held = json.loads(text) if text else {"counted": {}, "hours": {}}
        return KeyTotals(held["counted"], {int(hour): records for hour, records in held["hours"].items()})

    def told(self, now: int) -> str:
        """As JSON; hours that are long gone are brought together by days."""
        hours: Counter[int] = Counter()
        for hour, records in self.hours.items():
            hours[hour if hour > now // HOUR_MS - _RECENT_HOURS else hour // 24 * 24] += records
        return json.dumps({"counted": self.counted, "hours": {hour: n for hour, n in hours.items() if n}})

    def bands(self, now: int) -> list[Totals]:
        """As rows of ``scan``: one for each age band, the first of them with everything but the records."""
        ages: Counter[int] = Counter()
        youngest = self.counted.get("last_timestamp") or 0
        for hour, records in self.hours.items():
            ages[band_of(min((hour + 1) * HOUR_MS - 1, youngest), now)] += records
        rows: list[Totals] = [{**dict.fromkeys(self.counted), "band": band, "records": n} for band, n in ages.items()]
        return [{**self.counted, "band": 0, "records": 0}, *rows]

    def without(self, changed: KeyTotals) -> KeyTotals:
        """Less what was counted of some keys; of extremes nothing is taken back, as none of these keys is gone."""
        taken = {
            name: value - (changed.counted.get(name) or 0) if name not in _NOT_ADDED and value is not None else value
            for name, value in self.counted.items()
        }
        hours = Counter(self.hours)
        hours.subtract(changed.hours)
        return KeyTotals(taken, hours)

    def plus(self, more: KeyTotals) -> KeyTotals:
        """With what was counted of other keys."""
        names = {**self.counted, **more.counted}
        counted = {name: _joined(name, self.counted.get(name), more.counted.get(name)) for name in names}
        first, other = (self, more) if _pair(self) <= _pair(more) else (more, self)
        counted |= {name: first.counted.get(name) for name in ("pair_last", "pair_first", "pair_key") if name in names}
        hotter = max((first, other), key=lambda one: one.counted.get("hottest") or 0)
        counted |= {name: hotter.counted.get(name) for name in ("hottest", "hottest_offset") if name in names}
        return KeyTotals(counted, Counter(self.hours) + Counter(more.hours))


def key_totals(rows: Iterable[Mapping[str, Any]], hours: Mapping[int, int]) -> KeyTotals:
    """The totals of the rows of one partition, of all age bands."""
    total = KeyTotals({}, {})
    for row in rows:
        counted = {name: value for name, value in row.items() if name not in ("part", "note", "keyed", "band")}
        total = total.plus(KeyTotals(_remembered(counted), {}))
    return KeyTotals(total.counted, hours)


def _remembered(counted: dict[str, Any]) -> Totals:
    """Without what is of the moment: borders, samples; with the keys as those below a border behind them all."""
    borders = {"rolled", "cleanable", "cleanable_bytes", "expired", "expired_behind_future"}
    momentary = {*borders, "superseded_rolled", "superseded_cleanable"}
    kept: Totals = {
        name: (0 if name in momentary else None if name.startswith(("deleted_", "risen_")) else value)
        for name, value in counted.items()
    }
    return kept | {"keys_rolled_border": counted["keys"], "keys_cleanable_border": counted["keys"]}


def _joined(name: str, one: int | None, other: int | None) -> int | None:
    held = [value for value in (one, other) if value is not None]
    if not held:
        return None
    return min(held) if name in _LEAST else max(held) if name in _GREATEST else sum(held)


def _pair(totals: KeyTotals) -> float:
    last = totals.counted.get("pair_last")
    return float("inf") if last is None else last
