"""Test that a redrive that is killed at random moments copies each record exactly once.

``TOPICWARDEN_KILLS`` asks for more kills.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

from tests.conftest import REPOSITORY
from tests.support.redrives import RedriveProject, origin

KILLS = int(os.environ.get("TOPICWARDEN_KILLS", "2"))
RECORDS = 40 * KILLS
_MOST_LINES = 12


def test_killed_redrives_copy_each_record_once(redrives: RedriveProject) -> None:
    chosen = random.Random(int(os.environ.get("TOPICWARDEN_SEED", "20261125")))
    topic = redrives.declare("partitions: 3", repaired="partitions: 3")
    target = f"{topic}.repaired"
    for part in range(4):
        values = [
            (chosen.randrange(3), b"k%d" % n, b"bad" if chosen.random() < 0.5 else b"good") for n in range(RECORDS)
        ]
        redrives.write(topic, values, commit=part != 2)
    bad = [(each.partition, each.offset) for each in redrives.copies(topic) if each.value == b"bad"]
    offsets = {partition: [offset for p, offset in bad if p == partition] for partition in range(3)}
    given = {"servers": redrives.servers, "source": topic, "target": target, "offsets": offsets}
    arguments = json.dumps({**given, "name": f"topicwarden-redrive-{topic}"})
    during = 0
    for _ in range(KILLS):
        process = start(arguments)
        wait_for_lines(process, chosen.randrange(_MOST_LINES))
        time.sleep(chosen.uniform(0, 0.1))  # into the next transaction, wherever that is then
        process.send_signal(signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL
        copied = [origin(copy) for copy in redrives.copies(target)]
        assert len(copied) == len(set(copied)), "a record was copied twice"
        during += 0 < len(copied) < len(bad)
    print(f"{KILLS} kills, {during} of them with copies before and after, {len(bad)} records")
    assert during >= KILLS // 2
    last = start(arguments)
    output, _ = last.communicate(timeout=300)
    assert last.returncode == 0, output
    copies = redrives.copies(target)
    assert sorted(origin(copy) for copy in copies) == bad
    assert all(copy.value == b"bad" for copy in copies)
    again, _ = start(arguments).communicate(timeout=300)
    assert again.split() == ["started", "copying", "0"]
    assert len(redrives.copies(target)) == len(bad)


def wait_for_lines(process: subprocess.Popen[str], number: int) -> None:
    """Wait until the process has printed so many lines: one each when it starts, begins to copy, and has committed."""
    assert process.stdout is not None
    for _ in range(number):
        assert process.stdout.readline(), "the process ended before it was killed"


def start(arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.campaigns.redrive.copy_until_killed", arguments]
    return subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
