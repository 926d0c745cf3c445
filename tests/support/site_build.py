"""Build the documentation as a website."""

from __future__ import annotations

import logging
from pathlib import Path

from mkdocs.commands.build import build as mkdocs_build
from mkdocs.config import load_config


def build_site(settings: Path, folder: Path) -> list[str]:
    """Build the site into ``folder``, and return the warnings."""
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
