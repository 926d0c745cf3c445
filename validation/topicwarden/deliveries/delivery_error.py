"""Failures to deliver a payload."""

from __future__ import annotations


class DeliveryError(Exception):
    """A delivery that failed. The message is one line for users, without credentials.

    ``rejected``: the receiver will never accept this payload. ``limited``: the delivery may be attempted only a few
    times, because other payloads may succeed. ``retry_after`` is the shortest pause, in seconds, that the receiver
    requests.
    """

    def __init__(self, reason: str, *, rejected: bool = False, limited: bool = False, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.rejected, self.limited, self.retry_after = rejected, limited, retry_after
