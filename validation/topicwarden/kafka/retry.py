"""What a cluster asks of its clients: to come again when leaders have moved, or when the quota allows it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from kafka.errors import (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    KafkaError,
    SaslAuthenticationFailedError,
    TopicAuthorizationFailedError,
    UnsupportedVersionError,
)

Answer = TypeVar("Answer")

_PATIENCE_S, _PAUSE_S = 30.0, 0.5
_FINAL = (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    TopicAuthorizationFailedError,
    SaslAuthenticationFailedError,
    UnsupportedVersionError,
)


def patiently(ask: Callable[[], Answer]) -> Answer:
    """What ``ask`` gives, asked again for half a minute; raises the last ``KafkaError``, a final one at once.

    A client over its quota is muted for seconds (KIP-219), which this client reports as a node that is not ready.
    """
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return ask()
        except KafkaError as error:
            if isinstance(error, _FINAL) or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_S)
