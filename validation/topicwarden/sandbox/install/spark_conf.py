"""Spark's configuration: the connector on every session's class path, ours or spark-submit's, and less chatter."""

from __future__ import annotations

from pathlib import Path

from topicwarden.sandbox.install import jars

_LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex{short}
"""


def folder(cache: Path) -> Path:
    """What ``SPARK_CONF_DIR`` is to name."""
    return cache / "spark" / "conf"


def write(cache: Path) -> None:
    """Writes ``spark-defaults.conf`` and ``log4j2.properties``; the jars must be there."""
    folder(cache).mkdir(parents=True, exist_ok=True)
    paths = ",".join(str(path) for path in sorted(jars.folder(cache, "spark").glob("*.jar")))
    defaults = f"spark.jars {paths}\nspark.ui.enabled false\nspark.ui.showConsoleProgress false\n"
    (folder(cache) / "spark-defaults.conf").write_text(defaults, encoding="utf-8")
    (folder(cache) / "log4j2.properties").write_text(_LOGGING, encoding="utf-8")
