"""Run Maven, and report its first error."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from topicwarden.model.problem import Refusal


def run(arguments: Sequence[str], folder: Path, purpose: str) -> None:
    """Run ``mvn`` with ``arguments`` in ``folder``, without a terminal.

    Raises Refusal with Maven's first error. ``purpose`` completes "Maven could not …".
    """
    command = ["mvn", "-B", "-q", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refusal(
            f"Maven could not {purpose}: {_first_error(done.stdout + done.stderr)}; "
            "check the network, or the mirror in ~/.m2/settings.xml, and run `topicwarden sandbox install` again"
        )


def _first_error(output: str) -> str:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", output)
    errors = [line.removeprefix("[ERROR]").strip() for line in plain.splitlines() if line.startswith("[ERROR]")]
    errors = [error for error in errors if error and not error.endswith(":")]  # without headings
    return errors[0] if errors else plain.strip()[-300:] or "Maven printed no reason"
