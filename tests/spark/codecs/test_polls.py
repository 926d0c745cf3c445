"""The reader's consumer: silence of a broker is not what aborted transactions leave, and nothing is left open."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.spark.codecs.judge import compiled


def test_only_a_position_that_stands_still_is_silence_and_every_consumer_is_closed(java: Path, tmp_path: Path) -> None:
    command = [*compiled(java, tmp_path, "Polls"), "topicwarden.Polls"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines() == [
        "aborted records: false at 10",
        "silence: no broker answered for t-0 for PT30S",
        "closed: true",
        "refused and closed: true",
        "no consumer before the contracts: topicwarden.RangeReader$Cursor",
    ]
