"""Define the faults of rules that compare records with each other, and of days at changes of the clock."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final

from tests.campaigns.soundness.draw import Draw, Fault, history_of
from tests.campaigns.soundness.drawn_fields import CHANGES, ZONE
from tests.campaigns.soundness.scenario import DAY_MS, History, Record, Transact, Trim, Write
from topicwarden.model.arrival import ArrivalContents
from topicwarden.model.contents import Contents, KeyContents, OrderedRule, ReferenceRule, UniqueRule, ValueContents
from topicwarden.model.topic import Topic

_KEPT: Final = {"segment_ms": "600000", "retention_ms": "-1"}
_HOUR_MS: Final = 3_600_000


def _declared(**rules: Any) -> Contents:
    return Contents(key=KeyContents(format="string"), value=ValueContents(format="json"), **rules)


def _orders(draw: Draw, topic: Topic, number: int) -> tuple[Record, ...]:
    """Return records with distinct ids, versions that rise, and references to the key of the first one."""
    records = draw.records(topic, number)
    contents = ({"id": at, "version": at, "ref": f"{(records[0].key or b'').decode()}"} for at in range(number))
    return tuple(
        replace(record, value=json.dumps(content).encode(), ahead=-_HOUR_MS)
        for record, content in zip(records, contents, strict=True)
    )


def _changed(record: Record, **fields: Any) -> Record:
    return replace(record, value=json.dumps(json.loads(record.value or b"") | fields).encode())


_UNIQUE: Final = _declared(unique=(UniqueRule(fields=("id",)),))


def _repeated(draw: Draw) -> History:
    """Write the id of one record again into any partition, with other bytes."""
    topic = draw.topic(4, cleanup_policy=draw.random.choice(("delete", "compact")), **_KEPT)
    good = _orders(draw, topic, draw.random.randint(2, 40))
    again = _changed(draw.random.choice(good), version=draw.random.randrange(99))
    other = replace(again, partition=draw.random.randrange(topic.partitions), key=b"again")
    return history_of(topic, _UNIQUE, Write(good), Write((other,)))


def _sent_again(draw: Draw) -> History:
    topic = draw.topic(3, cleanup_policy="delete", **_KEPT)
    return history_of(topic, _UNIQUE, Write(_orders(draw, topic, draw.random.randint(1, 40)), times=2))


def _after_an_abort(draw: Draw) -> History:
    """Commit a batch twice, after a transaction with it was aborted."""
    topic = draw.topic(3, cleanup_policy="delete", **_KEPT)
    batch = _orders(draw, topic, draw.few())
    ends = ("abort", "commit", draw.random.choice(("commit", "abort")), "commit")
    return history_of(topic, _UNIQUE, *(Transact(batch, each, 0.0) for each in ends))


def _behind_a_spill(draw: Draw) -> History:
    """Write one id so often that Spark does not compare its records in memory; all but one are far apart."""
    topic = draw.topic(2, cleanup_policy="delete", **_KEPT)
    number = draw.random.randint(8, 30)
    one = [replace(_changed(each, id=0), ahead=-_HOUR_MS * at) for at, each in enumerate(_orders(draw, topic, number))]
    late = replace(one[-1], ahead=draw.random.choice(one).ahead + draw.random.choice((-50, 0, 50)))
    rule = _declared(unique=(UniqueRule(fields=("id",), within=1_000),))
    return history_of(topic, rule, Write(draw.among(tuple(one), (late,))))


def _fallen(draw: Draw) -> History:
    """Write a lower version, whose clock may be ahead of the others or behind them."""
    topic = draw.topic(3, cleanup_policy=draw.random.choice(("delete", "compact")), **_KEPT)
    good = _orders(draw, topic, draw.random.randint(1, 40))
    jump = draw.random.choice((-DAY_MS, 0, _HOUR_MS // 2))
    old = replace(_changed(good[-1], version=-draw.few()), ahead=jump)
    return history_of(topic, _declared(ordered=(OrderedRule(field="version"),)), Write(good), Write((old,)))


def _unchanged(draw: Draw) -> History:
    topic = draw.topic(3, cleanup_policy="delete", **_KEPT)
    good = _orders(draw, topic, draw.random.randint(1, 40))
    rule = _declared(ordered=(OrderedRule(field="version", strict=True),))
    return history_of(topic, rule, Write(good), Write((good[-1],)))


def _refers(draw: Draw, **rule: Any) -> Contents:
    return _declared(references=(ReferenceRule(field="ref", topic=draw.name, **rule),))


def _lost(draw: Draw, good: tuple[Record, ...]) -> Record:
    return _changed(draw.random.choice(good), ref="no-key")


def _no_key(draw: Draw) -> History:
    """Refer to a key that arrives too late: between the second audit and the third, or never."""
    topic = draw.topic(3, cleanup_policy="delete", **_KEPT)
    good = _orders(draw, topic, draw.random.randint(1, 40))
    late = (Write((replace(good[0], key=b"no-key"),)),) if draw.random.random() < 0.5 else ()
    return history_of(topic, _refers(draw), Write(draw.among(good, (_lost(draw, good),))), late=late)


def _no_key_any_more(draw: Draw) -> History:
    """Refer to a key whose only records are deleted, compacted away, or aborted."""
    topic = draw.topic(1, **_KEPT, cleanup_policy="delete")
    good = _orders(draw, topic, draw.random.randint(2, 20))
    gone = replace(good[0], key=b"no-key")
    lost = Write((*good, _lost(draw, good)))
    way = draw.random.choice(("trimmed", "aborted", "compacted"))
    if way == "trimmed":
        return history_of(topic, _refers(draw), Write((gone,) * 9), lost, Trim(0, 9.5 / (len(good) + 10)))
    if way == "aborted":
        return history_of(topic, _refers(draw), Transact((gone,), "abort", 0.0), lost)
    quick = {"cleanup.policy": "compact", "segment.ms": "100", "delete.retention.ms": "0"}
    config = {**topic.config, **quick, "min.cleanable.dirty.ratio": "0.0"}
    writes = (gone, replace(gone, value=None), *good, *good, replace(good[0], key=b"last"))
    rolls = (Write((record,)) for record in writes)
    return history_of(replace(topic, config=config), _refers(draw), *rolls, lost)


def _long_day(draw: Draw) -> History:
    """Write one record too many into a day with 23 or 25 hours, among as many as allowed on the days beside it."""
    topic = draw.topic(3, cleanup_policy="delete", **_KEPT)
    day = draw.random.randrange(2)
    start, most = CHANGES[day], draw.random.randint(1, 9)
    end = start + (23, 25)[day] * _HOUR_MS
    times = [start, end - 1, *(draw.random.randrange(start, end) for _ in range(most - 1))]
    beside = [start - 1, end, *(draw.random.choice((start - 1, end)) for _ in range(most - 2))]
    times += beside[:most]
    records = (replace(each, stamp=at) for each, at in zip(draw.records(topic, len(times)), times, strict=True))
    arrival = ArrivalContents(every=DAY_MS, timezone=ZONE, max=most)
    return history_of(topic, Contents(arrival=arrival), Write(draw.among(tuple(records), ())))


COMPARED_FAULTS: Final[dict[str, Fault]] = {
    "identity in another partition": Fault(_repeated, ("unique",)),
    "batch sent again": Fault(_sent_again, ("unique",)),
    "batch committed twice after an abort": Fault(_after_an_abort, ("unique",)),
    "identity behind a spill": Fault(_behind_a_spill, ("unique",)),
    "version that falls": Fault(_fallen, ("ordered",)),
    "version that does not rise": Fault(_unchanged, ("ordered",)),
    "reference to no key": Fault(_no_key, ("references",)),
    "reference to a key that is gone": Fault(_no_key_any_more, ("references",), hidden=True),
    "too many records on a day of 23 or 25 hours": Fault(_long_day, ("arrival-count",)),
}
