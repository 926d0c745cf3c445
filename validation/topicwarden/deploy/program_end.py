"""A program that ends before the engine has registered every topic must not look like a program that succeeded.

The engine takes exit code 0 for the end of the program and deletes every unprotected resource that was not registered
until then. ``sys.exit(0)`` after ``deploy()`` would end a program there, as the SDK registers resources in the
background.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable

import pulumi

from topicwarden.deploy.language_exec import BAIL


class ProgramEnd:
    """Watches the end of this process from now on; ``reached`` is called if all ``expect``-ed outputs were known.

    Otherwise the process ends with a message and a failure, whatever its exit code was.
    """

    def __init__(self, reached: Callable[[], None]) -> None:
        self._reached = reached
        self._complete = False
        atexit.register(self._at_exit)

    def expect(self, *outputs: pulumi.Input[object]) -> None:
        """Name the outputs that are known once the engine has registered the program's resources."""
        pulumi.Output.all(*outputs).apply(self._completed)

    def _completed(self, _: object) -> None:
        self._complete = True

    def _at_exit(self) -> None:
        if self._complete:
            self._reached()
            return
        print(
            "the program ended before every topic was registered: topics that are not registered would be deleted, so "
            "nothing is deployed. Let `deploy()` be the last thing that stacks/__main__.py calls, without `sys.exit`",
            file=sys.stderr,
        )
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(BAIL)
