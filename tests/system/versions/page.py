"""The page ``docs/versions.md``: which parts of topicwarden passed on which version of Kafka."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.system.versions.clusters import KafkaVersion
from tests.system.versions.features import FEATURES
from tests.system.versions.parts import PARTS

_INTRODUCTION = """\
# Kafka versions

This page is generated. `.venv/bin/python -m tests.system.versions --write` starts three real brokers of each version
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
