"""Put the built jars of the Spark reader into the wheel; ``make wheel`` builds them first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

JARS = "topicwarden/audit/jars"


class SparkReaderHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the jars that there are. An installation from Git has none, and needs none for `topicwarden check`."""
        if version == "standard":
            folder = Path(self.root) / ".cache" / "jars" / "reader"
            for jar in sorted(folder.glob("spark-reader-*.jar")):
                build_data["force_include"][str(jar)] = f"{JARS}/{jar.name}"
