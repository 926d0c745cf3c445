"""Make the pictures of the documentation: `.venv/bin/python -m tests.system.pictures`. Takes about three minutes.

Runs `topicwarden demo` on a copy of the example project, and shortens a retention. The pictures are the plan and the
check of this change, as SVG, and the page of the demo's report, as PNG.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from playwright.sync_api import Page
from rich.console import Console
from rich.text import Text

from tests.conftest import REPOSITORY
from tests.support.browser import chromium
from tests.support.projects import Shell, copy_of_the_example, own_cache

IMAGES: Final = REPOSITORY / "docs" / "images"
_COLUMNS: Final = 100
_SIZE: Final = {"width": 1200, "height": 900}
_FONT_FACE: Final = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""A font from another host, in Rich's picture of a terminal."""
_TOPIC: Final = "topics/flights/flights.events.yaml"


def terminal_picture(command: str, output: str) -> str:
    """Return ``output``, with its ANSI colours, as the SVG of a terminal."""
    console = Console(width=_COLUMNS, record=True, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(f"$ {command}\n{output.rstrip()}"))
    svg = _FONT_FACE.sub("", console.export_svg(title=command, unique_id="terminal"))
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def main() -> None:
    """Run the demo, and write all pictures."""
    with tempfile.TemporaryDirectory() as temporary, own_cache(Path(temporary)) as folder:
        project = copy_of_the_example(folder / "project")
        shell = Shell(project.root, {"FORCE_COLOR": "1", "COLUMNS": str(_COLUMNS)})
        try:
            _run(shell, {0}, "topicwarden demo --out reports")
            _page_picture(project.root / "reports" / "report.html", IMAGES / "report.png")
            declared = (project.root / _TOPIC).read_text(encoding="utf-8")
            (project.root / _TOPIC).write_text(declared.replace("7305d", "3650d"), encoding="utf-8")
            for name, codes in _PICTURES.items():
                command = f"topicwarden {name} --stack dev"
                picture = terminal_picture(command, _run(shell, codes, command))
                (IMAGES / f"{name}.svg").write_text(picture, encoding="utf-8")
        finally:
            _run(shell, {0}, "topicwarden sandbox down --remove")


_PICTURES: Final[Mapping[str, set[int]]] = {"plan": {1}}
"""The command of each terminal picture, with the exit codes that are expected."""


def _run(shell: Shell, codes: set[int], command: str) -> str:
    print(f"$ {command}", file=sys.stderr)
    done = shell.topicwarden(*command.split()[1:])
    if done.returncode not in codes:
        raise SystemExit(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def _page_picture(page_file: Path, picture: Path) -> None:
    with chromium() as browser:
        page: Page = browser.new_page(viewport={"width": _SIZE["width"], "height": _SIZE["height"]})
        page.goto(page_file.as_uri())
        page.screenshot(path=picture)


if __name__ == "__main__":
    main()
