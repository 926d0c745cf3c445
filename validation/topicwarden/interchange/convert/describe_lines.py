"""Lines of ``--describe`` output: ``Label: value`` pairs, with lines joined that a terminal or e-mail wrapped."""

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
_WRAPPED: Final = re.compile(rf"(?!\s*(?:Topic:|Configuration\s*$))(?:\s*[\w.,:*/\[\]-]+\s*$|.*=|.*{_LABEL.pattern})")
"""A possible continuation of a topic's line: one word, a setting, or another label."""
_NUMBER: Final = re.compile(r".*=[0-9]+$")
_DIGITS: Final = re.compile(r"\s*[0-9]+\s*$")
_WRAPPED_PARTITION: Final = re.compile(r"(?!\s*Topic:)(?:[0-9,\s]+$|.*[A-Za-z]:)")
"""A possible continuation of a partition's line: broker ids, or another label."""


@dataclass(frozen=True)
class DescribeLine:
    """An unwrapped line. ``pieces`` are the start offsets of its physical lines, in ``text`` and in the file.

    ``end`` is the offset after its last character in the file. ``ambiguous`` is the offset in the file of a line of
    digits alone after a number: the rest of the number, or something else.
    """

    text: str
    pieces: tuple[tuple[int, int], ...]
    end: int
    ambiguous: int | None = None

    @property
    def start(self) -> int:
        return self.pieces[0][1]

    @cached_property
    def labels(self) -> dict[str, tuple[str, int]]:
        """The values by label (without spaces), each with its start offset in ``text``."""
        labels = list(_LABEL.finditer(self.text))
        ends = [*(label.start() for label in labels[1:]), len(self.text)]
        values = zip(labels, ends, strict=False)
        return {label[1].replace(" ", ""): (self.text[label.end() : end].strip(), label.end()) for label, end in values}

    @cached_property
    def cells(self) -> list[str]:
        """The cells of a table row, separated by bars; empty for any other line."""
        return [cell.strip() for cell in self.text.split("|")] if "|" in self.text else []

    def offset(self, index: int) -> int:
        """Return the offset in the file of the character at ``index`` of ``text``."""
        piece_start, start = max(piece for piece in self.pieces if piece[0] <= index)
        return start + index - piece_start


def lines(text: str) -> Iterator[DescribeLine]:
    """Yield every line that is not blank. A line that begins with ``Topic:`` includes its wrapped continuations."""
    line: DescribeLine | None = None
    next_start = 0
    for physical_line in text.splitlines(keepends=True):
        content, start, next_start = physical_line.rstrip("\r\n"), next_start, next_start + len(physical_line)
        if line and "|" not in content and _continues(line.text, content):
            # A line that was wrapped before a label has lost the tab before this label.
            joined = line.text + ("\t" if _LABEL.match(content.lstrip()) else "")
            unclear = start if _NUMBER.match(line.text) and _DIGITS.match(content) else line.ambiguous
            line = DescribeLine(joined + content, (*line.pieces, (len(joined), start)), next_start, unclear)
            continue
        if line:
            yield line
        line = DescribeLine(content, ((0, start),), next_start) if content.strip() else None
    if line:
        yield line


def _continues(line: str, content: str) -> bool:
    """Return whether ``content`` is a continuation of ``line``."""
    if not _TOPIC.match(line):
        return False
    return bool((_WRAPPED_PARTITION if _PARTITION.match(line) else _WRAPPED).match(content))
