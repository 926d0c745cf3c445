"""Faults put into words, the same for every check that speaks of contents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from topicwarden.audit.scan.counts import ContentFault, PartitionCounts
from topicwarden.audit.subject import AuditedTopic, CheckResult
from topicwarden.model.verdict import Verdict

_REASONS = 5

AT_MOST = "at most: aborted and open transactions may hold some of the records, and too many stand to read them again"
"""Why a number is an upper bound; see ``committed.MOST_RECORDS``."""

_AT_LEAST = "at least: a record late only for one that another task read is not counted"
_UNCONFIRMED = "whether any of these records is committed is not known"
_NARROWER = "audit fewer topics at once (--topics), so that more of each can be read again"


def judge_encoding(subject: AuditedTopic, part: str, remedy: str) -> Iterator[CheckResult]:
    """What ``judge_faults`` says of the records' ``part``, ``key`` or ``value``, against its declared format."""
    declared = {name: getattr(subject.contents, f"{part}_{name}") for name in ("format", "schema", "registry")}
    where = " by the registry" if declared["registry"] else ""
    path = ("contents", part, "schema" if declared["schema"] else "format")
    what = f"whose {part} is not {declared['format']} as declared{where}"
    return judge_faults(subject, f"{part}-schema", what, path, remedy)


def judge_faults(
    subject: AuditedTopic, rule: str, what: str, path: tuple[str, ...], remedy: str
) -> Iterator[CheckResult]:
    """What ``judge_found`` says of the faults of ``rule``."""
    found = {
        partition: [fault for fault in counts.faults if fault.rule == rule]
        for partition, counts in subject.committed.items()
    }
    return judge_found(found, what, path, remedy)


def judge_found(
    found: Mapping[int, Iterable[ContentFault]], what: str, path: tuple[str, ...], remedy: str
) -> Iterator[CheckResult]:
    """A ``fail`` for faults in committed records, by partition; ``undecidable`` for what could not be told, and for
    faults of which no committed record is known. ``what`` completes "3 records …".
    """
    proven: dict[int, list[ContentFault]] = {}
    unconfirmed: dict[int, list[ContentFault]] = {}
    unknown: dict[int, list[ContentFault]] = {}
    for partition, faults in sorted(found.items()):
        for fault in faults:
            kind = unconfirmed if fault.unconfirmed else unknown if fault.undecided else proven
            kind.setdefault(partition, []).append(fault)
    if proven:
        yield _judgement(Verdict.FAIL, proven, what, path, remedy)
    if unconfirmed:
        judged = _judgement(Verdict.UNDECIDABLE, unconfirmed, what, path, _NARROWER)
        yield replace(judged, because=(_UNCONFIRMED, *judged.because))
    if unknown:
        judged = _judgement(Verdict.UNDECIDABLE, unknown, "could not be judged", path, "")
        yield replace(judged, remedy="see to the reason given, and audit again")


def counted_fault(rule: str, reason: str, count: int, first: int | None, counts: PartitionCounts) -> list[ContentFault]:
    """Return the fault of ``count`` records of ``counts``, the first committed one at offset ``first`` (None: unknown);
    nothing where there are none.
    """
    offsets = () if first is None else (first,)
    at_most = counts.at_most and count > len(offsets)
    fault = ContentFault(rule, reason, count, offsets, at_most=at_most, unconfirmed=first is None)
    return [fault] if count else []


def unless_at_most(counts: Iterable[PartitionCounts], judgement: CheckResult) -> CheckResult:
    """``judgement``; ``undecidable`` where it is a ``fail`` that rests on numbers which may be too high."""
    if judgement.verdict is not Verdict.FAIL or not any(each.at_most for each in counts):
        return judgement
    return replace(
        judgement,
        verdict=Verdict.UNDECIDABLE,
        because=(*judgement.because, AT_MOST),
        remedy=_NARROWER,
        evidence={**judgement.evidence, "counted": AT_MOST},
    )


def _judgement(
    verdict: Verdict, faults: Mapping[int, list[ContentFault]], what: str, path: tuple[str, ...], remedy: str
) -> CheckResult:
    every = [fault for held in faults.values() for fault in held]
    total = sum(fault.count for fault in every)
    by_reason: dict[str, list[tuple[int, ContentFault]]] = {}
    for partition, held in faults.items():
        for fault in held:
            by_reason.setdefault(fault.reason, []).append((partition, fault))
    ordered = sorted(by_reason.items(), key=lambda item: -sum(fault.count for _, fault in item[1]))
    because = [_reason(reason, found) for reason, found in ordered[:_REASONS]]
    if len(ordered) > _REASONS:
        because.append(f"and {len(ordered) - _REASONS} more reasons")
    bounds = [reason for reason, holds in _bounds(every).items() if holds]
    first = min(((p, fault.offsets[0]) for p, held in faults.items() for fault in held if fault.offsets), default=None)
    where = f", first at offset {first[1]} of partition {first[0]}" if first else ""
    plural = "s" if total > 1 else ""
    return CheckResult(
        verdict,
        f"{_about(every)}{total:,} record{plural} {what}{where}",
        path=path,
        partitions=tuple(sorted(faults)),
        because=(*because, *bounds),
        remedy=remedy,
        evidence={
            "records": total,
            "reasons": len(ordered),
            "partition": first[0] if first else min(faults),
            "offset": first[1] if first else None,
            **({"counted": "; ".join(bounds)} if bounds else {}),
        },
    )


def _bounds(faults: Iterable[ContentFault]) -> dict[str, bool]:
    held = list(faults)
    return {AT_MOST: any(fault.at_most for fault in held), _AT_LEAST: any(fault.at_least for fault in held)}


def _about(faults: Iterable[ContentFault]) -> str:
    at_most, at_least = _bounds(faults).values()
    return "about " if at_most and at_least else "at most " if at_most else "at least " if at_least else ""


def _reason(reason: str, found: list[tuple[int, ContentFault]]) -> str:
    total = sum(fault.count for _, fault in found)
    places = "; ".join(
        f"partition {partition}: offset{'s' if len(fault.offsets) > 1 else ''} {', '.join(map(str, fault.offsets))}"
        f"{', …' if fault.count > len(fault.offsets) else ''}"
        for partition, fault in found[:3]
        if fault.offsets
    )
    excerpt = next((f" ({fault.excerpt})" for _, fault in found if fault.excerpt), "")
    bound = _about(fault for _, fault in found)
    return f"{bound}{total:,} × {reason}{excerpt}{': ' if places else ''}{places}"
