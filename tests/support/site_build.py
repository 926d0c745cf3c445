"""Build the documentation as a website."""

from __future__ import annotations

import logging
from pathlib import Path


def build_site(settings: Path, folder: Path) -> list[str]:
    """Build the site into ``folder``, and return the warnings."""
    from mkdocs.commands.build import build as mkdocs_build  # noqa: PLC0415 -- few of all tests build a site
    from mkdocs.config import load_config  # noqa: PLC0415

    warnings: list[str] = []

    class Recorder(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            warnings.append(record.getMessage())

    recorder = Recorder(logging.WARNING)
    logging.getLogger("mkdocs").addHandler(recorder)
    try:
        mkdocs_build(load_config(str(settings), site_dir=str(folder), strict=False))
    finally:
        logging.getLogger("mkdocs").removeHandler(recorder)
    return warnings
