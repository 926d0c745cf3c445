"""Put the built jar of the Spark reader into the wheel; ``make wheel`` builds it first."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SparkReaderHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the jar if it is built. An installation from Git has none, and `topicwarden check` needs none."""
        if version == "standard":
            folder = Path(self.root) / ".cache" / "jars" / "reader"
            jars = sorted(folder.glob("spark-reader-*.jar"), key=lambda jar: [*map(int, re.findall(r"\d+", jar.stem))])
            for jar in jars[-1:]:  # the one of the newest Spark line serves all lines
                build_data["force_include"][str(jar)] = "topicwarden/toolchain/spark-reader.jar"
