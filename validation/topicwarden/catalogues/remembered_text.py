"""A text that survives restarts, and does no harm if it is lost."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from topicwarden.model.files import replace_file


class RememberedText:
    """A text in a file that survives restarts. It only saves requests, so that a lost text does no harm."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self) -> str:
        """Return the text; empty if there is none, or if it cannot be read."""
        try:
            return self._file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""

    def write(self, text: str) -> None:
        """Replace the text. If that fails, nothing is remembered, because an outdated text is wrong."""
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(self._file, text, mode=0o600)
        except OSError:
            with suppress(OSError):
                self._file.unlink(missing_ok=True)
