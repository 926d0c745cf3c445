"""Lines of a report for people: wrapped with an indent, with labels, in characters that the console can show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich.console import Console
from rich.text import Text

from topicwarden.report import display

INDENT: Final = 4
_SENTENCES: Final = {"because", "remedy"}
"""The labels of sentences. What has another label is made of names, in which a backtick is a character."""
_PIPED_WIDTH: Final = 120
"""The fewest columns of text for a file or a pipe, for which rich assumes 80."""


def width_of(console: Console) -> int:
    """Return the number of columns of a report on ``console``: at least 120 if it is not a terminal."""
    return console.width if console.is_terminal else max(console.width, _PIPED_WIDTH)


class LinePrinter:
    """Prints lines to ``console``, whose reports have ``width`` columns.

    ``label_width`` is the number of columns for labels. ``ascii_only`` replaces characters by ``replacements``, by code
    point, and escapes others.
    """

    def __init__(
        self,
        console: Console,
        width: int,
        label_width: int,
        replacements: Mapping[int, str],
        *,
        ascii_only: bool,
    ) -> None:
        self._console, self._width, self._label_width = console, width, label_width
        self._replacements = replacements if ascii_only else None

    def _wrapped(self, line: Text) -> None:
        first, *rest = line.wrap(self._console, self._width - INDENT)
        self._print(first)
        for continuation in rest:
            self._print(Text(" " * INDENT) + continuation)

    def _labelled(self, label: str, text: str, style: str = "") -> None:
        line = self._prose(text, style) if label in _SENTENCES else self._text(text, style)
        lines = line.wrap(self._console, self._width - INDENT - self._label_width)
        for number, line in enumerate(lines):
            self._print(self._label("" if number else label) + line)

    def _located(self, location: str) -> None:
        """Print a line of YAML. It is not wrapped, so that editors and terminals can open it."""
        self._print(self._label("declared") + self._text(location, "cyan"))

    def _label(self, label: str) -> Text:
        return Text(" " * INDENT + label.ljust(self._label_width), style="dim")

    def _print(self, line: Text) -> None:
        line.rstrip()
        self._console.print(line, soft_wrap=True, highlight=False)

    def _text(self, text: str, style: str = "") -> Text:
        return self._shown(display.one_line(text), style)

    def _prose(self, text: str, style: str = "") -> Text:
        """Return a sentence as one line, in which code is bold, without its backticks."""
        line = Text(style=style)
        for part, is_code in display.code_spans(text):
            line.append_text(self._shown(part, "bold" if is_code else ""))
        return line

    def _verbatim(self, text: str, style: str = "") -> Text:
        """Return one line of a file, with its white space."""
        return self._shown(display.printable(text).expandtabs(4).replace("\n", " ").replace("\r", " "), style)

    def _shown(self, shown: str, style: str) -> Text:
        if self._replacements is not None:
            shown = shown.translate(self._replacements).encode("ascii", "backslashreplace").decode()
        return Text(shown, style=style)
