"""Failures to deliver to a catalogue."""

from __future__ import annotations


class DeliveryError(Exception):
    """A delivery that failed. The message is one line for users, without credentials.

    ``rejected``: the catalogue will never accept this content. ``limited``: the delivery may be attempted only a few
    times, because other content may succeed. ``retry_after`` is the pause in seconds that the catalogue requests.
    """

    def __init__(
        self, reason: str, *, rejected: bool = False, limited: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(reason)
        self.rejected, self.limited, self.retry_after = rejected, limited, retry_after
