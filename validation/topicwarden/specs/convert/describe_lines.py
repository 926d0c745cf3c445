"""The lines that describe a topic: ``Label: value`` pairs, joined where a terminal or a mail wrapped them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

_LABEL: Final = re.compile(
    r"(?:^|(?<=\s))(Partition Count|Replication Factor|Adding Replicas|Removing Replicas|[A-Z][A-Za-z]*): ?"
)
_TOPIC: Final = re.compile(r"\s*Topic:")
_PARTITION: Final = re.compile(r".*\sPartition:")
_WRAPPED: Final = re.compile(rf"(?!\s*(?:Topic:|Configuration\s*$))(?:\s*\S+\s*$|.*=|.*{_LABEL.pattern})")
"""What may go on a line that describes a topic: one word, a setting, or another label."""
_WRAPPED_PARTITION: Final = re.compile(r"(?!\s*Topic:)(?:[0-9,\s]+$|.*[A-Za-z]:)")
"""What may go on a line that describes a partition: numbers of brokers, or another label."""


@dataclass(frozen=True)
class DescribeLine:
    """A line as it was before it was wrapped; ``pieces`` are where its parts begin in ``text`` and in the file."""

    text: str
    pieces: tuple[tuple[int, int], ...]
    end: int

    @property
    def start(self) -> int:
        return self.pieces[0][1]

    @cached_property
    def labels(self) -> dict[str, tuple[str, int]]:
        """By label without spaces, the value and where it begins in ``text``."""
        found = list(_LABEL.finditer(self.text))
        ends = [*(one.start() for one in found[1:]), len(self.text)]
        values = zip(found, ends, strict=False)
        return {one[1].replace(" ", ""): (self.text[one.end() : end].strip(), one.end()) for one, end in values}

    @cached_property
    def cells(self) -> list[str]:
        """What stands between the bars of a table's row; empty for any other line."""
        return [cell.strip() for cell in self.text.split("|")] if "|" in self.text else []

    def offset(self, index: int) -> int:
        """Return where a character of ``text`` is in the file."""
        begin, start = max(piece for piece in self.pieces if piece[0] <= index)
        return start + index - begin


def lines(text: str) -> Iterator[DescribeLine]:
    """Yield every line that is not blank; one that begins with ``Topic:`` with the lines that it was wrapped into."""
    line: DescribeLine | None = None
    at = 0
    for raw in text.splitlines(keepends=True):
        written, start, at = raw.rstrip("\r\n"), at, at + len(raw)
        if line and "|" not in written and _goes_on(line.text, written):
            # A line that was wrapped before a label has lost the tab that was there.
            joined = line.text + ("\t" if _LABEL.match(written.lstrip()) else "")
            line = DescribeLine(joined + written, (*line.pieces, (len(joined), start)), at)
            continue
        if line:
            yield line
        line = DescribeLine(written, ((0, start),), at) if written.strip() else None
    if line:
        yield line


def _goes_on(line: str, written: str) -> bool:
    """Whether a line is the rest of the one before it."""
    if not _TOPIC.match(line):
        return False
    return bool((_WRAPPED_PARTITION if _PARTITION.match(line) else _WRAPPED).match(written))
