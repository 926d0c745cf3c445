"""Capture the log of a test without the lines of Kafka clients that earlier tests left running."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from logging import DEBUG, LogRecord

import pytest


@contextmanager
def without_kafka_clients(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> Iterator[Callable[[], str]]:
    """Yield a function that returns everything that was logged and printed.

    The handler of ``caplog`` outlives the test, so its filter is removed at the end of the block.
    """

    def of_the_test(record: LogRecord) -> bool:
        return not record.name.startswith("kafka.")

    caplog.set_level(DEBUG)
    caplog.handler.addFilter(of_the_test)
    try:
        yield lambda: caplog.text + "".join(capfd.readouterr())
    finally:
        caplog.handler.removeFilter(of_the_test)
