"""Command lines that run Kafka's own classes."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from topicwarden.model.problem import Refusal
from topicwarden.toolchain.prerequisites import JAVA

_LOGGING = Path(__file__).with_name("log4j2.xml")

# Measured with three brokers on two cores: the start takes 8.9 s without these options, 5.4 s with them. Most
# sandboxes do not run long enough to benefit from the optimising compiler.
_FAST_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")


@dataclass(frozen=True)
class Jvm:
    """A ``java`` and the folder of Kafka's jars."""

    java: Path
    jars: Path

    def require(self) -> None:
        """Raise Refusal if Java is missing or too old for Kafka's brokers, or if Kafka's jars are missing."""
        try:
            done = subprocess.run([self.java, "-version"], capture_output=True, text=True, check=False, timeout=30)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Refusal(f"{self.java} does not run: set JAVA_HOME to a JDK, {JAVA} or newer") from error
        release = re.search(r'version "(\d+)', done.stderr + done.stdout)
        if release is None:
            raise Refusal(f"{self.java} does not print a version: set JAVA_HOME to a JDK, {JAVA} or newer")
        if int(release[1]) < JAVA:
            raise Refusal(f"{self.java} is Java {release[1]}: Kafka needs {JAVA} or newer; set JAVA_HOME to such a JDK")
        if not any(self.jars.glob("kafka_2.*.jar")):
            raise Refusal(f"Kafka's jars are not in {self.jars}: run `topicwarden sandbox install`")

    def tool(self, main: str, *arguments: str) -> list[str]:
        """Return the command that runs one of Kafka's tools, the class ``main``."""
        return [str(self.java), *_FAST_START, "-Xmx256m", "-cp", f"{self.jars}/*", main, *arguments]

    def broker(self, directory: Path, heap: str, properties: Path) -> list[str]:
        """Return the command that runs a broker with its log in ``directory``; ``heap`` as after ``-Xmx``."""
        return [
            str(self.java),
            *_FAST_START,
            f"-Xmx{heap}",
            "-XX:+ExitOnOutOfMemoryError",
            f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
            f"-Dtopicwarden.broker={directory}",
            "-cp",
            f"{self.jars}/*",
            "kafka.Kafka",
            str(properties),
        ]
