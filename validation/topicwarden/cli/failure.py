"""What a command says that could not run: one line, and where to find more."""

from __future__ import annotations

import os
import tempfile
import time
import traceback
from pathlib import Path

from topicwarden import __version__
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project

CODE = 2
"""The exit code of a command that could not run, whatever the reason; 1 says that something is not as declared."""


_EXTRAS = {
    **dict.fromkeys(("pyspark", "py4j"), "audit"),
    **dict.fromkeys(("pulumi", "pulumi_kafka", "pulumi_policy", "grpc", "google"), "deploy"),
}
"""The extra of this package that brings a module."""


def line_for(error: Exception) -> str:
    """Return the line that tells a user about ``error``, and the log file with its details or, if nobody expected it,
    its traceback.

    A log that cannot be written changes nothing: the line then names the error alone.
    """
    if isinstance(error, Refusal):
        log = _logged(error.details) if error.details else None
        return f"{error}; the log is {log}" if log else str(error)
    if isinstance(error, ModuleNotFoundError) and (extra := _EXTRAS.get((error.name or "").partition(".")[0])):
        return f"{error.name} is not installed: `pip install 'topicwarden[{extra}]'`"
    summary = " ".join(str(error).split())[:500]
    what = f"{type(error).__name__}: {summary}" if summary else type(error).__name__
    log = _logged("".join(traceback.format_exception(error)))
    where = f"; the traceback is in {log}" if log else ""
    return f"an error that topicwarden did not expect, which is a bug: {what}{where}"


def _logged(text: str) -> Path | None:
    try:
        folder = find_project().cache / "logs"
    except Refusal:
        folder = Path(tempfile.gettempdir())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        log = folder / f"topicwarden-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.log"
        log.write_text(f"topicwarden {__version__}\n{text}", encoding="utf-8")
        log.chmod(0o600)
    except OSError:
        return None
    return log
