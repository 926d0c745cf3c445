"""Run the Java module's own build: formatter, static checks and JUnit tests."""

from __future__ import annotations

import subprocess

from topicwarden.toolchain.spark_reader import MODULE


def test_the_spark_reader_passes_its_checks_and_unit_tests() -> None:
    done = subprocess.run(["mvn", "-B", "-q", "test"], cwd=MODULE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:]
