"""Makes a program fail if it ends before the engine has registered every topic.

The engine takes exit code 0 for a complete program, and deletes every unprotected resource that is not registered. The
SDK registers resources in the background, so ``sys.exit(0)`` after ``deploy()`` would end a program too early.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from typing import Any

import pulumi

from topicwarden.deploy.language_exec import BAIL


class ProgramEnd:
    """Watches the end of this process: calls ``reached`` if all expected outputs are known.

    Otherwise the process prints a message and fails, whatever its exit code was.
    """

    def __init__(self, reached: Callable[[], None]) -> None:
        self._reached = reached
        self._unknown = 1
        atexit.register(self._at_exit)

    def expect(self, *outputs: pulumi.Output[Any]) -> None:
        """Set the outputs that are known once the engine has registered the program's resources.

        ``Output.all`` would make an output of each value inside them, 14 for each topic.
        """
        self._unknown = len(outputs)
        for output in outputs:
            output.apply(self._known)

    def _known(self, _: object) -> None:
        self._unknown -= 1

    def _at_exit(self) -> None:
        if not self._unknown:
            self._reached()
            return
        print(
            "the program ended before every topic was registered: topics that are not registered would be deleted, so "
            "nothing is deployed. Call `deploy()` last in stacks/__main__.py, without `sys.exit`",
            file=sys.stderr,
        )
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(BAIL)
