"""Record the archive of Spark's classes for later audits: ``python -m topicwarden.audit.scan.record_classes ROOT``.

``spark_classes.record_later`` starts this process when a command ends. Nobody waits for it, so it has the lowest
priority, and ends after ``_LONGEST_S`` seconds at the latest. If it is killed, the archive is missing, and a later
audit starts the process again.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from topicwarden.audit.scan.spark_session import archive_spark_classes
from topicwarden.model.project import Project

_LOWEST_PRIORITY = 19
_LONGEST_S = 300.0


def main() -> None:
    """Record the archive of the project whose root is the only argument, unless it exists."""
    os.nice(_LOWEST_PRIORITY)
    os.chdir("/")  # no folder of the user is kept in use
    last = threading.Timer(_LONGEST_S, os._exit, [1])  # the JVM ends with its standard input
    last.daemon = True
    last.start()
    archive_spark_classes(Project(Path(sys.argv[1])), lambda _: None, "local[1]")


if __name__ == "__main__":
    main()
