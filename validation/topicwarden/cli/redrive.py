"""`topicwarden redrive`: copy the records of a finding to another topic."""

from __future__ import annotations

from topicwarden.cli.terminal import TERMINAL
from topicwarden.extensions.redrive.redrive_operation import redrive_finding
from topicwarden.extensions.redrive.redrive_report import RedriveReport
from topicwarden.model.message_text import counted
from topicwarden.model.project import find_project
from topicwarden.model.units import SIZE
from topicwarden.operations.operation_options import RedriveOptions
from topicwarden.report import display


def redrive(stack: str, options: RedriveOptions) -> int:
    """Print what is copied or would be, and return the exit code: 1 if records of the finding are deleted, else 0."""
    report = redrive_finding(find_project(), stack, options, listener=TERMINAL)
    for line in _lines(report):
        print(display.one_line(line))
    return 1 if report.deleted else 0


def _lines(report: RedriveReport) -> list[str]:
    finding = report.finding
    lines = [f"finding {finding.id}: {finding.topic}: {finding.message} [{finding.check}]"]
    lines.append(f"in the log: {counted(report.records, 'record')} in {counted(len(report.partitions), 'partition')}")
    for each in report.partitions:
        offsets = f"offset {each.first}" if each.first == each.last else f"offsets {each.first} to {each.last}"
        before = f", {each.copied:,} copied before" if each.copied else ""
        lines.append(f"partition {each.partition}: {counted(each.records, 'record')}, {offsets}{before}")
    if report.deleted:
        lines.append(f"deleted since the audit: {counted(report.deleted, 'record')}, which cannot be copied")
    if report.counts.dropped:
        lines.append(f"not copied, because the function returned None: {counted(report.counts.dropped, 'record')}")
    lines += report.remarks
    size = SIZE.text(report.counts.size) if report.counts.size else "0 bytes"
    if report.done:
        lines.append(f"copied to {report.target}: {counted(report.counts.copies, 'record')}")
    else:
        lines.append(f"to copy to {report.target}: {counted(report.counts.copies, 'record')}, {size}")
        lines.append("nothing was copied: add --execute to copy" if report.counts.copies else "nothing is left to copy")
    return lines
