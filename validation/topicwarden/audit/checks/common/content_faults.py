"""Convert faults in the contents of records into check results, with the same wording for every check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from topicwarden.audit.check import CheckResult
from topicwarden.audit.evidence import CommittedCounts
from topicwarden.audit.scan.counts import ContentFault, PartitionCounts
from topicwarden.audit.scan.key_placement import KeyPlacement
from topicwarden.model.message_text import first_lines, first_of
from topicwarden.model.topic import AllowedChange
from topicwarden.model.verdict import Verdict

_MAX_REASONS = 5

AT_MOST = (
    "at most: some of the records may belong to aborted or open transactions, and not all of them could be read again"
)
"""The reason why a number is an upper bound; see ``committed_scan.committed_counts``."""

_AT_LEAST = (
    "at least: records that are late only compared with a record that another task, or an earlier audit, read are not "
    "counted"
)
_UNCONFIRMED = "it is not known whether any of these records is committed"
_NARROWER = "audit fewer topics at once (--topics), so that more records of each topic can be read again"
_OTHER_WRITER = "written by a schema that the declared one cannot read"
"""The reason that the reader of records gives; see ``ConfluentCodec.java``."""
_BREAKING_SCHEMA = (
    "if the schema with this id was declared when the records were written, their producer is right: declare a schema "
    "that can read them, or keep consumers with that schema until they expire; if not, find the producer; consumers "
    "with the declared schema stop at that offset"
)
_ALLOWED = (
    f"the YAML has {AllowedChange.BREAK_READERS.value} in `allow`, with which a schema is deployed that cannot read "
    "retained records"
)


def judge_format(subject: CommittedCounts, part: str, remedy: str) -> Iterator[CheckResult]:
    """Yield the results of ``judge_faults`` for the declared format of ``part``, which is ``key`` or ``value``.

    Records that the declared schema cannot read may have been right when they were written: ``remedy`` is not theirs.
    """
    declared = subject.contents.encoding(part)
    where = " by the registry" if declared.registry else ""
    path = ("contents", part, "schema" if declared.schema_file else "format")
    what = f"whose {part} is not {declared.format} as declared{where}"
    rule = f"{part}-schema"
    reasons = {
        fault.reason
        for counts in subject.committed.values()
        for fault in counts.faults
        if fault.rule == rule and not (fault.unconfirmed or fault.undecided)
    }
    for result in judge_faults(subject, rule, what, path, remedy):
        if result.verdict is Verdict.FAIL and _OTHER_WRITER in reasons:
            others = f"{remedy}; records that are {_OTHER_WRITER}: " if len(reasons) > 1 else ""
            allowed = subject.declared is not None and any(
                each.change is AllowedChange.BREAK_READERS for each in subject.declared.allow
            )
            yield replace(
                result,
                because=(*result.because, *([_ALLOWED] if allowed else [])),
                remedy=f"{others}{_BREAKING_SCHEMA}",
            )
        else:
            yield result


def judge_faults(
    subject: CommittedCounts, rule: str, what: str, path: tuple[str, ...], remedy: str
) -> Iterator[CheckResult]:
    """Yield the results for the faults of ``rule``, a check id or ``expression:<id>``.

    ``what`` completes the phrase "3 records …".
    """
    found = {
        partition: [fault for fault in counts.faults if fault.rule == rule]
        for partition, counts in subject.committed.items()
    }
    return results_of_faults(found, what, path, remedy)


def results_of_faults(
    found: Mapping[int, Iterable[ContentFault]], what: str, path: tuple[str, ...], remedy: str
) -> Iterator[CheckResult]:
    """Yield the results for faults by partition. ``what`` completes the phrase "3 records …".

    Faults in committed records are a ``fail``. Faults that the audit cannot decide are ``undecidable``, and so are
    faults without a record that is known to be committed.
    """
    proven: dict[int, list[ContentFault]] = {}
    unconfirmed: dict[int, list[ContentFault]] = {}
    unknown: dict[int, list[ContentFault]] = {}
    for partition, faults in sorted(found.items()):
        for fault in faults:
            kind = unconfirmed if fault.unconfirmed else unknown if fault.undecided else proven
            kind.setdefault(partition, []).append(fault)
    if proven:
        yield _result(Verdict.FAIL, proven, what, path, remedy)
    if unconfirmed:
        result = _result(Verdict.UNDECIDABLE, unconfirmed, what, path, _NARROWER)
        yield replace(result, because=(_UNCONFIRMED, *result.because))
    if unknown:
        yield _result(Verdict.UNDECIDABLE, unknown, "could not be judged", path, "fix the cause given, and audit again")


def counted_fault(rule: str, reason: str, count: int, first: int | None, counts: PartitionCounts) -> list[ContentFault]:
    """Return a fault of ``count`` records of ``counts``; an empty list if ``count`` is 0.

    ``first`` is the offset of the first committed record; None if that is not known.
    """
    offsets = () if first is None else (first,)
    at_most = counts.at_most and count > len(offsets)
    fault = ContentFault(rule, reason, count, offsets, at_most=at_most, unconfirmed=first is None)
    return [fault] if count else []


def undecidable_if_upper_bound(counts: Iterable[PartitionCounts], result: CheckResult) -> CheckResult:
    """Return ``result``, but as ``undecidable`` if it is a ``fail`` and any of the counts is an upper bound."""
    if result.verdict is not Verdict.FAIL or not any(each.at_most for each in counts):
        return result
    return replace(
        result,
        verdict=Verdict.UNDECIDABLE,
        because=(*result.because, AT_MOST),
        remedy=_NARROWER,
        evidence={**result.evidence, "counted": AT_MOST},
    )


def _result(
    verdict: Verdict, faults: Mapping[int, list[ContentFault]], what: str, path: tuple[str, ...], remedy: str
) -> CheckResult:
    all_faults = [fault for partition_faults in faults.values() for fault in partition_faults]
    total = sum(fault.count for fault in all_faults)
    by_reason: dict[str, list[tuple[int, ContentFault]]] = {}
    for partition, partition_faults in faults.items():
        for fault in partition_faults:
            by_reason.setdefault(fault.reason, []).append((partition, fault))
    ordered = sorted(by_reason.items(), key=lambda item: -sum(fault.count for _, fault in item[1]))
    because = first_lines([_reason(reason, found) for reason, found in ordered], _MAX_REASONS, "reason")
    bounds = [reason for reason, holds in _bounds(all_faults).items() if holds]
    offsets = (
        (p, fault.offsets[0]) for p, partition_faults in faults.items() for fault in partition_faults if fault.offsets
    )
    first = min(offsets, default=None)
    where = f", first at offset {first[1]} of partition {first[0]}" if first else ""
    plural = "s" if total > 1 else ""
    return CheckResult(
        verdict,
        f"{_bound_word(all_faults)}{total:,} record{plural} {what}{where}",
        path=path,
        partitions=tuple(sorted(faults)),
        because=(*because, *bounds),
        remedy=remedy,
        evidence={
            "records": total,
            **({"reasons": len(ordered)} if len(ordered) > 1 else {}),
            "partition": first[0] if first else min(faults),
            "offset": first[1] if first else None,
            **({"counted": "; ".join(bounds)} if bounds else {}),
        },
    )


def _bounds(faults: Iterable[ContentFault]) -> dict[str, bool]:
    """Return the reasons why the number of records may be inexact, and whether each applies."""
    all_faults = list(faults)
    return {AT_MOST: any(fault.at_most for fault in all_faults), _AT_LEAST: any(fault.at_least for fault in all_faults)}


def _bound_word(faults: Iterable[ContentFault]) -> str:
    at_most, at_least = _bounds(faults).values()
    return "about " if at_most and at_least else "at most " if at_most else "at least " if at_least else ""


def _reason(reason: str, found: list[tuple[int, ContentFault]]) -> str:
    total = sum(fault.count for _, fault in found)
    of_partitions = [
        f"partition {partition}: offset{'s' if len(fault.offsets) > 1 else ''} {', '.join(map(str, fault.offsets))}"
        f"{', …' if fault.count > len(fault.offsets) else ''}"
        for partition, fault in found
        if fault.offsets
    ]
    positions = first_of(of_partitions, 3, "partition", separator="; ")
    excerpt = next((f" ({fault.excerpt})" for _, fault in found if fault.excerpt), "")
    bound = _bound_word(fault for _, fault in found)
    return f"{bound}{total:,} × {reason}{excerpt}{': ' if positions else ''}{positions}"


_EMPTY_KEY = ", except for the empty key, which librdkafka's consistent_random puts into any partition"


def placement_text(placement: KeyPlacement) -> str:
    """Return where the keys are, in the words of partitioners."""
    if placement.algorithms:
        empty_key = _EMPTY_KEY if placement.study and placement.study.scattered_keys else ""
        return f"every key is where {' or '.join(placement.algorithms)} puts it{empty_key}"
    shares = ", ".join(
        f"{name} {share:.2%}" for name, share in sorted(placement.scores.items(), key=lambda each: (-each[1], each[0]))
    )
    return f"no known partitioner explains every key with {placement.partitions} partitions: {shares}"


def score_evidence(placement: KeyPlacement) -> dict[str, float]:
    """Return, as evidence, the share of keys that each algorithm explains for the current number of partitions."""
    return {f"score_{name}": round(share, 4) for name, share in placement.scores.items()}
