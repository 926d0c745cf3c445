"""`topicwarden redrive`: copy the records of a finding to another topic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from topicwarden.cli.options import Stack
from topicwarden.cli.terminal import TERMINAL
from topicwarden.model.message_text import counted
from topicwarden.model.project import find_project
from topicwarden.model.units import SIZE
from topicwarden.report import display
from topicwarden.report.terminal_output import write_line

if TYPE_CHECKING:
    from topicwarden.extensions.redrive.redrive_report import RedriveReport

app = typer.Typer()


@app.command(
    epilog="Example: topicwarden redrive --stack dev --finding 4f1f0c2a9d3e --to orders.repaired.v1 "
    "--with repair:fix --execute\n\nRun the same command again to resume, also after a crash."
)
def redrive(
    stack: Stack,
    finding: Annotated[
        str, typer.Option("--finding", metavar="ID", help="The id of the finding in the report.", show_default=False)
    ],
    to: Annotated[str, typer.Option("--to", metavar="TOPIC", help="The declared topic that receives the copies.")],
    *,
    report: Annotated[
        Path, typer.Option("--report", metavar="FILE", help="The report of the audit that has the finding.")
    ] = Path("reports/report.json"),
    function: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="MODULE:FUNCTION",
            help="A Python function of key, value and headers that returns them as they are to be copied, or None.",
        ),
    ] = None,
    max_records: Annotated[
        int, typer.Option("--max-records", metavar="NUMBER", min=1, help="Refuse a finding with more records.")
    ] = 10_000,
    master: Annotated[
        str | None, typer.Option("--master", metavar="URL", help="The Spark master (default: all cores).")
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute", help="Copy the records. Without it, only show what would be copied.")
    ] = False,
) -> int:
    """Copy exactly the records of a finding to another topic, exactly once. The topic of the finding is only read."""
    from topicwarden.operations.operation_options import RedriveOptions

    options = RedriveOptions(finding, to, report, function, max_records, execute, master)
    from topicwarden.extensions.redrive.redrive_operation import redrive_finding

    done = redrive_finding(find_project(), stack, options, listener=TERMINAL)
    for line in _lines(done):
        write_line(display.one_line(line))
    return 1 if done.deleted else 0


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
