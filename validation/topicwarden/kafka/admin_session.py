"""A connection for administration, opened by the first request that needs it."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeVar

from topicwarden.kafka.admin_client import open_admin
from topicwarden.kafka.connection import Connection

if TYPE_CHECKING:
    from kafka import KafkaAdminClient

Result = TypeVar("Result")


class AdminSession:
    """An Admin client that any thread may use."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._open = ExitStack()
        self._admin: KafkaAdminClient | None = None

    @property
    def admin(self) -> KafkaAdminClient:
        """The open client; raises Refusal if the cluster cannot be reached."""
        with self._lock:
            if self._admin is None:
                self._admin = self._open.enter_context(open_admin(self._connection))
            return self._admin
