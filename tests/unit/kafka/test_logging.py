"""Test that warnings of the Kafka client do not reach the terminal."""

from __future__ import annotations

import subprocess
import sys


def test_a_warning_of_the_client_is_not_printed() -> None:
    code = """import logging, topicwarden.kafka.connect.admin_client
logging.getLogger('kafka.net.selector').warning('slow')"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
