"""Test which tokens and messages come from the answers of a token endpoint; real brokers: `broker/connections`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.http_answers import answering, http
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.sasl import ClientCredentials, NoToken

LATER = "run the command again later"
AGAIN = "correct kafka:saslTokenUrl"


def tokens(url: str) -> ClientCredentials:
    return ClientCredentials(Connection(("broker:9092",), token_url=url, username="client", password="secret"))


@pytest.mark.parametrize(
    ("lifetime", "requests"),
    [
        ({}, 1),
        ({"expires_in": 3600}, 1),
        ({"expires_in": "3600"}, 1),
        ({"expires_in": None}, 1),
        ({"expires_in": "an hour"}, 1),
        ({"expires_in": [3600]}, 1),
        ({"expires_in": -1}, 1),
        ({"expires_in": "nan"}, 1),
        ({"expires_in": "Infinity"}, 1),
        ({"expires_in": 1e-9}, 2),
    ],
    ids=str,
)
def test_a_token_is_kept_for_its_lifetime_whatever_the_endpoint_says_about_it(
    lifetime: dict[str, Any], requests: int
) -> None:
    with answering(http({"access_token": "t", **lifetime})) as server:
        provider = tokens(server.url)
        assert [provider.token(), provider.token()] == ["t", "t"]
        assert len(server.requests) == requests


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        ("429 Too Many Requests", LATER),
        ("408 Request Timeout", LATER),
        ("503 Service Unavailable", LATER),
        ("401 Unauthorized", "correct kafka:saslUsername"),
        ("404 Not Found", AGAIN),
    ],
)
def test_an_error_has_its_remedy(status: str, remedy: str) -> None:
    with answering(http(b"", status)) as server, pytest.raises(NoToken, match=remedy):
        tokens(server.url).token()


@pytest.mark.parametrize("answer", [b"\x15\x03\x01\x00\x02\x02\x0a\r\n", http({"access_token": "t"}, length=999)])
def test_an_answer_that_is_not_http_is_named(answer: bytes) -> None:
    with answering(answer + b"(end)") as server, pytest.raises(NoToken, match="is not HTTP, or not complete"):
        tokens(server.url).token()


@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect"])
def test_the_secret_goes_to_no_other_address(status: str) -> None:
    with (
        answering(http({"access_token": "t"})) as other,
        answering(http(b"", status, f"Location: {other.url}/token")) as server,
        pytest.raises(NoToken, match="set kafka:saslTokenUrl to the address that it redirects to"),
    ):
        tokens(server.url).token()
    assert other.requests == []
