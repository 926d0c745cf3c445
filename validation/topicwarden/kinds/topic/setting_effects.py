"""The effect of changing each topic setting on data: the table behind the guards and ``docs/guards.md``.

Every topic setting that Kafka knows has a row, including settings whose changes are harmless.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from topicwarden.model.topic import AllowedChange


class DataLoss(StrEnum):
    """A property of a topic that a change can reduce."""

    RECORDS = "records"
    DURABILITY = "durability"
    AVAILABILITY = "availability"
    ORDER = "order"


class SettingRisk(StrEnum):
    """The direction in which changing a setting is dangerous."""

    LOWER = "lower"
    HIGHER = "higher"
    TRUE = "true"
    ANY = "any change"
    ADDED = "a policy is added"
    NONE = "none"


@dataclass(frozen=True)
class SettingEffect:
    """One row: the dangerous direction, the losses, the consequence that reports them, and the required allowance.

    ``allow`` is empty if the change needs no allowance. ``why`` is the reason, in one sentence.
    """

    risk: SettingRisk
    harms: tuple[DataLoss, ...] = ()
    consequence: str = ""
    allow: tuple[AllowedChange, ...] = ()
    why: str = ""


_SHRINK, _COMPACT = (AllowedChange.SHRINK_RETENTION,), (AllowedChange.COMPACT,)
_HARMLESS = SettingEffect(SettingRisk.NONE)


def _earlier_roll(why: str, risk: SettingRisk = SettingRisk.LOWER) -> SettingEffect:
    return SettingEffect(risk, (DataLoss.RECORDS,), "earlier-roll, compaction", (*_SHRINK, *_COMPACT), why)


def _earlier_cleaning(why: str, consequence: str = "compaction") -> SettingEffect:
    return SettingEffect(SettingRisk.LOWER, (DataLoss.RECORDS,), consequence, _COMPACT, why)


def _less_retention(why: str) -> SettingEffect:
    return SettingEffect(SettingRisk.LOWER, (DataLoss.RECORDS,), "retention-cut", _SHRINK, why)


def _refuses_writes(why: str, consequence: str) -> SettingEffect:
    return SettingEffect(SettingRisk.LOWER, (DataLoss.AVAILABILITY,), consequence, (), why)


def _later_copy() -> SettingEffect:
    why = "a danger: segments are copied to remote storage later, and until then are lost with the last local replica"
    return SettingEffect(SettingRisk.HIGHER, (DataLoss.DURABILITY,), "remote-copy", (), why)


EFFECTS: Final[Mapping[str, SettingEffect]] = {
    "cleanup.policy": SettingEffect(
        SettingRisk.ADDED,
        (DataLoss.RECORDS,),
        "compaction, retention-cut",
        (*_COMPACT, *_SHRINK),
        "compact removes superseded and keyless records, delete removes expired ones",
    ),
    "compression.gzip.level": _HARMLESS,
    "compression.lz4.level": _HARMLESS,
    "compression.type": SettingEffect(
        SettingRisk.ANY,
        (DataLoss.AVAILABILITY,),
        "recompression",
        (),
        "brokers compress batches again, and refuse those that are then larger than max.message.bytes",
    ),
    "compression.zstd.level": _HARMLESS,
    "delete.retention.ms": _earlier_cleaning(
        "tombstones are removed sooner, and a consumer that lags misses deletions", "tombstones"
    ),
    "errors.deadletterqueue.group.enable": SettingEffect(
        SettingRisk.LOWER,
        (DataLoss.RECORDS,),
        "dead-letters",
        (),
        "a danger: turned off, share groups lose the records that they cannot process",
    ),
    "file.delete.delay.ms": SettingEffect(SettingRisk.NONE, why="it only affects files of deleted segments"),
    "flush.messages": SettingEffect(
        SettingRisk.HIGHER,
        (DataLoss.DURABILITY,),
        "flush",
        (AllowedChange.RELAX_FLUSH,),
        "records that are only in memory are lost when all replicas lose power at once",
    ),
    "flush.ms": SettingEffect(
        SettingRisk.HIGHER,
        (DataLoss.DURABILITY,),
        "flush",
        (AllowedChange.RELAX_FLUSH,),
        "records that are only in memory are lost when all replicas lose power at once",
    ),
    "follower.replication.throttled.replicas": SettingEffect(
        SettingRisk.NONE, why="slows replication; set by `rebalance`"
    ),
    "index.interval.bytes": _earlier_roll("a segment rolls when its index is full, which happens sooner"),
    "leader.replication.throttled.replicas": SettingEffect(
        SettingRisk.NONE, why="slows replication; set by `rebalance`"
    ),
    "local.retention.bytes": SettingEffect(
        SettingRisk.NONE, why="tiered storage keeps a copy of what the broker drops"
    ),
    "local.retention.ms": SettingEffect(SettingRisk.NONE, why="tiered storage keeps a copy of what the broker drops"),
    "max.compaction.lag.ms": _earlier_cleaning("the cleaner must run sooner"),
    "max.decompressed.message.bytes": _refuses_writes(
        "larger records are refused, and stop the cleaner and lookups by timestamp", "decompressed-message"
    ),
    "max.message.bytes": _refuses_writes("larger batches are refused", "max-message"),
    "message.downconversion.enable": SettingEffect(SettingRisk.NONE, why="since Kafka 4.0 it does nothing"),
    "message.format.version": SettingEffect(SettingRisk.NONE, why="since Kafka 3.0 it does nothing"),
    "message.timestamp.after.max.ms": _refuses_writes("records from further ahead are refused", "timestamp-limit"),
    "message.timestamp.before.max.ms": _refuses_writes("older records are refused", "timestamp-limit"),
    "message.timestamp.difference.max.ms": _refuses_writes("records are refused", "timestamp-limit"),
    "message.timestamp.type": SettingEffect(
        SettingRisk.ANY,
        (DataLoss.RECORDS,),
        "timestamp-type",
        (),
        "with CreateTime a record that the producer stamps in the past expires sooner than it would",
    ),
    "min.cleanable.dirty.ratio": _earlier_cleaning("the cleaner runs when less is dirty"),
    "min.compaction.lag.ms": _earlier_cleaning("records are safe from the cleaner for less time"),
    "min.insync.replicas": SettingEffect(
        SettingRisk.LOWER,
        (DataLoss.DURABILITY, DataLoss.AVAILABILITY),
        "min-insync, eligible-leaders",
        (AllowedChange.LOWER_MIN_INSYNC,),
        "fewer replicas have an acknowledged write; a higher one refuses writes while replicas are missing",
    ),
    "preallocate": _HARMLESS,
    "remote.copy.lag.bytes": _later_copy(),
    "remote.copy.lag.ms": _later_copy(),
    "remote.log.copy.disable": SettingEffect(SettingRisk.NONE, why="what is in remote storage stays readable"),
    "remote.log.delete.on.disable": SettingEffect(
        SettingRisk.NONE, why="it counts when remote.storage.enable is turned off"
    ),
    "remote.storage.enable": SettingEffect(
        SettingRisk.LOWER,
        (DataLoss.RECORDS,),
        "tiered-storage-off",
        _SHRINK,
        "turned off, everything that is only in remote storage is deleted",
    ),
    "retention.bytes": _less_retention("the oldest segments are deleted above a smaller size"),
    "retention.ms": _less_retention("records expire sooner"),
    "segment.bytes": _earlier_roll("old records that a large segment still has are deleted sooner"),
    "segment.index.bytes": _earlier_roll("a segment rolls when its index is full, which happens sooner"),
    "segment.jitter.ms": _earlier_roll("segments roll up to that much sooner", SettingRisk.HIGHER),
    "segment.ms": _earlier_roll("old records that an older segment still has are deleted sooner"),
    "unclean.leader.election.enable": SettingEffect(
        SettingRisk.TRUE,
        (DataLoss.RECORDS,),
        "unclean-election",
        (AllowedChange.UNCLEAN_ELECTION,),
        "a replica that lacks acknowledged records may become leader; all of them are lost",
    ),
}

HARMFUL: Final = tuple(name for name, effect in EFFECTS.items() if effect.risk is not SettingRisk.NONE)
"""The settings whose change can cause a loss."""

_UNLIMITED: Final = frozenset(
    {
        *("retention.ms", "retention.bytes", "local.retention.ms", "local.retention.bytes"),
        *("remote.copy.lag.ms", "remote.copy.lag.bytes"),
    }
)
"""Settings in which a negative number means no limit, or the local retention, which is not lower."""


def amount(setting: str, value: str) -> float:
    """Return ``value`` as a comparable number: false is 0, true is 1, no limit is infinity."""
    if value in ("true", "false"):
        return float(value == "true")
    number = float(value)
    return float("inf") if setting in _UNLIMITED and number < 0 else number


def safest(setting: str, values: Collection[str]) -> str:
    """Return the value in ``values`` (at least one) that is the least dangerous for records."""
    return _extreme(setting, values, least=True)


def riskiest(setting: str, values: Collection[str]) -> str:
    """Return the value in ``values`` (at least one) that is the most dangerous for records."""
    return _extreme(setting, values, least=False)


def _extreme(setting: str, values: Collection[str], *, least: bool) -> str:
    effect = EFFECTS.get(setting, _HARMLESS)
    ordered = sorted(set(values))
    if effect.risk is SettingRisk.ADDED:
        policies = [frozenset(filter(None, map(str.strip, value.split(",")))) for value in ordered]
        chosen = frozenset.intersection(*policies) if least else frozenset.union(*policies)
        return ",".join(sorted(chosen))
    if len(ordered) == 1 or effect.risk in (SettingRisk.NONE, SettingRisk.ANY):
        return ordered[0]
    higher_is_riskier = effect.risk in (SettingRisk.HIGHER, SettingRisk.TRUE)
    ranked = sorted(ordered, key=lambda value: amount(setting, value))
    return ranked[0] if higher_is_riskier is least else ranked[-1]


def lowered(setting: str, before: str | None, after: str | None) -> bool:
    """Return whether a number or flag is smaller than before; False if one of the two is unknown."""
    return before is not None and after is not None and amount(setting, after) < amount(setting, before)


def raised(setting: str, before: str | None, after: str | None) -> bool:
    """Return whether a number or flag is larger than before; False if one of the two is unknown."""
    return lowered(setting, after, before)
