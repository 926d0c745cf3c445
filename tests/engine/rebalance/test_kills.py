"""Kill a rebalance with ``kill -9`` at random times; the next run reaches the declared state and cleans up."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial

from tests.engine.rebalance.conftest import Stack, until

KILLS = int(os.environ.get("TOPICWARDEN_KILLS", "1"))
SEED = int(os.environ.get("TOPICWARDEN_SEED", "20261122"))


def test_the_next_run_completes_a_killed_one(stack_of: Callable[[str, int], Stack]) -> None:
    print(f"TOPICWARDEN_KILLS={KILLS} TOPICWARDEN_SEED={SEED}")
    chance = random.Random(SEED)
    stack = stack_of("killed.v1", 1)
    stack.fill(24)
    contents, settings = stack.contents(), stack.settings()
    factor = 1
    for number in range(KILLS):
        factor = chance.choice([other for other in (1, 2, 3, 4) if other != factor])
        stack.declare(factor, more="allow: [reduce-replicas]")
        process = stack.rebalancing("--throttle", "1MiB")
        if chance.random() < 0.25:
            alive_s, since = chance.uniform(0.3, 3.0), "its start"
        else:
            until(partial(_begun, stack, process))
            alive_s, since = chance.uniform(0.0, 6.0) ** 2 / 6, "the first throttle"
        time.sleep(alive_s)
        process.send_signal(signal.SIGKILL)
        output, _ = process.communicate()
        moving, throttled = len(stack.movable.reassignment.ongoing()), stack.throttles()
        print(
            f"kill {number}: to {factor}, {alive_s:.1f} s after {since}: {moving} moving, {throttled}, said: {output!r}"
        )

        done = stack.rebalance("--yes", "--throttle", "50MiB")
        assert done.returncode == 0, done.stdout + done.stderr
        replicas = stack.replicas()
        assert {len(set(brokers)) for brokers in replicas.values()} == {factor}
        assert stack.placement().moves == ()
        assert stack.contents() == contents
        assert stack.settings() == settings
        until(stack.clean)
        preview = stack.pulumi("preview", "--expect-no-changes")
        assert preview.returncode == 0, preview.stdout


def _begun(stack: Stack, process: subprocess.Popen[str]) -> bool:
    """Return whether the rebalance has started or ended. A run that only removes replicas ends at once."""
    return bool(stack.throttles() or stack.movable.reassignment.ongoing() or process.poll() is not None)
