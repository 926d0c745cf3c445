"""Names the permission that a user lacks, from an error of Kafka's protocol."""

from __future__ import annotations

from kafka.errors import (
    GroupAuthorizationFailedError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailedError,
)


def denied_permission(error: BaseException, on_topics: str) -> str | None:
    """Return the permission that ``error``, or the error that caused it, says is missing; None for another error.

    ``on_topics`` is the operation on topics that the request needs. A user of groups and transactional ids needs
    Read and Write, which Kafka grants together with Describe.
    """
    current: BaseException | None = error
    while current is not None:
        if isinstance(current, TopicAuthorizationFailedError):
            return f"{on_topics} on the topic"
        if isinstance(current, GroupAuthorizationFailedError):
            return "Read on the group"
        if isinstance(current, TransactionalIdAuthorizationFailedError):
            return "Write on the transactional id"
        current = current.__cause__ or current.__context__
    return None
