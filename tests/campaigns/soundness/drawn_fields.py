"""Draw the fields by which the records of a history are compared, and the rules that its topic declares for them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from topicwarden.model.arrival import DAY_MS, ArrivalContents
from topicwarden.model.contents import OrderedRule, ReferenceRule, UniqueRule

ZONE: Final = "Europe/Berlin"
CHANGES: Final = tuple(
    round(datetime(*day, tzinfo=ZoneInfo(ZONE)).timestamp() * 1000) for day in ((2026, 3, 29), (2025, 10, 26))
)
"""The starts (ms) of the days with 23 and with 25 hours."""


def daily_arrival(draw: random.Random) -> ArrivalContents:
    """Return a bound on the records of a day in a time zone with daylight-saving time."""
    return ArrivalContents(every=DAY_MS, timezone=ZONE, max=draw.choice((3, 20)))


@dataclass
class DrawnFields:
    """The fields ``id``, ``version`` and ``ref`` of the values of one history."""

    random: random.Random
    repeated: float = field(init=False)
    """The share of records with the id of an earlier one."""
    fallen: float = field(init=False)
    sent_again: float = field(init=False)
    daily: bool = field(init=False)
    """Whether timestamps are those of days at which daylight-saving time begins or ends."""
    _number: int = 0

    def __post_init__(self) -> None:
        draw = self.random
        self.repeated, self.fallen, self.sent_again = (draw.choice((0.0, 0.0, rare)) for rare in (0.05, 0.1, 0.1))
        self.unknown = draw.choice((0.0, 0.02, 0.3))
        self.daily = draw.random() < 0.1

    def rules(self, name: str, peers: tuple[str, ...]) -> dict[str, Any]:
        """Return the rules of the topic ``name``, which may refer to itself or to its ``peers``."""
        draw, found = self.random, dict[str, Any]()
        if draw.random() < 0.4:
            within = UniqueRule(fields=("/id",), within=draw.choice((1_000, DAY_MS)))
            options = (UniqueRule(fields=("id",)), within, UniqueRule(fields=("id",), key=True))
            found["unique"] = tuple(draw.sample(options, draw.choice((1, 1, 3))))
        if draw.random() < 0.4:
            options_of_order = (OrderedRule(field="version"), OrderedRule(field="version", strict=True))
            found["ordered"] = tuple(draw.sample(options_of_order, draw.choice((1, 2))))
        if draw.random() < 0.4:
            target = draw.choice((name, *draw.sample(peers, min(2, len(peers)))))
            found["references"] = (ReferenceRule(field="ref", topic=target, grace=draw.choice((1, 1_000, None))),)
        return found

    def is_sent_again(self) -> bool:
        """Return whether a producer sends a batch twice."""
        return self.random.random() < self.sent_again

    def stamp(self) -> int | None:
        """Return a fixed timestamp near a change of the clock; None for the time of the write."""
        if not self.daily:
            return None
        return self.random.choice(CHANGES) + self.random.randrange(-3_600_000, DAY_MS + 2 * 3_600_000)

    def values(self) -> dict[str, Any]:
        """Return the fields of one value; some are missing, null, or of another type."""
        draw = self.random
        self._number += 1
        id: Any = draw.randrange(self._number) if draw.random() < self.repeated else self._number
        id = draw.choice((id, id, id, float(id), f"{id}", None)) if draw.random() < 0.1 else id
        version: Any = self._number - (draw.randrange(9) if draw.random() < self.fallen else 0)
        version = draw.choice((float(version), f"{version:05}", None)) if draw.random() < 0.03 else version
        ref = f"key-{draw.choice((0, 0, 0, draw.randrange(20)))}"
        ref = f"no-key-{draw.randrange(3)}" if draw.random() < self.unknown else ref
        fields = {"id": id, "version": version, "ref": ref}
        return {name: value for name, value in fields.items() if draw.random() > 0.02}
