"""Run Maven, and resolve the jars of a pom with it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from topicwarden.model.problem import Refusal

_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of Maven's JVM. A build ends before the optimising compiler, which takes half of its CPU time, is of use."""
_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

_NO_NETWORK: Final = re.compile(
    r"Unknown host|UnknownHostException|Connection (?:refused|timed out|reset)|[Cc]onnect timed out|"
    r"Network is unreachable|No route to host|Temporary failure in name resolution|Remote host terminated"
)
"""Reasons of Java and of Maven's HTTP client for a server that does not answer."""
_REPOSITORY: Final = re.compile(r"from/to \S+ \((https?://[^)]*)\)")


def run(arguments: Sequence[str], folder: Path, purpose: str) -> None:
    """Run ``mvn`` with ``arguments`` in ``folder``, without a terminal.

    Raises Refusal with Maven's first error. ``purpose`` completes "Maven could not …".
    """
    command = ["mvn", "-B", "-q", *arguments]
    variables = {"MAVEN_OPTS": _OPTIONS, **os.environ}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        output = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
        raise Refusal(
            f"Maven could not {purpose}: {_unreachable(output) or _first_error(output)}; "
            "check the network, or the mirror in ~/.m2/settings.xml, and run `topicwarden sandbox install` again",
            output,
        )


def _unreachable(output: str) -> str | None:
    """Return that the repository does not answer, if that is what Maven says in many words; else None."""
    if _NO_NETWORK.search(output) is None:
        return None
    repository = _REPOSITORY.search(output)
    return f"{repository[1] if repository else 'its repository'} cannot be reached"


def _first_error(plain: str) -> str:
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
