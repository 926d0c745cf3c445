"""Archive the classes that a broker loads, so that the sandbox starts faster."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from topicwarden.extensions.sandbox.jvm import Jvm
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.sandbox_state import Say
from topicwarden.model.problem import Refusal


def create(java: Path, jars: Path, say: Say) -> None:
    """Start and stop a broker to write the class archive for ``java`` and ``jars``, if there is none.

    Source: JEP 350, Dynamic CDS Archives.
    """
    archive = Jvm(java, jars.resolve()).class_archive
    if archive.is_file():
        return
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=jars.parent) as folder:
        recording = Path(folder, archive.name)
        sandbox = Sandbox(Path(folder, "sandbox"), java, jars, recording)
        try:
            sandbox.up(brokers=1)
            sandbox.down()
            recording.replace(archive)
        except (Refusal, FileNotFoundError) as error:  # a Java without class data sharing writes no archive
            say(f"Kafka's classes: not archived, so that brokers start slower: {error}")
        else:
            say(f"Kafka's classes: archived in {time.monotonic() - began:.0f} s, so that brokers start faster")
        finally:
            sandbox.down(remove=True)
