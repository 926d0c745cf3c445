"""A queue of payloads in a folder, in the order of their arrival. Several processes may share it."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from topicwarden.model.files import replace_file

MOST_ENTRIES: Final = 100
"""The most payloads of a queue: one for each audit while a catalogue is not available."""
MOST_BYTES: Final = 64 << 20
"""The most bytes of a queue. The newest payload may be larger."""
_SUFFIX: Final = ".json"
_DRAFT_S: Final = 3_600


class DeliveryQueue:
    """The payloads that wait for a catalogue. The oldest ones give room to new ones. Raises OSError."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, payload: bytes) -> int:
        """Append ``payload`` durably, and return how many of the oldest payloads it removes."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = f"{time.time_ns():020d}-{os.getpid()}{_SUFFIX}"
        with (self.folder / f".{name}").open("wb") as draft:
            draft.write(payload)
            draft.flush()
            os.fsync(draft.fileno())
        (self.folder / f".{name}").replace(self.folder / name)
        return self._shorten()

    def _shorten(self) -> int:
        entries = self._entries()
        sizes = {entry: entry.stat().st_size for entry in entries if entry.exists()}
        removed = 0
        for draft in self.folder.glob(f".*{_SUFFIX}"):  # of a process that was killed
            with suppress(OSError):
                if time.time() - draft.stat().st_mtime > _DRAFT_S:
                    draft.unlink()
        while len(sizes) > MOST_ENTRIES or (len(sizes) > 1 and sum(sizes.values()) > MOST_BYTES):
            oldest = min(sizes)
            del sizes[oldest]
            oldest.unlink(missing_ok=True)
            removed += 1
        return removed

    def oldest(self) -> Path | None:
        """Return the file of the next payload; None if the queue is empty."""
        return next(iter(self._entries()), None)

    def remove(self, entry: Path) -> None:
        """Remove a payload, if another process has not done so."""
        entry.unlink(missing_ok=True)

    def __len__(self) -> int:
        return len(self._entries())

    def _entries(self) -> list[Path]:
        try:
            return sorted(
                each for each in self.folder.iterdir() if each.suffix == _SUFFIX and not each.name.startswith(".")
            )
        except FileNotFoundError:
            return []


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
