"""Escape untrusted text for GitHub-flavoured Markdown, so that it creates no mentions, links or markup."""

from __future__ import annotations

import re
from typing import Final

from topicwarden.report.display import one_line

# Character references have no meaning for Markdown, neither in a table cell nor in an HTML block.
_REFERENCES: Final = str.maketrans({character: f"&#{ord(character)};" for character in "\\`*_[]#|~$<>&@"})
# GitHub searches the rendered page for mentions, issues and emoji. A zero-width space prevents a match.
_ZERO_WIDTH_SPACE: Final = "&#8203;"
_MENTION: Final = re.compile(r"(&#64;|&#35;)(?=[\w-])")
_EMOJI: Final = re.compile(r":(?=[\w+-]+:)")


def plain(text: str) -> str:
    """Return one line of Markdown that shows ``text`` literally."""
    shown = _MENTION.sub(rf"\1{_ZERO_WIDTH_SPACE}", one_line(text).translate(_REFERENCES))
    return _EMOJI.sub(f":{_ZERO_WIDTH_SPACE}", shown)


def code(text: str) -> str:
    """Return ``text`` as code, in which GitHub creates no mentions or links; also valid in an HTML block."""
    return f"<code>{one_line(text).translate(_REFERENCES)}</code>"
