"""Test what the build of Pulumi changes: dictionaries of passwords are parsed on use, not at each start."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from topicwarden.model.project import Project
from topicwarden.toolchain import Toolchain, pulumi_cli

SECRET = "1415fc1f4eaeb5e096ee58c1480016638fff29bf"


@pytest.fixture
def pulumi(tools: Toolchain) -> Path:
    """Return the ``pulumi`` that was built from source."""
    if not pulumi_cli.built(Project(REPOSITORY).tools_cache):
        pytest.skip("this pulumi was not built from source")
    return tools.pulumi


def run(pulumi: Path, folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    own = {"PULUMI_BACKEND_URL": f"file://{folder}", "PULUMI_CONFIG_PASSPHRASE": "", "PULUMI_HOME": str(folder)}
    environment = {**os.environ, **own, **variables}
    return subprocess.run(
        [pulumi, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_a_start_parses_no_dictionaries(pulumi: Path, tmp_path: Path) -> None:
    started = run(pulumi, tmp_path, "version", GODEBUG="inittrace=1").stderr
    taken = re.findall(r"^init \S+/zxcvbn-go/(?:frequency|matching) @.* (\d+) bytes", started, re.MULTILINE)
    assert taken, started
    assert sum(map(int, taken)) < 1_000_000  # 37 MB if they are parsed


@pytest.mark.parametrize(("value", "refused"), [(SECRET, True), ("hello-world password1 dragon", False)])
def test_a_value_that_looks_like_a_secret_is_still_refused(
    pulumi: Path, tmp_path: Path, value: str, refused: bool
) -> None:
    (tmp_path / "Pulumi.yaml").write_text("{name: some, runtime: python}\n")
    assert run(pulumi, tmp_path, "stack", "init", "dev").returncode == 0
    done = run(pulumi, tmp_path, "config", "set", "--stack", "dev", "some:githubtoken", value)
    assert ("looks like a secret" in done.stderr) == refused == bool(done.returncode), done.stderr
