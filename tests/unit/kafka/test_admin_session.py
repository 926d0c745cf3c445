"""Test which requests an Admin session sends again."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
from kafka.errors import ClusterAuthorizationFailedError, KafkaError, RequestTimedOutError

from topicwarden.kafka.connect import retry
from topicwarden.kafka.connect.request_error import RequestError
from topicwarden.kafka.write.admin_session import AdminSession


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> AdminSession:
    monkeypatch.setattr(retry, "_PAUSE_S", 0.0)
    monkeypatch.setattr(AdminSession, "admin", "admin")
    return AdminSession(Mock())


def test_a_request_is_sent_again_if_the_broker_did_not_answer(session: AdminSession) -> None:
    send = Mock(side_effect=[RequestTimedOutError(), RequestTimedOutError(), 3])
    assert session.request(send, "argument") == 3
    assert send.call_args_list == [(("admin", "argument"),)] * 3


@pytest.mark.parametrize("error", [ClusterAuthorizationFailedError(), KafkaError("security is disabled")])
def test_an_error_that_does_not_pass_is_raised_at_once(session: AdminSession, error: KafkaError) -> None:
    send = Mock(side_effect=error)
    with pytest.raises(RequestError):
        session.request(send)
    assert send.call_count == 1
