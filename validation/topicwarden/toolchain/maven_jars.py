"""Run Maven, and resolve the jars of a pom with it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from topicwarden.model.problem import Refusal

_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of Maven's JVM. A build ends before the optimising compiler, which takes half of its CPU time, is of use."""
_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


def run(arguments: Sequence[str], folder: Path, purpose: str) -> None:
    """Run ``mvn`` with ``arguments`` in ``folder``, without a terminal.

    Raises Refusal with Maven's first error. ``purpose`` completes "Maven could not …".
    """
    command = ["mvn", "-B", "-q", *arguments]
    variables = {"MAVEN_OPTS": _OPTIONS, **os.environ}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
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


def copy(project: Path, target: Path, *, repository_layout: bool = False) -> None:
    """Copy the jars that the pom in the folder ``project`` needs at run time into the folder ``target``.

    ``repository_layout``: with the folders of a Maven repository. Raises Refusal with Maven's first error.
    """
    target.mkdir(parents=True, exist_ok=True)
    layout = ["-Dmdep.useRepositoryLayout=true"] if repository_layout else []
    arguments = [_GOAL, "-DincludeScope=runtime", f"-DoutputDirectory={target.resolve()}", *layout]
    run(arguments, project, f"download the jars of {project.name}")
