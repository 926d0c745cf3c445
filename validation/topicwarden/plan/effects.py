"""What a change of each topic setting can do to data: the table behind the guards and ``docs/guards.md``.

Every setting of Kafka's catalogue has a row, also where a change can do no harm.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from topicwarden.topic import Allowance


class Harm(StrEnum):
    """What a change can take away."""

    RECORDS = "records"
    DURABILITY = "durability"
    AVAILABILITY = "availability"
    ORDER = "order"


class Risk(StrEnum):
    """In which direction a setting gets dangerous."""

    LOWER = "lower"
    HIGHER = "higher"
    TRUE = "true"
    ANY = "any change"
    ADDED = "a policy is added"
    NONE = "none"


@dataclass(frozen=True)
class Effect:
    """One row: the dangerous direction, what is lost, the consequence that reports it, and the word that allows it.

    ``allow`` is None where the change needs none. ``why`` is the reason, in one sentence.
    """

    risk: Risk
    harms: tuple[Harm, ...] = ()
    consequence: str = ""
    allow: tuple[Allowance, ...] = ()
    why: str = ""


_SHRINK, _COMPACT = (Allowance.SHRINK_RETENTION,), (Allowance.COMPACT,)
_HARMLESS = Effect(Risk.NONE)


def _rolls(why: str, risk: Risk = Risk.LOWER) -> Effect:
    return Effect(risk, (Harm.RECORDS,), "earlier-roll, compaction", (*_SHRINK, *_COMPACT), why)


def _cleans(why: str, consequence: str = "compaction") -> Effect:
    return Effect(Risk.LOWER, (Harm.RECORDS,), consequence, _COMPACT, why)


def _keeps(why: str) -> Effect:
    return Effect(Risk.LOWER, (Harm.RECORDS,), "retention-cut", _SHRINK, why)


def _refuses(why: str, consequence: str, risk: Risk = Risk.LOWER) -> Effect:
    return Effect(risk, (Harm.AVAILABILITY,), consequence, (), why)


EFFECTS: Final[Mapping[str, Effect]] = {
    "cleanup.policy": Effect(
        Risk.ADDED,
        (Harm.RECORDS,),
        "compaction, retention-cut",
        (*_COMPACT, *_SHRINK),
        "compact removes superseded and keyless records, delete removes expired ones",
    ),
    "compression.gzip.level": _HARMLESS,
    "compression.lz4.level": _HARMLESS,
    "compression.type": _HARMLESS,
    "compression.zstd.level": _HARMLESS,
    "delete.retention.ms": _cleans("tombstones go sooner, and a consumer that lags misses deletions", "tombstones"),
    "file.delete.delay.ms": Effect(Risk.NONE, why="only files of segments that are deleted already"),
    "flush.messages": Effect(
        Risk.HIGHER,
        (Harm.DURABILITY,),
        "flush",
        (Allowance.RELAX_FLUSH,),
        "records that are only in memory are lost when all replicas lose power at once",
    ),
    "flush.ms": Effect(
        Risk.HIGHER,
        (Harm.DURABILITY,),
        "flush",
        (Allowance.RELAX_FLUSH,),
        "records that are only in memory are lost when all replicas lose power at once",
    ),
    "follower.replication.throttled.replicas": Effect(Risk.NONE, why="slows replication; set by `rebalance`"),
    "index.interval.bytes": _rolls("a segment rolls when its index is full, which happens sooner"),
    "leader.replication.throttled.replicas": Effect(Risk.NONE, why="slows replication; set by `rebalance`"),
    "local.retention.bytes": Effect(Risk.NONE, why="tiered storage keeps a copy of what the broker drops"),
    "local.retention.ms": Effect(Risk.NONE, why="tiered storage keeps a copy of what the broker drops"),
    "max.compaction.lag.ms": _cleans("the cleaner must come sooner"),
    "max.message.bytes": _refuses("larger batches are refused", "max-message"),
    "message.downconversion.enable": Effect(Risk.NONE, why="since Kafka 4.0 it does nothing"),
    "message.format.version": Effect(Risk.NONE, why="since Kafka 3.0 it does nothing"),
    "message.timestamp.after.max.ms": _refuses("records from further ahead are refused", "timestamp-limit"),
    "message.timestamp.before.max.ms": _refuses("older records are refused", "timestamp-limit"),
    "message.timestamp.difference.max.ms": _refuses("records are refused", "timestamp-limit"),
    "message.timestamp.type": Effect(
        Risk.ANY,
        (Harm.RECORDS,),
        "timestamp-type",
        (),
        "with CreateTime a record that the producer stamps in the past expires sooner than it would",
    ),
    "min.cleanable.dirty.ratio": _cleans("the cleaner comes when less is dirty"),
    "min.compaction.lag.ms": _cleans("records are safe from the cleaner for less time"),
    "min.insync.replicas": Effect(
        Risk.LOWER,
        (Harm.DURABILITY, Harm.AVAILABILITY),
        "min-insync",
        (Allowance.LOWER_MIN_INSYNC,),
        "fewer replicas have an acknowledged write; a higher one refuses writes while replicas are missing",
    ),
    "preallocate": _HARMLESS,
    "remote.log.copy.disable": Effect(Risk.NONE, why="what is in remote storage stays readable"),
    "remote.log.delete.on.disable": Effect(Risk.NONE, why="it counts when remote.storage.enable is turned off"),
    "remote.storage.enable": Effect(
        Risk.LOWER,
        (Harm.RECORDS,),
        "tiered-storage-off",
        _SHRINK,
        "turned off, everything that is only in remote storage is deleted",
    ),
    "retention.bytes": _keeps("the oldest segments are deleted above a smaller size"),
    "retention.ms": _keeps("records expire sooner"),
    "segment.bytes": _rolls("smaller segments let old records go that a large one held"),
    "segment.index.bytes": _rolls("a segment rolls when its index is full, which happens sooner"),
    "segment.jitter.ms": _rolls("segments roll up to that much sooner", Risk.HIGHER),
    "segment.ms": _rolls("younger segments let old records go that an older one held"),
    "unclean.leader.election.enable": Effect(
        Risk.TRUE,
        (Harm.RECORDS,),
        "unclean-election",
        (Allowance.UNCLEAN_ELECTION,),
        "a replica that lacks acknowledged records may become leader; all of them are lost",
    ),
}

HARMFUL: Final = tuple(name for name, effect in EFFECTS.items() if effect.risk is not Risk.NONE)
"""The settings of which a change can take something away."""

_ENDLESS: Final = frozenset({"retention.ms", "retention.bytes", "local.retention.ms", "local.retention.bytes"})
"""Settings in which a negative number means no limit."""


def amount(setting: str, value: str) -> float:
    """Return ``value`` as a number that can be compared: a flag is 0 or 1, no limit is infinite."""
    if value in ("true", "false"):
        return float(value == "true")
    number = float(value)
    return float("inf") if setting in _ENDLESS and number < 0 else number


def safest(setting: str, values: Collection[str]) -> str:
    """Return that of ``values`` (at least one) which endangers records the least."""
    return _extreme(setting, values, least=True)


def riskiest(setting: str, values: Collection[str]) -> str:
    """Return that of ``values`` (at least one) which endangers records the most."""
    return _extreme(setting, values, least=False)


def _extreme(setting: str, values: Collection[str], *, least: bool) -> str:
    effect = EFFECTS.get(setting, _HARMLESS)
    ordered = sorted(set(values))
    if effect.risk is Risk.ADDED:
        policies = [frozenset(filter(None, map(str.strip, value.split(",")))) for value in ordered]
        chosen = frozenset.intersection(*policies) if least else frozenset.union(*policies)
        return ",".join(sorted(chosen))
    if effect.risk in (Risk.NONE, Risk.ANY):
        return ordered[0]
    higher_is_riskier = effect.risk in (Risk.HIGHER, Risk.TRUE)
    ranked = sorted(ordered, key=lambda value: amount(setting, value))
    return ranked[0] if higher_is_riskier is least else ranked[-1]


def lowered(setting: str, before: str | None, after: str | None) -> bool:
    """Return whether a number or flag is smaller than before; False where one of the two is not known."""
    return before is not None and after is not None and amount(setting, after) < amount(setting, before)


def raised(setting: str, before: str | None, after: str | None) -> bool:
    """Return whether a number or flag is larger than before; False where one of the two is not known."""
    return lowered(setting, after, before)
