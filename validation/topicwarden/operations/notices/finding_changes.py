"""Compare a report with what a receiver knows: the changes to announce, and what the receiver knows after them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from pydantic import Field

from topicwarden.model.field_types import StrictModel
from topicwarden.model.finding import OF_CLUSTER, AuditReport, Finding
from topicwarden.model.problem import Location
from topicwarden.model.verdict import Verdict
from topicwarden.operations.notices.notification import AnnouncedVerdict, FindingChange, Notification
from topicwarden.report.display import one_line, printable

UNDECIDABLE_MS: Final = 3_600_000
"""How long a check must be undecidable before it is announced."""
MOST_TEXT: Final = 1_000
"""The most characters of a message and of a remedy."""
MOST_PARTITIONS: Final = 100
_WITHDRAWN: Final = "this version of the check no longer concludes it; nothing about the topic has changed"

_Key = tuple[str, str, str]


class UnjudgedCheck(StrictModel):
    """A check that is undecidable, and the first audit of an unbroken series that saw this."""

    stack: str
    topic: str
    check: str
    since: int


class ReceiverMemory(StrictModel):
    """The findings that a receiver knows, and the difference to what the last audit found.

    ``open``: the last change of each finding that is not resolved, with the latest message. ``unjudged``: checks that
    are undecidable now. ``sending``: the notification that was sent last, if the receiver may have got it, but has not
    said so. ``changes``: the difference between what the receiver knows after ``sending``, and ``open``. ``sequence``:
    the number of the last notification.
    """

    open: list[FindingChange] = Field(default=[])
    unjudged: list[UnjudgedCheck] = Field(default=[])
    sending: Notification | None = None
    changes: list[FindingChange] = Field(default=[])
    sequence: int = 0


class JudgedChecks:
    """The verdicts of one report by check and topic, for the comparisons with all receivers."""

    def __init__(self, report: AuditReport) -> None:
        self.stack, self.started = report.stack, report.started
        self.owners = {printable(topic.name): topic.owner for topic in report.topics}
        self.open: dict[_Key, dict[Verdict, list[Finding]]] = {}
        self._passed: set[tuple[str, str]] = set()
        self._topics = {OF_CLUSTER, *self.owners}
        self.withdrawn = {(self.stack, printable(each.topic), each.check) for each in report.withdrawn}
        for finding in report.findings:
            topic, check = printable(finding.topic), finding.check
            if finding.verdict is Verdict.PASS:
                self._passed.add((topic, check))
            else:
                verdicts = self.open.setdefault((self.stack, topic, check), {})
                verdicts.setdefault(finding.verdict, []).append(finding)

    def over(self, key: _Key) -> str:
        """Return why the finding ``key`` is over."""
        if key in self.open:
            return "the check can judge the topic again: suspect"
        if key[1:] in self._passed:
            return "the check passes"
        audited = key[1] in self._topics
        return "the check no longer applies to the topic" if audited else "the audit no longer includes the topic"


def compare_report(memory: ReceiverMemory, report: JudgedChecks) -> tuple[ReceiverMemory, list[FindingChange]]:
    """Return the memory after ``report``, which has the changes to announce, and those of this report alone.

    The worst changes come first.

    A ``fail`` is open until its check passes or no longer applies; ``suspect`` and ``undecidable`` do not resolve it.
    A ``fail`` that the check no longer concludes by its rules is withdrawn. An ``undecidable`` is open until the check
    can judge the topic. Findings of other stacks stay as they are.
    """
    stack = report.stack
    known = {change.key: change for change in memory.open if change.stack == stack}
    timers = {(each.stack, each.topic, each.check): each.since for each in memory.unjudged if each.stack == stack}
    open_after = [change for change in memory.open if change.stack != stack]
    unjudged = [each for each in memory.unjudged if each.stack != stack]
    changes = []
    for key in sorted({*known, *report.open}):
        before, found = known.get(key), report.open.get(key, {})
        if Verdict.UNDECIDABLE in found and Verdict.FAIL not in found:
            since = min(timers.get(key, report.started), report.started)
            unjudged.append(UnjudgedCheck(stack=stack, topic=key[1], check=key[2], since=since))
            lasting = report.started - since >= UNDECIDABLE_MS
        else:
            since, lasting = report.started, False
        if before and before.verdict == "fail" and Verdict.FAIL not in found and key in report.withdrawn:
            changes.append(_ended(before, "withdrawn", _WITHDRAWN, report.started))
            continue
        verdict = _verdict(found, before, lasting)
        was = before.verdict if before else None
        if verdict is None:
            if before:
                changes.append(_ended(before, "resolved", report.over(key), report.started))
            continue
        current = found.get(Verdict(verdict))
        if current is None:
            assert before  # a `fail` stays open without a finding that fails
            open_after.append(before)
            continue
        change = _change(report, key, (was, verdict), current, since)
        if before and was == verdict:
            # A finding keeps the owner that its receivers know.
            kept = {"was": before.was, "owner": before.owner, "since": before.since, "changed": before.changed}
            open_after.append(change.model_copy(update=kept))
        else:
            open_after.append(change)
            changes.append(change)
    found_changes = _worst_first(changes)
    pending = merge_changes([*memory.changes, *found_changes])
    update = {"open": open_after, "unjudged": unjudged, "changes": pending}
    return memory.model_copy(update=update), found_changes


def merge_changes(changes: Iterable[FindingChange]) -> list[FindingChange]:
    """Return one change for each finding, from its state before all ``changes`` to that after them.

    A finding without a difference has none.
    """
    first: dict[_Key, AnnouncedVerdict | None] = {}
    last: dict[_Key, FindingChange] = {}
    for change in changes:
        first.setdefault(change.key, change.was)
        last.pop(change.key, None)
        last[change.key] = change
    return _worst_first(
        change.model_copy(update={"was": first[key]}) for key, change in last.items() if change.verdict != first[key]
    )


def _worst_first(changes: Iterable[FindingChange]) -> list[FindingChange]:
    order = ("fail", "undecidable", "resolved", "withdrawn")
    return sorted(changes, key=lambda change: (order.index(change.change), change.key))


def _verdict(
    found: dict[Verdict, list[Finding]], before: FindingChange | None, lasting: bool
) -> AnnouncedVerdict | None:
    """Return the verdict that the receiver must know."""
    if Verdict.FAIL in found:
        return "fail"
    if before and before.verdict == "fail":
        return "fail" if found.keys() & {Verdict.SUSPECT, Verdict.UNDECIDABLE} else None
    return "undecidable" if Verdict.UNDECIDABLE in found and (lasting or before) else None


def _change(
    report: JudgedChecks,
    key: _Key,
    verdicts: tuple[AnnouncedVerdict | None, AnnouncedVerdict],
    findings: Sequence[Finding],
    undecidable_since: int,
) -> FindingChange:
    """Return the change from the first of ``verdicts`` to the second."""
    was, verdict = verdicts
    first = min(findings, key=lambda finding: (finding.partitions, finding.message))
    starts = [finding.since for finding in findings if finding.since is not None]
    since = undecidable_since if verdict == "undecidable" else min(starts, default=report.started)
    stack, topic, check = key
    owner = report.owners.get(topic)
    return FindingChange(
        change=verdict,
        was=was,
        stack=stack,
        topic=topic,
        check=check,
        findings=len(findings),
        partitions=sorted({each for finding in findings for each in finding.partitions})[:MOST_PARTITIONS],
        owner=_text(owner) if owner else None,
        location=next((_printable(each.location) for each in (first, *findings) if each.location), None),
        message=_text(first.message),
        remedy=_text(first.remedy),
        since=since,
        changed=report.started,
    )


def _printable(location: Location) -> Location:
    return replace(location, file=printable(location.file))


def _ended(before: FindingChange, change: str, reason: str, now: int) -> FindingChange:
    update = {"change": change, "was": before.verdict, "message": reason, "remedy": "", "changed": now}
    return before.model_copy(update=update)


def _text(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= MOST_TEXT else f"{line[: MOST_TEXT - 1]}…"
