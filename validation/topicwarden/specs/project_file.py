"""Reads ``Pulumi.yaml``, without which Pulumi deploys nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from topicwarden.model.problem import Location, Problem
from topicwarden.model.regular_file import read_regular_file

FILE = "Pulumi.yaml"


def read_project_file(root: Path) -> Mapping[str, Any]:
    """Return the settings in the ``Pulumi.yaml`` of the folder ``root``; raises ``ValueError`` with the reason."""
    try:
        settings = yaml.safe_load(read_regular_file(root / FILE))
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"cannot be read: {str(error).partition(chr(10))[0]}") from error
    if not isinstance(settings, dict):
        raise ValueError("cannot be read: expected a mapping")
    return settings


def project_file_problems(root: Path) -> Iterator[Problem]:
    """Yield the problem of a ``Pulumi.yaml`` that Pulumi cannot read; none if there is no such file."""
    if not (root / FILE).exists():
        return
    try:
        settings = read_project_file(root)
    except ValueError as error:
        yield Problem(Location(FILE), f"{error}; `topicwarden init` writes one", "project-file")
        return
    for name in ("name", "runtime"):
        if not settings.get(name):
            yield Problem(Location(FILE), f"{name} is missing, and Pulumi refuses the file", "project-file")
