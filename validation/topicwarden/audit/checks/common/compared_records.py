"""Convert the results of rules that compare records into check results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from topicwarden.audit.check import CheckResult
from topicwarden.audit.evidence import Compared
from topicwarden.audit.scan.record_comparison import BrokenRule, ComparedRecords
from topicwarden.model.message_text import counted
from topicwarden.model.verdict import Verdict

RESENT = "the first has the same bytes and timestamp as that record: a likely re-send by a producer without idempotence"


def judge_rule(subject: Compared, name: str, what: str, remedy: str) -> Iterator[CheckResult]:
    """Yield the results of the rule ``name``, such as ``unique:0``. ``what`` completes the phrase "3 records …".

    A ``fail`` has only records of partitions whose first ones were read again, and break the rule.
    """
    found = subject.compared[name]
    path = ("contents", name.partition(":")[0])
    proven = {partition: broken for partition, broken in found.broken.items() if broken.confirmed}
    unproven = {partition: broken for partition, broken in found.broken.items() if not broken.confirmed}
    notes = tuple(_notes(found))
    if found.incomplete and found.broken:
        result = _result(dict(found.broken), what, path, (found.incomplete, *notes), found.judged)
        again = (
            "audit both topics together with a user that may read them; absence proves nothing where records are gone"
        )
        yield replace(result, verdict=Verdict.UNDECIDABLE, remedy=again)
    elif proven:
        result = _result(proven, what, path, notes, found.judged)
        yield replace(result, remedy=remedy)
    if unproven and not found.incomplete:
        reason = "the first records were read again, and do not break the rule or are gone"
        again = "audit the topic again"
        result = _result(unproven, what, path, (reason, *notes), found.judged)
        yield replace(result, verdict=Verdict.UNDECIDABLE, remedy=again)
    undecided = [fault for fault in found.unjudged if fault.undecided]
    if undecided or found.unread:
        records = sum(fault.count for fault in undecided)
        because = (*notes, *(f"partition {number}: {why}" for number, why in sorted(found.unread.items())))
        message = f"{counted(records, 'record')} could not be compared" if records else "partitions could not be read"
        partitions = tuple(sorted(found.unread))
        yield CheckResult(
            Verdict.UNDECIDABLE, message, path, partitions, because, "fix the cause given, and audit again"
        )
    elif notes and not found.broken:
        yield CheckResult(
            Verdict.PASS, f"no fault in the {counted(found.judged, 'record')} that were compared", path, (), notes
        )


def _notes(found: ComparedRecords) -> Iterator[str]:
    for fault in found.unjudged:
        yield f"{counted(fault.count, 'record')} not compared: {fault.reason}, first at offset {fault.offsets[0]}"
    if found.young:
        yield f"{counted(found.young, 'record')} not judged yet: younger than the grace period, or without a timestamp"
    if found.deleted:
        refer = "refers" if found.deleted == 1 else "refer"
        yield f"{counted(found.deleted, 'record')} {refer} to a key that was deleted: its last record is a tombstone"
    if found.moved_keys:
        moved = counted(found.moved_keys, "key")
        grown = "as after a change of the number of partitions"
        yield f"{moved} in more than one partition, {grown}: order is judged within each partition"


def _result(
    broken: dict[int, BrokenRule], what: str, path: tuple[str, ...], notes: tuple[str, ...], judged: int
) -> CheckResult:
    records = sum(each.records for each in broken.values())
    partition, first = min(broken.items(), key=lambda item: item[0])
    pair = f"first at offset {first.offset} of partition {partition}"
    if first.other_offset is not None:
        pair += f", compared with offset {first.other_offset} of partition {first.other_partition}"
    because = tuple(
        f"partition {number}: {counted(each.records, 'record')}, first at offset {each.offset}"
        for number, each in sorted(broken.items())[:5]
    )
    resent = (RESENT,) if first.resent else ()
    return CheckResult(
        Verdict.FAIL,
        f"{counted(records, 'record')} {what}, {pair}",
        path=path,
        partitions=tuple(sorted(broken)),
        because=(*because, *resent, *notes),
        evidence={"records": records, "judged": judged, "partition": partition, "offset": first.offset},
    )
