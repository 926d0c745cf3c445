"""`topicwarden check --fix` and `--diff`: correct the files below ``topics/``, or show the corrections."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from difflib import unified_diff
from pathlib import Path

from typer import style

from topicwarden.model.message_text import counted
from topicwarden.model.project import Project
from topicwarden.operations.fix import FixedFile, fixed_files, write_fixed
from topicwarden.report import terminal_output

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def fix(project: Project, paths: Sequence[Path], write: bool, to_stdout: bool) -> int:
    """Print the corrections as a unified diff, and write each file with ``write``; return the number of changed files.

    ``paths`` limit the files; see ``fixed_files``. ``to_stdout`` prints the diff on standard output instead of standard
    error.
    """
    changed = 0
    for fixed in fixed_files(project, paths):
        changed += 1
        diff = diff_of(fixed, to_stdout and terminal_output.coloured())
        if to_stdout:
            terminal_output.write_text(diff)
        else:
            print(terminal_output.without_commands(diff), end="", file=sys.stderr)
        if write:
            write_fixed(project, fixed)
    print(f"{counted(changed, 'file')} {'fixed' if write else 'to fix'}", file=sys.stderr)
    return changed


def diff_of(fixed: FixedFile, coloured: bool) -> str:
    """Return the change of a file as a unified diff."""
    lines = unified_diff(_lines(fixed.before), _lines(fixed.after), f"a/{fixed.file}", f"b/{fixed.file}")
    complete = (line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    if not coloured:
        return "".join(complete)
    return "".join(style(line, fg=_COLOURS.get(line[:1]), bold=line[:3] in ("---", "+++")) for line in complete)


def _lines(data: bytes) -> list[str]:
    # Split at newlines only, as patch(1) does: a carriage return is part of its line.
    return re.findall(r"[^\n]*\n|[^\n]+", data.decode("utf-8"))
