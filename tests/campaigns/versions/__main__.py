"""Run topicwarden on each supported version of Kafka: ``python -m tests.campaigns.versions``.

Prints a table of versions and parts. ``--write`` also writes it to ``docs/versions.md``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from subprocess import SubprocessError

from confluent_kafka import KafkaException
from kafka.errors import KafkaError

from tests.campaigns.versions.clusters import VERSIONS, KafkaVersion, running_cluster
from tests.campaigns.versions.features import FEATURES
from tests.campaigns.versions.parts import PARTS, staged
from tests.conftest import REPOSITORY
from tests.support.projects import own_cache, project_of
from topicwarden.audit.scan.spark_session import spark_session
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.toolchain import toolchain

_INTRODUCTION = """\
# Kafka versions

This page is generated. `.venv/bin/python -m tests.campaigns.versions --write` starts three real brokers of each version
in the catalogue of configurations, runs topicwarden on them, and writes the page. Maven downloads the jars.

On each version, the parts deploy topics with the real Pulumi engine, ask the doctor, predict which records a change
deletes, audit records, change and refresh settings, move replicas, import an undeclared topic and delete a topic. "not
run" means that the version is in the catalogue, and was added to it after the last run.
"""
_NEW = """\
## What is new since 3.9

Each row is a feature of Kafka that topicwarden must judge correctly. "from 4.2" means that the version does not have
the feature, or not by default in a new cluster.
"""


def page(results: Mapping[KafkaVersion, Mapping[str, str | None]]) -> str:
    """Return the page as Markdown. ``results`` has the error of each part and feature that ran, by version."""
    details = {name: _summary(part.__doc__) for name, part in PARTS.items()}
    new = {name: _summary(feature.test.__doc__) for name, feature in FEATURES.items()}
    sections = (_INTRODUCTION, _table(results, details), _NEW, _table(results, new))
    return "\n".join(sections)


def _table(results: Mapping[KafkaVersion, Mapping[str, str | None]], details: Mapping[str, str]) -> str:
    header = ["part", *map(str, results), "what must hold"]
    rows = [[name, *(_cell(name, version, results[version]) for version in results), details[name]] for name in details]
    return "\n".join(map(_row, [header, ["---"] * len(header), *rows])) + "\n"


def _cell(name: str, version: KafkaVersion, errors: Mapping[str, str | None]) -> str:
    if name in FEATURES and not FEATURES[name].in_line(version.line):
        return f"from {FEATURES[name].since}"
    if name not in errors:
        return "not run"
    return "passed" if errors[name] is None else "**failed**"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _summary(docstring: str | None) -> str:
    return " ".join((docstring or "").split()).replace("``", "`")


_TROUBLE = (OSError, AssertionError, ValueError, LookupError, KafkaError, KafkaException, SubprocessError, Refusal)
"""Errors that end one part. The other parts still run."""


def main() -> int:
    """Run all parts on the selected versions; return 1 if a part failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.versions", description=__doc__)
    parser.add_argument("--only", help="versions whose name contains this text, such as 4.3 or ZooKeeper")
    parser.add_argument("--part", default="", help="parts and features whose name contains this text")
    parser.add_argument("--write", action="store_true", help="write docs/versions.md; needs all versions")
    arguments = parser.parse_args()
    versions = [version for version in VERSIONS if arguments.only is None or arguments.only in str(version)]
    if arguments.write and (arguments.part or len(versions) < len(VERSIONS)):
        parser.error("--write needs all versions and parts: omit --only and --part")
    results: dict[KafkaVersion, Mapping[str, str | None]] = {}
    java = toolchain(Project(REPOSITORY)).java
    with (
        tempfile.TemporaryDirectory() as temporary,
        own_cache(Path(temporary), warm=True) as folder,
        spark_session(project_of(folder / "spark", {})),
    ):
        for version in versions:
            results[version] = run(version, java, folder / str(version).replace(", ", "-"), arguments.part)
    print(page(results))
    if arguments.write:
        (REPOSITORY / "docs" / "versions.md").write_text(page(results), encoding="utf-8")
    return int(any(error for result in results.values() for error in result.values()))


def run(version: KafkaVersion, java: Path, folder: Path, only: str = "") -> Mapping[str, str | None]:
    """Return the error of each part and feature, or None if it passed."""
    folder.mkdir()
    errors: dict[str, str | None] = {}
    features = {name: each.test for name, each in FEATURES.items() if each.in_line(version.line)}
    with running_cluster(version, java, folder) as cluster, staged(cluster, folder) as stage:
        for name, part in (PARTS | features).items():
            if only not in name:
                continue
            began = time.monotonic()
            try:
                part(stage)
                errors[name] = None
            except _TROUBLE as error:
                traceback.print_exc()
                errors[name] = f"{type(error).__name__}: {error}"
            print(f"Kafka {version}: {name}: {errors[name] or 'passed'} ({time.monotonic() - began:.0f} s)", flush=True)
    return errors


if __name__ == "__main__":
    sys.exit(main())
