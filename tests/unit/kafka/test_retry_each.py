"""Test that requests for many topics are sent again only for those that may still succeed."""

from __future__ import annotations

import pytest
from kafka.errors import KafkaTimeoutError, ThrottlingQuotaExceededError

from topicwarden.kafka.connect import retry
from topicwarden.kafka.connect.request_error import RequestError, error_of_code, request_error

QUOTA, DENIED, MISSING = 89, 29, 3


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "_PAUSE_S", 0.0)
    monkeypatch.setattr(retry, "_PROGRESS_EVERY_S", 0.0)


class Broker:
    """Answers each request with the next of ``answers``: codes by name, or an exception."""

    def __init__(self, *answers: dict[str, int] | Exception) -> None:
        self.answers, self.requests = list(answers), list[list[str]]()

    def send(self, names: list[str]) -> dict[str, RequestError]:
        self.requests.append(list(names))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return {name: error_of_code(code, None) for name, code in answer.items()}


def test_only_transient_errors_are_retried() -> None:
    broker, lines = Broker({"a": QUOTA, "b": DENIED}, {"a": QUOTA}, {}), list[str]()
    errors = retry.retry_each("abc", broker.send, (), lines.append)
    assert {name: error.name for name, error in errors.items()} == {"b": "TOPIC_AUTHORIZATION_FAILED"}
    assert broker.requests == [["a", "b", "c"], ["a"], ["a"]]
    assert lines[0] == "2 of 3 topics done, 1 tried again: Kafka's quota for changes of topics is used up"


def test_a_lost_connection_is_an_error_of_every_topic() -> None:
    broker = Broker(KafkaTimeoutError("no answer"), {})
    assert retry.retry_each("ab", broker.send, (), lambda _: None) == {}
    assert broker.requests == [["a", "b"], ["a", "b"]]


def test_an_error_that_is_final_for_the_caller_is_not_repeated() -> None:
    broker = Broker({"a": MISSING})
    errors = retry.retry_each("a", broker.send, ("UNKNOWN_TOPIC_OR_PARTITION",), lambda _: None)
    assert errors["a"].name == "UNKNOWN_TOPIC_OR_PARTITION"


def test_the_last_error_is_returned_after_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "_EACH_TIMEOUT_S", 0.0)
    errors = retry.retry_each("a", Broker({"a": QUOTA}).send, (), lambda _: None)
    assert errors["a"].name == "THROTTLING_QUOTA_EXCEEDED"


def test_an_error_has_the_name_of_the_protocol_and_the_words_of_the_broker() -> None:
    error = request_error(ThrottlingQuotaExceededError("wait"))
    assert (error.name, str(error), error.passing) == ("THROTTLING_QUOTA_EXCEEDED", "wait", True)
    assert str(error_of_code(DENIED, None)) == "TOPIC_AUTHORIZATION_FAILED"
    assert error_of_code(9_999, "new").name == "UNKNOWN"
