"""Retries of requests that fail for a short time, such as while leaders move or while a quota mutes the client."""

from __future__ import annotations

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
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

Response = TypeVar("Response")

_TIMEOUT_S, _PAUSE_S = 30.0, 0.5
_PERMANENT = (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    TopicAuthorizationFailedError,
    SaslAuthenticationFailedError,
    UnsupportedVersionError,
)


def retry_transient(request: Callable[[], Response]) -> Response:
    """Return the result of ``request``, which is called again for up to 30 seconds while it raises a ``KafkaError``.

    Raises the last ``KafkaError``. Denied access, failed authentication and an unsupported version are raised at once.
    A client over its quota is muted for seconds (KIP-219), which kafka-python reports as a node that is not ready.
    """
    retrying = Retrying(
        retry=retry_if_exception(lambda error: isinstance(error, KafkaError) and not isinstance(error, _PERMANENT)),
        stop=stop_after_delay(_TIMEOUT_S),
        wait=wait_fixed(_PAUSE_S),
        reraise=True,
    )
    return retrying(request)
