"""An error that Kafka, or the way to it, has for a request, and the permission that a user lacks by it."""

from __future__ import annotations

from typing import Any

from kafka.errors import (
    GroupAuthorizationFailedError,
    KafkaError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailedError,
    for_code,
)


class RequestError(Exception):
    """The error of one request, or of one topic of a request.

    ``name`` is that of Kafka's protocol, such as ``TOPIC_ALREADY_EXISTS``. ``passing`` errors may not occur again when
    the same request is sent later. ``permission``: what the request needs, such as ``Create``, if that is known.
    """

    def __init__(self, name: str, message: str, passing: bool = False) -> None:
        super().__init__(message)
        self.name, self.passing = name, passing
        self.permission: str | None = None


def error_of_code(code: int, message: str | None) -> RequestError:
    """Return the error with Kafka's number ``code``, and the broker's message if it has one."""
    return request_error(for_code(code)(message) if message else for_code(code)())


def raise_if_refused(answer: Any) -> None:
    """Raise the KafkaError of ``answer``, a response of Kafka's protocol to the whole request, if it has one."""
    if answer.error_code:
        raise for_code(answer.error_code)(getattr(answer, "error_message", None))  # some answers have no message


def request_error(error: KafkaError) -> RequestError:
    """Return ``error`` of the client by its name in Kafka's protocol."""
    name = str(getattr(error, "message", "")) or type(error).__name__
    text = str(error.args[0]).strip() if error.args and error.args[0] else name
    return RequestError(name, text, bool(error.retriable))


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
