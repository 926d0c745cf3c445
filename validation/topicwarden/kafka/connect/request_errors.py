"""Errors that Kafka, or the way to it, has for a request: their names, missing permissions, and which to retry."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from kafka.errors import (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    KafkaError,
    NodeNotReadyError,
    SaslAuthenticationFailedError,
    SecurityDisabledError,
    ThrottlingQuotaExceededError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailedError,
    UnsupportedVersionError,
    for_code,
)
from tenacity import RetryCallState, Retrying, retry_if_exception, retry_if_result, stop_after_delay, wait_fixed


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
    text = str(error.args[0] if error.args else "").strip() or name
    if isinstance(error, NodeNotReadyError) and text.isdecimal():
        text = f"broker {text} does not answer"
    return RequestError(name, text, bool(error.retriable))


def first_line(error: BaseException) -> str:
    """Return the first line of the text of ``error``, or the name of its type if it has none."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


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


Response = TypeVar("Response")

_TIMEOUT_S, _PAUSE_S = 30.0, 0.5
_PERMANENT = (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    TopicAuthorizationFailedError,
    SaslAuthenticationFailedError,
    SecurityDisabledError,
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


def retry_answers(
    requests: Mapping[int, Sequence[Any]],
    send: Callable[[Mapping[int, Sequence[Any]]], Mapping[int, Sequence[Any]]],
    code_of: Callable[[Any], int] = lambda answer: int(answer.error_code),
) -> dict[int, list[Any]]:
    """Return the answers to the requests of each broker: a response, or the ``KafkaError`` of a request that failed.

    ``send`` returns these. For up to 30 seconds, a request is sent again whose error may pass. ``code_of`` returns the
    error code of a whole response.
    """
    answers: dict[int, list[Any]] = {broker: [None] * len(each) for broker, each in requests.items()}
    pending = [(broker, number) for broker, each in requests.items() for number in range(len(each))]

    def attempt() -> bool:
        nonlocal pending
        batch: dict[int, list[int]] = {}
        for broker, number in pending:
            batch.setdefault(broker, []).append(number)
        received = send({broker: [requests[broker][number] for number in numbers] for broker, numbers in batch.items()})
        pending = []
        for broker, numbers in batch.items():
            for number, answer in zip(numbers, received[broker], strict=True):
                code = 0 if isinstance(answer, KafkaError) else code_of(answer)
                answers[broker][number] = result = for_code(code)() if code else answer
                if isinstance(result, KafkaError) and not isinstance(result, _PERMANENT):
                    pending.append((broker, number))
        return bool(pending)

    Retrying(
        retry=retry_if_result(bool),
        stop=stop_after_delay(_TIMEOUT_S),
        wait=wait_fixed(_PAUSE_S),
        retry_error_callback=lambda state: None,
    )(attempt)
    return answers


_EACH_TIMEOUT_S: Final = 120.0
_PROGRESS_EVERY_S: Final = 5.0


def retry_each(
    names: Iterable[str],
    send: Callable[[list[str]], dict[str, RequestError]],
    final: Collection[str],
    progress: Callable[[str], None],
) -> dict[str, RequestError]:
    """Send a request for all ``names``, again for up to two minutes for those that fail for a short time.

    ``send`` returns the errors by name. Returns the errors that remain: those that do not pass, such as a denied
    permission, those with a name in ``final``, and those of the last attempt. ``progress`` gets a line every five
    seconds. An exception of ``send`` counts as the error of each name.
    """
    pending, errors = list(names), dict[str, RequestError]()
    total, reported = len(pending), 0.0

    def attempt() -> list[str]:
        nonlocal pending
        try:
            failed = send(pending)
        except KafkaError as error:
            failed = dict.fromkeys(pending, request_error(error))
        for name in pending:
            errors.pop(name, None)
        errors.update(failed)
        pending = [name for name, error in failed.items() if error.passing and error.name not in final]
        return pending

    def report(state: RetryCallState) -> None:
        nonlocal reported
        if state.seconds_since_start and state.seconds_since_start - reported >= _PROGRESS_EVERY_S:
            reported = state.seconds_since_start
            error = errors[pending[0]]
            # A client that a quota mutes reports "Node paused: {'throttle'}".
            muted = "Node paused" in str(error) and "throttle" in str(error)
            throttled = muted or error.name == ThrottlingQuotaExceededError.message
            reason = "Kafka's quota for changes of topics is used up" if throttled else str(error)
            progress(f"{total - len(pending)} of {total} topics done, {len(pending)} tried again: {reason}")

    Retrying(
        retry=retry_if_result(bool),
        stop=stop_after_delay(_EACH_TIMEOUT_S),
        wait=wait_fixed(_PAUSE_S),
        before_sleep=report,
        retry_error_callback=lambda state: None,
    )(attempt)
    return errors
