"""`topicwarden check --fix` and `--diff`: correct the files below ``topics/``, or show the corrections."""

from __future__ import annotations

import re
import sys
from difflib import unified_diff
from pathlib import Path

from typer import style

from topicwarden.cli.path_selection import PathSelection
from topicwarden.model.message_text import counted
from topicwarden.model.problem import Problem, Refusal
from topicwarden.model.replace_file import replace_file
from topicwarden.report import terminal_output
from topicwarden.specs.fix import apply_fixes
from topicwarden.specs.spec_files import read_files

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def fix(selection: PathSelection, write: bool, to_stdout: bool) -> int:
    """Print the corrections as a unified diff, and write each file with ``write``; return the number of changed files.

    Only corrects files that are selected themselves, or whose folder is. ``to_stdout`` prints the diff on standard
    output instead of standard error.
    """
    project, changed = selection.project, 0
    for spec in read_files(project.topics, project.root, selection.topics):
        if isinstance(spec, Problem) or not selection.names(spec.file):
            continue
        after = apply_fixes(spec.data, spec.defaults)
        if after == spec.data:
            continue
        changed += 1
        diff = _diff(spec.file, spec.data, after, to_stdout and terminal_output.coloured())
        if to_stdout:
            terminal_output.write_text(diff)
        else:
            print(terminal_output.without_commands(diff), end="", file=sys.stderr)
        if write:
            _replace(project.root / spec.file, after)
    print(f"{counted(changed, 'file')} {'fixed' if write else 'to fix'}", file=sys.stderr)
    return changed


def _diff(file: str, before: bytes, after: bytes, coloured: bool) -> str:
    lines = unified_diff(_lines(before), _lines(after), f"a/{file}", f"b/{file}")
    complete = (line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    if not coloured:
        return "".join(complete)
    return "".join(style(line, fg=_COLOURS.get(line[:1]), bold=line[:3] in ("---", "+++")) for line in complete)


def _lines(data: bytes) -> list[str]:
    # Split at newlines only, as patch(1) does: a carriage return is part of its line.
    return re.findall(r"[^\n]*\n|[^\n]+", data.decode("utf-8"))


def _replace(path: Path, data: bytes) -> None:
    target = path.resolve()
    try:
        replace_file(target, data, target.stat().st_mode & 0o7777)
    except OSError as error:
        raise Refusal(f"{path} cannot be written: {error.strerror or error}; check its permissions") from error
