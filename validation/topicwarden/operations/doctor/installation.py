"""Finds the programs and packages that commands need, and says how to install the missing ones.

It asks programs for their version, and imports no package that it looks for.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from topicwarden.model.diagnosis import InstalledPart
from topicwarden.model.project import Project
from topicwarden.toolchain import prerequisites, pulumi_cli, spark_reader

_DEPLOY: Final = ("plan", "up", "destroy", "refresh", "rebalance", "import")
_AUDIT: Final = ("audit", "watch", "redrive", "infer")
_EXTRAS: Final = {
    "cluster": ("kafka-python",),
    "deploy": ("pulumi", "pulumi-kafka", "pulumi-policy"),
    "audit": ("pyspark",),
}
"""The packages to report, by the extra that installs them."""


def installed_parts(project: Project, *, with_stack: bool = True) -> list[InstalledPart]:
    """Return each part that a command needs. ``project`` has a cache, where `sandbox install` puts programs.

    Without a stack, an import only writes files, which needs no Pulumi CLI.
    """
    return [
        InstalledPart(name="Python", version=platform.python_version(), commands=["check", "usage", *_DEPLOY, *_AUDIT]),
        _pulumi(project, [name for name in _DEPLOY if with_stack or name != "import"]),
        *_packages("cluster", ("usage", *_DEPLOY, *_AUDIT)),
        *_packages("deploy", _DEPLOY),
        _java(),
        *_packages("audit", _AUDIT),
        _reader(project),
    ]


def _pulumi(project: Project, commands: list[str]) -> InstalledPart:
    on_path = shutil.which("pulumi")
    found = Path(on_path) if on_path else pulumi_cli.present(project.tools_cache)
    version, oldest = pulumi_cli.version(found) if found else None, ".".join(map(str, pulumi_cli.OLDEST))
    usable = pulumi_cli.recent_enough(version)
    problem = "" if usable else f"expected {oldest} or newer, got {version}; " if version else ""
    remedy = f"{problem}install Pulumi (https://www.pulumi.com/docs/iac/download-install), and put it on the PATH"
    return InstalledPart(
        name="Pulumi CLI", version=version if usable else None, commands=commands, remedy="" if usable else remedy
    )


def _java() -> InstalledPart:
    usable, version = prerequisites.find_java() is not None, prerequisites.java_version()
    problem = f"expected {prerequisites.JAVA} or newer, got {version}; " if version else ""
    remedy = f"{problem}install {prerequisites.HOW['java']}"
    return InstalledPart(
        name="Java", version=version if usable else None, commands=[*_AUDIT], remedy="" if usable else remedy
    )


def _packages(extra: str, commands: tuple[str, ...]) -> Iterator[InstalledPart]:
    for package in _EXTRAS[extra]:
        version = package_version(package)
        remedy = "" if version else f"pip install 'topicwarden[{extra}]'"
        yield InstalledPart(name=package, version=version, commands=[*commands], remedy=remedy)


def _reader(project: Project) -> InstalledPart:
    version = package_version("pyspark")
    remedy = spark_reader.problem(project, version) or ""
    return InstalledPart(
        name="Spark reader", version=None if remedy else f"for pyspark {version}", commands=[*_AUDIT], remedy=remedy
    )


def package_version(package: str) -> str | None:
    """Return the version of an installed Python package, without importing it."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
