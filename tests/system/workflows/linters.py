"""Run the linters of workflows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

BIN = Path(sys.executable).parent
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"


def run(*command: str | Path, folder: Path = REPOSITORY) -> None:
    """Run ``command`` with shellcheck on the PATH, which actionlint uses; fail with the output."""
    variables = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def actionlint() -> list[str]:
    """Return the command of actionlint, which is run with Go if it is not installed; else skip the test."""
    if (found := shutil.which("actionlint")) is not None:
        return [found]
    if (go := shutil.which("go")) is not None:
        return [go, "run", ACTIONLINT]
    pytest.skip("neither actionlint nor Go is installed")
