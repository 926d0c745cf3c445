"""Makes a program of plain `pulumi` fail if it ends before the engine has registered every topic.

The engine takes exit code 0 for a complete program, and deletes every unprotected resource that is not registered. The
SDK registers resources in the background, so ``sys.exit(0)`` after ``deploy()`` would end a program too early.
"""

from __future__ import annotations

import atexit
import os
import sys

from topicwarden.deploy.program_execution import BAIL
from topicwarden.deploy.program_run import ENDED_EARLY, ProgramRun


def fail_unless_complete(run: ProgramRun) -> None:
    """Let this process fail when it ends, whatever its exit code is, unless ``run`` is complete then."""

    def at_exit() -> None:
        if run.complete:
            return
        print(ENDED_EARLY, file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(BAIL)

    atexit.register(at_exit)
