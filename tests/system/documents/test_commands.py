"""Test that the commands of README and of the how-to pages run, in the order of the pages, on a new project."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.support.projects import BIN, Shell, own_cache

PAGES = (
    "README.md",
    "docs/how-to/least-privilege.md",
    "docs/how-to/replicas.md",
    "docs/how-to/killed-deploys.md",
    "docs/explanation/audits.md",
    "docs/how-to/production.md",  # the last: it destroys the stack
)
ELSEWHERE = "kafka-1.example.com:9093 --command-config client.properties"
_ASKS = ("topicwarden up", "topicwarden destroy", "topicwarden rebalance")
"""Commands that ask for a confirmation, which a test cannot give."""


def commands(page: str) -> list[str]:
    """Return the commands of topicwarden in the shell blocks of ``page``, for the stack on the sandbox."""
    blocks = re.findall(r"^```sh\n(.*?)^```", (REPOSITORY / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = [line.partition(" #")[0].strip() for block in blocks for line in block.splitlines()]
    ours = [line for line in lines if re.match(r"(python -m )?topicwarden", line)]
    return [line.replace("--stack prod", "--stack dev") for line in ours]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with own_cache(tmp_path_factory.mktemp("documents"), warm=True) as folder:
        try:
            yield folder
        finally:
            Shell(folder / "my-topics").topicwarden("sandbox", "down", "--remove")


def servers_of(folder: Path) -> str:
    """Return the addresses of the sandbox, which takes the place of a cluster that nobody has declared."""
    (file,) = folder.rglob("sandbox/bootstrap-servers")
    return ",".join(file.read_text(encoding="utf-8").split())


def allow_deletions(project: Path) -> None:
    """Write what a page tells its reader to write before the deploy that precedes a `topicwarden destroy`."""
    for file in (project / "topics").glob("*/[!_]*.yaml"):
        file.write_text(f"{file.read_text(encoding='utf-8')}allow: [delete]\n", encoding="utf-8")


@pytest.mark.nightly(
    "The suite keeps README and the short pages.",
    stays=("README.md", "docs/how-to/least-privilege.md", "docs/how-to/replicas.md", "docs/how-to/killed-deploys.md"),
)
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.usefixtures("spark")
def test_the_commands_run(folder: Path, page: str) -> None:
    listed = commands(page)
    assert listed
    for number, line in enumerate(listed):
        command = line.replace(ELSEWHERE, servers_of(folder)) if ELSEWHERE in line else line
        if "topicwarden destroy" in "".join(listed[number + 1 : number + 2]):
            allow_deletions(folder / "my-topics")
        shell = Shell(folder if "topicwarden init" in command else folder / "my-topics")
        confirmed = f"{command} --yes" if command.startswith(_ASKS) and "--yes" not in command else command
        program, *arguments = confirmed.split()
        if program == "python":
            done = shell.run(BIN / "python", *arguments)
        elif arguments[0] == "audit":  # Spark runs already
            done = shell.in_process(*arguments)
        else:
            done = shell.topicwarden(*arguments)
        assert done.returncode == 0, f"{page}: {confirmed}\n{done.stdout}{done.stderr}"
