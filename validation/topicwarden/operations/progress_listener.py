"""The progress of an operation, for its caller, besides the report that it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

ShareReport: TypeAlias = Callable[[float], None]
"""A function that reports the share of the work that is done, from 0 to 1."""


class ProgressListener:
    """Receive the progress of an operation. This class ignores everything; override the methods that you need.

    An operation may call the methods from any of its threads.
    """

    @contextmanager
    def stage(self, status: str, then: str = "") -> Iterator[ShareReport]:
        """Enter a stage of the operation, such as "reading the cluster"; the block is the stage.

        Yields a function that receives the share that is done, if the operation knows it. Once the share is 1, the
        operation works on ``then``, if there is such work.
        """
        yield lambda share: None

    def note(self, line: str) -> None:
        """Receive a line about the progress, such as the reason of a wait."""

    def warn(self, line: str) -> None:
        """Receive a line that a user should read, whatever the result of the operation is."""


SILENT: Final = ProgressListener()
"""A listener that ignores everything."""
