"""Faults put into words, the same for every check that speaks of contents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from topicwarden.audit.counts import Fault
from topicwarden.audit.subject import Judgement, Subject
from topicwarden.verdict import Verdict

_REASONS = 5


def judge_encoding(subject: Subject, part: str, remedy: str) -> Iterator[Judgement]:
    """What ``judge_faults`` says of the records' ``part``, ``key`` or ``value``, against its declared format."""
    declared = {name: getattr(subject.contents, f"{part}_{name}") for name in ("format", "schema", "registry")}
    where = " by the registry" if declared["registry"] else ""
    path = ("contents", part, "schema" if declared["schema"] else "format")
    what = f"whose {part} is not {declared['format']} as declared{where}"
    return judge_faults(subject, f"{part}-schema", what, path, remedy)


def judge_faults(subject: Subject, rule: str, what: str, path: tuple[str, ...], remedy: str) -> Iterator[Judgement]:
    """A ``fail`` for the faults of ``rule`` that a consumer reading committed sees, ``undecidable`` for what could
    not be told. ``what`` completes "3 records …".
    """
    proven: dict[int, list[Fault]] = {}
    unknown: dict[int, list[Fault]] = {}
    for partition, counts in sorted(subject.counts.items()):
        for fault in counts.faults:
            if fault.rule == rule and fault.committed is not False:
                (unknown if fault.undecided else proven).setdefault(partition, []).append(fault)
    if proven:
        yield _judgement(Verdict.FAIL, proven, what, path, remedy)
    if unknown:
        judged = _judgement(Verdict.UNDECIDABLE, unknown, "could not be judged", path, "")
        yield replace(judged, remedy="see to the reason given, and audit again")


def _judgement(
    verdict: Verdict, faults: Mapping[int, list[Fault]], what: str, path: tuple[str, ...], remedy: str
) -> Judgement:
    total = sum(fault.count for held in faults.values() for fault in held)
    by_reason: dict[str, list[tuple[int, Fault]]] = {}
    for partition, held in faults.items():
        for fault in held:
            by_reason.setdefault(fault.reason, []).append((partition, fault))
    ordered = sorted(by_reason.items(), key=lambda item: -sum(fault.count for _, fault in item[1]))
    because = [_reason(reason, found) for reason, found in ordered[:_REASONS]]
    if len(ordered) > _REASONS:
        because.append(f"and {len(ordered) - _REASONS} more reasons")
    partition, offset = min((p, min(fault.offsets[0] for fault in held)) for p, held in faults.items())
    plural = "s" if total > 1 else ""
    return Judgement(
        verdict,
        f"{total:,} record{plural} {what}, first at offset {offset} of partition {partition}",
        path=path,
        partitions=tuple(sorted(faults)),
        because=tuple(because),
        remedy=remedy,
        evidence={"records": total, "reasons": len(ordered), "partition": partition, "offset": offset},
    )


def _reason(reason: str, found: list[tuple[int, Fault]]) -> str:
    total = sum(fault.count for _, fault in found)
    places = "; ".join(
        f"partition {partition}: offset{'s' if len(fault.offsets) > 1 else ''} {', '.join(map(str, fault.offsets))}"
        f"{', …' if fault.count > len(fault.offsets) else ''}"
        for partition, fault in found[:3]
    )
    excerpt = next((f" ({fault.excerpt})" for _, fault in found if fault.excerpt), "")
    return f"{total:,} × {reason}{excerpt}: {places}"
