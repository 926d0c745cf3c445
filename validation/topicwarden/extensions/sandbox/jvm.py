"""Command lines that run Kafka's own classes."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from topicwarden.model.problem import Refusal
from topicwarden.toolchain.prerequisites import JAVA

_LOGGING = Path(__file__).with_name("log4j2.xml")

# Measured with three brokers on two cores: the start takes 8.9 s without these options, 5.4 s with them. Most
# sandboxes do not run long enough to benefit from the optimising compiler.
FAST_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")
_OPTIONS = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
"""Variables whose options appear in the output of ``java -version``, as if it were another Java."""


@dataclass(frozen=True)
class Jvm:
    """A ``java`` and the folder of Kafka's jars. Brokers write the classes that they load to ``recording`` at exit."""

    java: Path
    jars: Path
    recording: Path | None = None

    def require(self) -> None:
        """Raise Refusal if Java is missing or too old for Kafka's brokers, or if Kafka's jars are missing."""
        release = re.search(r'version "(\d+)', _version(self.java))
        if release is None:
            raise Refusal(f"{self.java} does not print a version: set JAVA_HOME to a JDK, {JAVA} or newer")
        if int(release[1]) < JAVA:
            raise Refusal(f"{self.java} is Java {release[1]}: Kafka needs {JAVA} or newer; set JAVA_HOME to such a JDK")
        if not any(self.jars.glob("kafka_2.*.jar")):
            raise Refusal(f"Kafka's jars are not in {self.jars}: run `topicwarden sandbox install`")

    def tool(self, main: str, *arguments: str) -> list[str]:
        """Return the command that runs one of Kafka's tools, the class ``main``."""
        return [*self._java(), "-Xmx256m", "-cp", f"{self.jars}/*", main, *arguments]

    def broker(self, directory: Path, heap: str, properties: Path) -> list[str]:
        """Return the command that runs a broker with its log in ``directory``; ``heap`` as after ``-Xmx``."""
        record = [f"-XX:ArchiveClassesAtExit={self.recording}"] if self.recording else []
        return [
            *self._java(),
            *record,
            f"-Xmx{heap}",
            "-XX:+ExitOnOutOfMemoryError",
            f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
            f"-Dtopicwarden.broker={directory}",
            "-cp",
            f"{self.jars}/*",
            "kafka.Kafka",
            str(properties),
        ]

    @property
    def class_archive(self) -> Path:
        """The archive of a broker's loaded classes (class data sharing), which this Java version alone can read.

        ``class_archive.create`` writes it. It is in the folder of the jars, because it is only valid for them.
        """
        version = hashlib.sha256(_version(self.java).encode()).hexdigest()[:16]
        return self.jars / f".classes-{version}.jsa"

    @property
    def formatted(self) -> Path:
        """The folder of a broker that StorageTool has formatted with these jars; it need not exist."""
        return self.jars / ".formatted"

    def _java(self) -> list[str]:
        archive = self.class_archive
        shared = [f"-XX:SharedArchiveFile={archive}"] if archive.is_file() and not self.recording else []
        return [str(self.java), *FAST_START, *shared]


@cache
def _version(java: Path) -> str:
    """Return the output of ``java -version``, whatever ``_OPTIONS`` are set to. Raises Refusal if it does not run."""
    variables = {name: value for name, value in os.environ.items() if name not in _OPTIONS}
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, text=True, check=False, timeout=30, env=variables
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refusal(f"{java} does not run: set JAVA_HOME to a JDK, {JAVA} or newer") from error
    return done.stderr + done.stdout
