"""Reads ``Pulumi.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project


def project_settings(project: Project) -> Mapping[str, Any]:
    """Return the settings in ``Pulumi.yaml``; refuse a file that is no mapping."""
    try:
        settings = yaml.safe_load((project.root / "Pulumi.yaml").read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise Refusal(f"Pulumi.yaml cannot be read: {str(error).partition(chr(10))[0]}") from error
    if not isinstance(settings, dict):
        raise Refusal("Pulumi.yaml cannot be read: expected a mapping")
    return settings
