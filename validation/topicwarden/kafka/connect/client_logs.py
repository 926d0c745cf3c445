"""Keep the log lines of topicwarden's own kafka-python clients out of the log of the program that calls topicwarden.

An error of a client becomes a ``Refusal``, so its log lines would only repeat it. The lines of clients that the calling
program opens itself are left alone, as are the levels and handlers of every logger.
"""

from __future__ import annotations

import logging
import sys
from typing import Final

CLIENT_ID: Final = "topicwarden"
"""The ``client.id`` of each client. kafka-python names the thread of a client after it."""
_THREAD: Final = f"kafka-io-{CLIENT_ID}"
_CLIENT: Final = "kafka"
_OURS: Final = "topicwarden"


class _OwnClients(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return not ((record.threadName or "").startswith(_THREAD) or _called_by_us())


_FILTER: Final = _OwnClients()


def mute_own_clients() -> None:
    """Add the filter to each logger of kafka-python that exists. A filter does not apply to the loggers below it."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == _CLIENT:
            logging.getLogger(name).addFilter(_FILTER)


def _called_by_us() -> bool:
    """Return whether topicwarden called the code of kafka-python that logs."""
    frame = sys._getframe()
    client_seen = False
    while frame := frame.f_back:  # type: ignore[assignment]
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        client_seen = client_seen or package == _CLIENT
        if client_seen and package not in (_CLIENT, *sys.stdlib_module_names):
            return package == _OURS
    return False
