"""Copy the jars of a pom with Maven."""

from __future__ import annotations

from pathlib import Path

from topicwarden.toolchain import maven

_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


def copy(project: Path, target: Path, *, repository_layout: bool = False) -> None:
    """Copy the jars that the pom in the folder ``project`` needs at run time into the folder ``target``.

    ``repository_layout``: with the folders of a Maven repository. Raises Refusal with Maven's first error.
    """
    target.mkdir(parents=True, exist_ok=True)
    layout = ["-Dmdep.useRepositoryLayout=true"] if repository_layout else []
    arguments = [_GOAL, "-DincludeScope=runtime", f"-DoutputDirectory={target.resolve()}", *layout]
    maven.run(arguments, project, f"download the jars of {project.name}")
