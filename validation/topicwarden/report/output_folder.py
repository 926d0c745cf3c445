"""Write the files of a report into the folder of the option ``--out``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile

from topicwarden.model.files import replace_file
from topicwarden.model.problem import Refusal


def write_files(directory: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write a file for each name to ``directory``, completely or not at all; return their paths.

    Creates the directory if it does not exist. Raises Refusal if it is a file or not writable.
    """
    require_writable(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name in texts:
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
        return [replace_file(directory / name, text) for name, text in texts.items()]
    except OSError as error:
        reason = error.strerror or str(error)
        raise Refusal(f"cannot write the report to {directory}: {reason}; select another folder with --out") from error


def require_writable(directory: Path) -> None:
    """Raise Refusal if ``directory`` is not a directory, cannot be created, or is not writable. No file remains."""
    nearest = next(path for path in (directory.absolute(), *directory.absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise Refusal(f"cannot write the report to {directory}: {nearest} is not a folder; select another with --out")
    try:  # root has access to read-only file systems and to /proc, and can write to neither
        with TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise Refusal(
            f"cannot write the report to {directory}: {nearest} is not writable; select another folder with --out"
        ) from error
