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

_DEPLOY: Final = ("plan", "up", "rebalance", "import")
_AUDIT: Final = ("audit",)
_EXTRAS: Final = {"deploy": ("pulumi", "pulumi-kafka", "pulumi-policy"), "audit": ("pyspark",)}


def installed_parts(project: Project | None) -> list[InstalledPart]:
    """Return each part that a command needs. ``project`` has a cache, where `sandbox install` puts programs."""
    return [
        InstalledPart(name="Python", version=platform.python_version(), commands=["check", *_DEPLOY, *_AUDIT]),
        _pulumi(project),
        *_packages("deploy", _DEPLOY),
        _java(),
        *_packages("audit", _AUDIT),
        _reader(project),
    ]


def _pulumi(project: Project | None) -> InstalledPart:
    on_path = shutil.which("pulumi")
    found = Path(on_path) if on_path else pulumi_cli.present(project.tools_cache) if project else None
    seen, oldest = pulumi_cli.version(found) if found else None, ".".join(map(str, pulumi_cli.OLDEST))
    usable = pulumi_cli.recent_enough(seen)
    problem = "" if usable else f"expected {oldest} or newer, found {seen}; " if seen else ""
    remedy = f"{problem}install Pulumi (https://www.pulumi.com/docs/iac/download-install), and put it on the PATH"
    return InstalledPart(
        name="Pulumi CLI", version=seen if usable else None, commands=[*_DEPLOY], remedy="" if usable else remedy
    )


def _java() -> InstalledPart:
    usable, seen = prerequisites.find_java() is not None, prerequisites.java_version()
    problem = f"expected {prerequisites.JAVA} or newer, found {seen}; " if seen else ""
    remedy = (
        f"{problem}install a Java runtime, {prerequisites.JAVA} or newer (Debian: apt install openjdk-17-jre-headless; "
        "macOS: brew install openjdk@17), and set JAVA_HOME"
    )
    return InstalledPart(
        name="Java", version=seen if usable else None, commands=[*_AUDIT], remedy="" if usable else remedy
    )


def _packages(extra: str, commands: tuple[str, ...]) -> Iterator[InstalledPart]:
    for package in _EXTRAS[extra]:
        seen = package_version(package)
        remedy = "" if seen else f"pip install 'topicwarden[{extra}]'"
        yield InstalledPart(name=package, version=seen, commands=[*commands], remedy=remedy)


def _reader(project: Project | None) -> InstalledPart:
    line = spark_reader.installed_line()
    supported, remedy = line in spark_reader.LINES, ""
    jar = spark_reader.find_jar(project) if line and supported else None
    if not supported:
        lines = f"pyspark {', '.join(spark_reader.LINES)}"
        remedy = f"expected {lines}, found {line or 'none'}; pip install 'topicwarden[audit]'"
    elif jar is None and (spark_reader.MODULE / "pom.xml").is_file():
        remedy = "it is built from source by `topicwarden sandbox install`"
    elif jar is None:
        remedy = "pip install --force-reinstall --only-binary topicwarden 'topicwarden[audit]'"
    return InstalledPart(
        name="Spark reader", version=f"for Spark {line}" if jar else None, commands=[*_AUDIT], remedy=remedy
    )


def package_version(package: str) -> str | None:
    """Return the version of an installed Python package, without importing it."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
