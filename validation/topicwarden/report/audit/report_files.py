"""Writes a report in every format that is kept."""

from __future__ import annotations

import os
from pathlib import Path

from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.formats import FILES


def write(report: AuditReport, directory: Path, background: ReportBackground | None = None) -> list[Path]:
    """Writes the report's ``FILES``, each whole or not at all; gives their paths.

    Makes the directory where there is none. Raises Refusal where it is a file or may not be written.
    """
    # All are drawn before the first is written, so that they always speak of the same audit.
    texts = {name: draw(report, background or ReportBackground()) for name, draw in FILES.items()}
    require_writable(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return [_replace(directory / name, text) for name, text in texts.items()]
    except OSError as error:
        reason = error.strerror or str(error)
        raise Refusal(f"cannot write the report to {directory}: {reason}; name another with --out") from error


def require_writable(directory: Path) -> None:
    """Refuses a directory that is none, cannot be made, or may not be written to. Makes nothing."""
    nearest = next(path for path in (directory.absolute(), *directory.absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise Refusal(f"cannot write the report to {directory}: {nearest} is not a directory; name another with --out")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise Refusal(f"cannot write the report to {directory}: {nearest} may not be written; name another with --out")


def _replace(path: Path, text: str) -> Path:
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.write_text(text, encoding="utf-8", newline="\n")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path
