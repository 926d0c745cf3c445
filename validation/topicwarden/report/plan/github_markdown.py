"""Foreign text within GitHub-flavoured Markdown: shown as it is, notifying no one, and linking to nothing by itself."""

from __future__ import annotations

import re
from typing import Final

from topicwarden.report.display import one_line

# As references, signs mean nothing to Markdown, neither within a table's cell nor within an HTML block.
_SIGNS: Final = str.maketrans({sign: f"&#{ord(sign)};" for sign in "\\`*_[]#|~$<>&@"})
# GitHub looks for mentions, issues and emoji once more in the finished page, where references are signs again; a space
# of no width between keeps them apart.
_APART: Final = "&#8203;"
_MENTION: Final = re.compile(r"(&#64;|&#35;)(?=[\w-])")
_EMOJI: Final = re.compile(r":(?=[\w+-]+:)")


def plain(text: str) -> str:
    """One line of Markdown that shows ``text``."""
    shown = _MENTION.sub(rf"\1{_APART}", one_line(text).translate(_SIGNS))
    return _EMOJI.sub(f":{_APART}", shown)


def code(text: str) -> str:
    """``text`` as code, in which GitHub looks for nothing; also within an HTML block."""
    return f"<code>{one_line(text).translate(_SIGNS)}</code>"
