"""Test POST requests to servers on loopback: refusals, outages, limits, and secrets."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from tests.support.http_answers import SLOW, Answer, Request, answering, http
from topicwarden.deliveries import post_client
from topicwarden.deliveries.delivery_error import DeliveryError
from topicwarden.deliveries.post_client import PostClient, RefusedRequest
from topicwarden.stacks.certificate_settings import Certificates

PATH = "/services/SECRET"
OK = http({"ok": True})


def client(url: str) -> PostClient:
    return PostClient(url, Certificates(), {"Authorization": "Bearer t0ken"})


@pytest.mark.parametrize(
    ("answer", "message", "rejected"),
    [
        (http(b"", "503 Service Unavailable"), "answered 503 Service Unavailable", False),
        (http(b"", "408 Request Timeout"), "answered 408 Request Timeout", False),
        (http(b"", "599 Odd"), "answered 599", False),
        (http(b"", "405 Method Not Allowed"), "answered 405 Method Not Allowed", False),
        (http(b"", "429 Too Many Requests", "Retry-After: soon"), "answered 429 Too Many Requests", False),
        (http(b"", "401 Unauthorized"), "answered 401 Unauthorized; correct its credentials", False),
        (http(b"", "404 Not Found"), "answered 404 Not Found; correct its URL", False),
        (http(b"", "410 Gone"), "answered 410 Gone; correct its URL", False),
        (http(b"", "302 Found", "Location: http://127.0.0.1:1/"), "answered 302 Found, a redirect, which is", False),
        (http(b"", "422 Odd"), "answered 422 Unprocessable", True),
        (http(b"", "400 Bad Request"), "answered 400 Bad Request: it does not accept the content", True),
        (b"", "closed the connection without an answer", False),
        (b"HTTP/1.1 2", "closed the connection without an answer", False),
        (b"SSH-2.0-OpenSSH\r\n(end)", "closed the connection without an answer", False),
    ],
)
@pytest.mark.parametrize("read", [False, True])
def test_a_failure_has_its_reason_and_no_url(
    answer: Answer, message: str, rejected: bool, read: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with answering(answer) as server:
        one = client(server.url + PATH)
        with pytest.raises(DeliveryError) as failed:
            one.post(b"{}", read=read)
        one.close()
    assert str(failed.value).startswith(message)
    assert failed.value.rejected == rejected
    shown = caplog.text + str(failed.value)
    assert "SECRET" not in shown and "127.0.0.1" not in shown and "t0ken" not in shown


@pytest.mark.parametrize("answer", [None, b"HTTP/1.1 200 OK\r\nX: " + SLOW])
@pytest.mark.parametrize("read", [False, True])
def test_a_slow_answer_is_a_failure(answer: Answer, read: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(post_client, "TIMEOUT_S", 0.3)
    with answering(answer) as server, pytest.raises(DeliveryError, match="did not answer in time"):
        client(server.url).post(b"{}", read=read)


def test_a_slow_body_is_a_failure_only_if_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + SLOW) as server:
        assert client(server.url).post(b"{}") == b""
        monkeypatch.setattr(post_client, "TIMEOUT_S", 0.3)
        with pytest.raises(DeliveryError, match="did not answer in time"):
            client(server.url).post(b"{}", read=True)


def test_a_connection_is_used_again_only_if_answers_are_read() -> None:
    with answering(OK) as server:
        one = client(server.url)
        first = one.post(b"{}", read=True)
        connection = one._connection
        assert first == b'{"ok": true}' and one.post(b"{}", read=True) == first
        assert one._connection is connection is not None
        assert (one.post(b"{}"), one._connection) == (b"", None)
        one.close()
        assert {each.headers["authorization"] for each in server.requests} == {"Bearer t0ken"}


def test_a_closed_connection_is_opened_again() -> None:
    with answering(lambda request: OK + b"(end)") as server:
        one = client(server.url)
        one.post(b"{}", "/x", read=True)
        while one._connection and one._connection.is_connected:
            pass
        one.post(b"{}", "/x", read=True)
        one.close()


def test_a_path_is_appended_unless_the_url_has_it() -> None:
    paths: list[str] = []

    def answer(request: Request) -> bytes:
        paths.append(request.path)
        return OK

    with answering(answer) as server:
        for base in ("", "/", "/base/", "/base/api", "/base/api/", "/base?a=b"):
            client(server.url + base).post(b"", "/api")
        for base in ("", "/base/", "/base?a=b"):
            client(server.url + base).post(b"")
    assert paths == ["/api", "/api", "/base/api", "/base/api", "/base/api", "/base/api?a=b", "/", "/base/", "/base?a=b"]


def test_the_content_of_a_refusal_is_read_and_a_large_answer_is_an_error() -> None:
    with answering(http({"error": "why"}, "400 Bad Request")) as server, pytest.raises(RefusedRequest) as refused:
        client(server.url).post(b"", read=True)
    assert refused.value.content == b'{"error": "why"}'
    large = http(b"x" * ((1 << 20) + 1))
    with answering(large) as server:
        with pytest.raises(DeliveryError, match="answers more than 1048576 bytes"):
            client(server.url).post(b"", read=True)
        client(server.url).post(b"")


def test_retry_after_may_be_a_number_or_a_date_and_has_a_limit() -> None:
    busy = http(b"", "429 Too Many Requests", "Retry-After: 77")
    with answering(busy) as server, pytest.raises(DeliveryError) as failed:
        client(server.url).post(b"")
    assert failed.value.retry_after == 77
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert 0 < post_client._pause(date) <= 100
    assert post_client._pause("99999999") == post_client._pause("9" * 400) == 3600
    assert [post_client._pause(text) for text in (None, "", "-5", "soon", "²", "Sat, 99 Foo 2026 99:99:99")] == [0] * 6
    huge = "9" * 20
    dates = (f"Wed, 21 Oct 2099 {huge}:28:00 GMT", f"Wed, 21 Oct 2099 07:28:00 +{huge}")
    assert [post_client._pause(text) for text in dates] == [0] * 2


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://127.0.0.1/SECRET", "has an invalid URL; correct it"),
        ("http://receiver.invalid/SECRET", "has an unknown host name"),
        (f"http://{'a' * 70}.invalid/SECRET", "has an invalid URL; correct it"),
        ("http://127.0.0.1:1/SECRET", "refused the connection"),
    ],
)
def test_a_wrong_url_is_a_failure(url: str, message: str) -> None:
    with pytest.raises(DeliveryError) as failed:
        client(url).post(b"")
    assert str(failed.value).startswith(message)
    assert "SECRET" not in str(failed.value) and "invalid/" not in str(failed.value)


def test_certificates_that_cannot_be_used_are_a_failure() -> None:
    one = PostClient("https://127.0.0.1:1", Certificates(ca_cert="no certificate"), {})
    with pytest.raises(DeliveryError, match="cannot be used: OpenSSL refuses the certificates"):
        one.post(b"")
