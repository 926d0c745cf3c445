"""Test that each bad answer of a Schema Registry is one line that says what is wrong, without a credential."""

from __future__ import annotations

import json
import re
import ssl
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from urllib3 import BaseHTTPResponse

from tests.support.http_answers import SLOW, Answer, Request, answering, failing, http
from tests.support.secured import pem
from topicwarden.kafka.registry import client as module
from topicwarden.kafka.registry import write
from topicwarden.kafka.registry.client import RegistryClient
from topicwarden.kafka.registry.read import (
    find_version,
    read_mode,
    read_registry,
    referrers,
    refusal,
    registered_versions,
    subject_names,
)
from topicwarden.kafka.registry.registry_error import RegistryError
from topicwarden.kafka.registry.write import register, set_compatibility, soft_delete
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.subject import LiveSubject, RegisteredSchema, SchemaReference
from topicwarden.specs.stacks.certificate_settings import Certificates
from topicwarden.specs.stacks.registry_settings import RegistrySettings

USER, PASSWORD, TOKEN = "registrar", "s3cret-pässword", "t0ken-of-the-registry"
SECRETS = (PASSWORD, TOKEN, "cmVnaXN0cmFy")
TEXT = '{"type": "record", "name": "Secret", "fields": []}'
SCHEMA = RegisteredSchema("avro", TEXT)
HTML = b"<!DOCTYPE html><html><title>Sign in</title></html>"
NOT_FOUND = failing("404 Not Found", 40401, "Subject 'a' not found.")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE_S", 0.0)
    monkeypatch.setattr(module, "MAX_BYTES", 1 << 20)
    monkeypatch.setattr(write, "_PAUSE_S", 0.0)


def client_of(url: str, *, timeout_s: float = 5.0, token: str | None = None) -> RegistryClient:
    settings = RegistrySettings(url, token=token) if token else RegistrySettings(url, USER, PASSWORD)
    return RegistryClient(settings, timeout_s=timeout_s)


def failure_of(
    answer: Answer, request: Callable[[RegistryClient], object] = subject_names, timeout_s: float = 10.0
) -> RegistryError:
    with answering(answer) as server, client_of(server.url, timeout_s=timeout_s) as client:
        return error_of(client, request)


def error_of(client: RegistryClient, request: Callable[[RegistryClient], object] = subject_names) -> RegistryError:
    with pytest.raises(RegistryError) as failure:
        request(client)
    return failure.value


BAD_ANSWERS: dict[str, tuple[Answer, int | None, int | None, str]] = {
    "401": (failing("401 Unauthorized", 40101, "User not authenticated"), 401, 40101, "rejects the credentials"),
    "403": (failing("403 Forbidden", 40301, "User is denied operation Read"), 403, 40301, "denies GET /subjects"),
    "403 HTML": (http(HTML, "403 Forbidden"), 403, None, "denies GET /subjects (403: HTML, as from a proxy)"),
    "404 of a proxy": (http(HTML, "404 Not Found", kind="text/html"), 404, None, "correct the path in url"),
    "404 of a wrong path": (failing("404 Not Found", 404, "HTTP 404 Not Found"), 404, 404, "correct the path in url"),
    "404 of the API": (NOT_FOUND, 404, 40401, "Subject 'a' not found."),
    "400": (failing("400 Bad Request", 400, "no"), 400, 400, "refuses GET /subjects (400: no)"),
    "409": (failing("409 Conflict", 409, "Schema is incompatible: /fields/1"), 409, 409, "incompatible (409: Schema"),
    "413": (http(HTML, "413 Too Large"), 413, None, "too large"),
    "422": (failing("422 Unprocessable", 42201, "Invalid schema"), 422, 42201, "correct the schema or its references"),
    "level": (failing("422 Unprocessable", 42203, "Invalid level"), 422, 42203, "choose another level"),
    "mode": (failing("422 Unprocessable", 42205, "Subject a is in read-only mode"), 422, 42205, "in its mode"),
    "referenced": (failing("422 Unprocessable", 42206, "references exist"), 422, 42206, "other schemas refer to it"),
    "429": (failing("429 Too Many Requests", 42901, "slow down"), 429, 42901, "over its limit"),
    "500": (http(b"", "500 Internal Server Error"), 500, None, "failed at GET /subjects (500); see its log"),
    "500 HTML": (http(HTML, "500 Internal Server Error"), 500, None, "HTML, as from a proxy"),
    "50001": (failing("500 Internal Server Error", 50001, "Error in the store"), 500, 50001, "cannot use its storage"),
    "50002": (failing("500 Internal Server Error", 50002, "timed out"), 500, 50002, "did not complete the change"),
    "50003": (failing("500 Internal Server Error", 50003, "leader"), 500, 50003, "cannot reach its leader"),
    "502": (http(HTML, "502 Bad Gateway"), 502, None, "is not available"),
    "503": (http(b"", "503 Service Unavailable"), 503, None, "is not available"),
    "504": (http(HTML, "504 Gateway Timeout"), 504, None, "is not available"),
    "an error that is no object": (http([1], "500 Internal Server Error"), 500, None, "failed at GET /subjects"),
    "an error of other types": (http({"error_code": "x", "message": 1}, "409 Conflict"), 409, None, "incompatible"),
    "204": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, None, "(204)"),
    "HTML": (http(HTML, kind="text/html"), 200, None, "answered HTML"),
    "nothing": (http(b""), 200, None, "answered nothing"),
    "cut JSON": (http(b'["a", '), 200, None, "answered no JSON"),
    "bytes": (http(b"\xff\x00\x01"), 200, None, "answered no JSON"),
    "compressed": (http(b"\x1f\x8b\x08", "200 OK", "Content-Encoding: gzip"), 200, None, "answered no JSON"),
    "deep JSON": (http(b"[" * 1_000_000), 200, None, "answered no JSON"),
    "a long number": (http(b"[" + b"1" * 100_000 + b"]"), 200, None, "answered no JSON"),
    "an object": (http({}), 200, None, "expected a list of subjects"),
    "a list of numbers": (http([1]), 200, None, "expected a list of subjects"),
    "null": (http(None), 200, None, "expected a list of subjects"),
    "2 MiB": (http(b" " * (2 << 20)), 200, None, "answered more than"),
    "fewer bytes than announced": (http(["a"], length=500) + b"(end)", None, None, "before the end of its answer"),
    "a closed connection": (b"", None, None, "closed the connection without an answer"),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.6\r\n", None, None, "does not speak HTTP"),
    "endless headers": (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 1_000, None, None, "does not speak HTTP"),
    "silence": (None, None, None, "did not answer within 0.6 s"),
    "slow headers": (b"HTTP/1.1 200 OK\r\nX: " + SLOW, None, None, "did not answer within 0.6 s"),
    "a slow body": (http(length=1_000_000) + SLOW, None, None, "did not answer within 0.6 s"),
    "a redirect to another server": (
        http(b"", "302 Found", "Location: http://user:pw@127.0.0.1:1/subjects?token=1"),
        302,
        None,
        "redirects to another server (302)",
    ),
    "a redirect to nowhere": (http(b"", "301 Moved", "Location: http://[::1"), 301, None, "another server"),
    "redirects in a circle": (http(b"", "307 Temporary", "Location: /subjects"), 307, None, "redirects in a circle"),
}


def timeout_of(name: str) -> float:
    return 0.6 if "did not answer" in BAD_ANSWERS[name][3] else 10.0


@pytest.mark.parametrize("name", BAD_ANSWERS)
def test_a_bad_answer_is_one_line_that_says_what_to_do(name: str) -> None:
    answer, status, code, reason = BAD_ANSWERS[name]
    error = failure_of(answer, timeout_s=timeout_of(name))
    assert reason in error.reason, error.reason
    assert (error.status, error.code) == (status, code)
    assert str(error) == error.reason
    assert error.reason.startswith("the Schema Registry at http://127.0.0.1:")
    assert error.reason.isprintable()
    assert not any(secret in error.reason for secret in (*SECRETS, "pw@", "token=1"))


def test_credentials_and_schemas_that_a_registry_repeats_are_not_shown() -> None:
    def echo(request: Request) -> bytes:
        message = f"{request.headers['authorization']} {PASSWORD} {TEXT} {json.dumps(TEXT)}\n\x1b[31m{'x' * 5_000}"
        return failing("422 Unprocessable", 42201, message)

    error = failure_of(echo, lambda client: register(client, "a", SCHEMA))
    assert not any(secret in error.reason for secret in (*SECRETS, "Secret"))
    assert error.reason.isprintable()
    assert len(error.reason) < 1_000
    with answering(echo) as server, client_of(server.url, token=TOKEN) as client:
        assert TOKEN not in error_of(client).reason


def test_old_schemas_of_a_refusal_are_not_shown() -> None:
    message = (
        'Schema being registered is incompatible with an earlier schema for subject "a", details: '
        "[{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'The field 'b' at path '/fields/0' has no "
        'default\', additionalInfo:\'b\'}, {oldSchemaVersion: 1}, {oldSchema: \'{"type":"record","name":"Secret"}\'}, '
        "{validateFields: 'false', compatibility: 'BACKWARD'}]"
    )
    error = failure_of(failing("409 Conflict", 409, message), lambda client: register(client, "a", SCHEMA))
    assert "/fields/0" in error.reason
    assert "Secret" not in error.reason


def test_a_registry_without_credentials_in_the_settings_asks_for_them() -> None:
    with answering(http(b"", "401 Unauthorized")) as server, RegistryClient(RegistrySettings(server.url)) as client:
        reason = error_of(client).reason
    assert "needs credentials (401); set username and password, token or clientCert" in reason


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1:1", "connection refused; start it, or correct url of topicwarden:schemaRegistry"),
        ("http://registry.invalid", "its host name is unknown"),
        ("http://user:pw@127.0.0.1:99999", "invalid address"),
        ("ftp://127.0.0.1", "invalid address"),
        ("http://[::1", "invalid address"),
        ("http://" + "a" * 300, "cannot be reached|invalid address"),
    ],
)
def test_an_address_that_leads_nowhere_is_named(url: str, reason: str) -> None:
    with pytest.raises(RegistryError, match=reason) as failure, client_of(url) as client:
        subject_names(client)
    assert "pw" not in str(failure.value)


def test_users_in_the_url_are_neither_sent_nor_shown() -> None:
    with answering(http(HTML)) as server:
        url = server.url.replace("http://", "http://user:pw@")
        with client_of(url) as client, pytest.raises(RegistryError) as failure:
            subject_names(client)
    assert "pw" not in failure.value.reason
    assert server.requests[0].headers["authorization"].startswith("Basic cmVnaXN0cmFyOn")


@pytest.mark.parametrize("token", ["a b", "a\nX-Other: 1", "ü"])
def test_a_token_that_no_header_can_have_is_refused(token: str) -> None:
    with pytest.raises(RegistryError, match="token of topicwarden:schemaRegistry has") as failure:
        client_of("http://127.0.0.1:1", token=token)
    assert token not in str(failure.value)


@pytest.mark.parametrize("name", [".", "..", ""])
def test_a_subject_whose_name_would_change_the_path_is_refused(name: str) -> None:
    error = failure_of(http({}), lambda client: find_version(client, name, SCHEMA))
    assert "cannot be the name of a subject" in error.reason


def test_names_of_subjects_are_quoted() -> None:
    with answering(NOT_FOUND) as server, client_of(server.url + "/apis/ccompat/v7/") as client:
        assert find_version(client, ":.ctx:a/b?c#d é", SCHEMA) is None
    assert server.requests[0].path == "/apis/ccompat/v7/subjects/%3A.ctx%3Aa%2Fb%3Fc%23d%20%C3%A9"


# TLS


def tls(*, ca: trustme.CA, host: str = "127.0.0.1", client_ca: trustme.CA | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(host).configure_cert(context)
    if client_ca:
        client_ca.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def test_a_ca_of_its_own_and_a_client_certificate_are_used() -> None:
    ca = trustme.CA()
    certificate, key = pem(ca.issue_cert("client.example.com"))
    settings = Certificates(ca.cert_pem.bytes().decode(), certificate, key)
    with (
        answering(http(["a"]), tls(ca=ca, client_ca=ca)) as server,
        RegistryClient(RegistrySettings(server.url, certificates=settings)) as client,
    ):
        assert subject_names(client) == ("a",)


def test_each_problem_of_tls_names_the_setting() -> None:
    ca = trustme.CA()
    trusting = Certificates(ca.cert_pem.bytes().decode())
    expired = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("127.0.0.1", not_after=datetime.now(UTC) - timedelta(days=1)).configure_cert(expired)
    cases = (
        (tls(ca=ca), Certificates(), "self-signed or of an unknown CA; set caCert"),
        (tls(ca=ca, host="other.example.com"), trusting, "for another host name"),
        (expired, trusting, "has expired"),
        (tls(ca=ca, client_ca=ca), trusting, "clientCert"),
    )
    for context, certificates, reason in cases:
        with (
            answering(http([]), context) as server,
            RegistryClient(RegistrySettings(server.url, certificates=certificates)) as client,
        ):
            message = error_of(client).reason
        assert reason in message
    with answering(http([])) as server, client_of(server.url.replace("http:", "https:")) as client:
        assert "http:// in url" in error_of(client).reason
    with answering(http([]), tls(ca=ca)) as server, client_of(server.url.replace("https:", "http:")) as client:
        assert re.search("closed the connection|does not speak HTTP", error_of(client).reason)


def test_certificates_that_openssl_refuses_are_an_error_of_the_settings() -> None:
    with pytest.raises(RegistryError, match="topicwarden:schemaRegistry: OpenSSL refuses"):
        RegistryClient(RegistrySettings("https://127.0.0.1:1", certificates=Certificates("-----BEGIN NOTHING-----")))


# Retries and connections


def in_turn(*answers: bytes) -> Callable[[Request], bytes]:
    remaining = list(answers)
    return lambda _: remaining.pop(0) if len(remaining) > 1 else remaining[0]


@pytest.mark.parametrize(
    "passing",
    [
        failing("429 Too Many Requests", 42901, "slow down", "Retry-After: 0"),
        failing("429 Too Many Requests", 42901, "slow down", "Retry-After: Tue, 24 Nov 2026 18:00:00 GMT"),
        http(HTML, "502 Bad Gateway"),
        http(b"", "503 Service Unavailable"),
        http(b"", "504 Gateway Timeout"),
        failing("500 Internal Server Error", 50003, "leader"),
        b"",
        http(["a"], length=500) + b"(end)",
    ],
)
@pytest.mark.parametrize("write_request", [False, True])
def test_a_request_is_sent_again_after_an_answer_that_passes(passing: bytes, write_request: bool) -> None:
    good = http({"compatibility": "FULL"} if write_request else ["a"])
    with answering(in_turn(passing, passing, good)) as server, client_of(server.url) as client:
        if write_request:
            set_compatibility(client, "a", Compatibility.FULL)
        else:
            assert subject_names(client) == ("a",)
    assert len(server.requests) == 3
    assert len({(each.method, each.path, each.body) for each in server.requests}) == 1


@pytest.mark.parametrize("name", ["401", "403", "404 of a proxy", "409", "422", "500", "HTML", "2 MiB", "silence"])
def test_a_request_that_would_fail_again_is_sent_once(name: str) -> None:
    answer = BAD_ANSWERS[name][0]
    with (
        answering(answer) as server,
        client_of(server.url, timeout_s=timeout_of(name)) as client,
        pytest.raises(RegistryError),
    ):
        subject_names(client)
    assert len(server.requests) == 1


def test_a_registry_that_asks_for_a_long_pause_is_not_waited_for() -> None:
    answer = failing("429 Too Many Requests", 42901, "slow down", "Retry-After: 3600")
    with answering(answer) as server, client_of(server.url) as client, pytest.raises(RegistryError, match="over its"):
        subject_names(client)
    assert len(server.requests) == 1


def test_retries_end() -> None:
    with answering(http(b"", "503 Service Unavailable")) as server, client_of(server.url) as client:
        assert "is not available" in error_of(client).reason
    assert len(server.requests) == 5


@pytest.mark.parametrize(
    ("url", "location", "followed"),
    [
        ("https://sr.example.com", "https://sr.example.com:443/v2", True),
        ("https://sr.example.com:443", "https://SR.example.com/v2", True),
        ("http://sr.example.com", "http://sr.example.com:80/v2", True),
        ("https://[::1]:8081", "https://[::1]:8081/v2", True),
        ("https://sr.example.com", "http://sr.example.com/v2", False),
        ("https://sr.example.com", "http://sr.example.com:443/v2", False),
        ("https://sr.example.com", "https://sr.example.com:8443/v2", False),
        ("https://sr.example.com", "https://sr.example.com.evil.com/v2", False),
        ("https://sr.example.com", "https://sr.example.com:x/v2", False),
    ],
)
def test_credentials_go_to_the_same_server_only_however_it_is_written(url: str, location: str, followed: bool) -> None:
    redirect = BaseHTTPResponse(
        headers={"Location": location},
        status=307,
        version=11,
        version_string="HTTP/1.1",
        reason=None,
        decode_content=False,
        request_url=None,
    )
    with client_of(url) as client:
        if followed:
            assert client._redirected("GET", "/subjects", redirect) == "/v2"
        else:
            with pytest.raises(RegistryError, match="redirects to another server"):
                client._redirected("GET", "/subjects", redirect)


def test_a_redirect_on_the_same_server_is_followed_with_the_body() -> None:
    def answer(request: Request) -> bytes:
        return http({}) if request.path == "/v2" else http(b"", "308 Permanent", "Location: /v2")

    with answering(answer) as server, client_of(server.url) as client:
        set_compatibility(client, "a", Compatibility.NONE)
    assert [(each.path, each.json) for each in server.requests] == [
        ("/config/a", {"compatibility": "NONE"}),
        ("/v2", {"compatibility": "NONE"}),
    ]
    error = failure_of(
        http(b"", "302 Found", "Location: /v2"), lambda client: set_compatibility(client, "a", Compatibility.NONE)
    )
    assert "redirects PUT (302)" in error.reason


def test_connections_are_kept_and_shared_by_threads() -> None:
    seen = set()

    def answer(request: Request) -> bytes:
        seen.add(threading.get_ident())  # the server has a thread for each connection
        return http({"compatibilityLevel": "FULL"}) if "config" in request.path else NOT_FOUND

    with answering(answer) as server, client_of(server.url) as client:
        found = read_registry(client, [f"s{number}" for number in range(100)])
    assert found.error is None
    assert len(found.subjects) == 100
    assert len(server.requests) == 2 + 2 * 100
    assert len(seen) <= client.connections


# What is read and written


def registry(request: Request) -> bytes:
    """Answer as a registry with the subjects "good", and some whose answers are broken."""
    version = {"subject": "good", "version": 3, "id": 7, "schema": TEXT}
    references = [{"name": "n", "subject": "s", "version": 1}]
    answers: dict[str, object] = {
        "/config": {"compatibilityLevel": "BACKWARD"},
        "/mode": {"mode": "READONLY"},
        "/subjects/good/versions/latest": version,
        "/config/good": {"compatibilityLevel": "FULL"},
        "/subjects/typed/versions/latest": {**version, "schemaType": "PROTOBUF", "references": references},
        "/config/typed": {"normalize": True},
        "/subjects/text/versions/latest": {**version, "version": "3"},
        "/subjects/flag/versions/latest": {**version, "id": True},
        "/subjects/list/versions/latest": [version],
        "/subjects/type/versions/latest": {**version, "schemaType": "THRIFT"},
        "/subjects/types/versions/latest": {**version, "schemaType": ["AVRO"]},
        "/subjects/references/versions/latest": {**version, "references": [{"name": "n"}]},
        "/subjects/object/versions/latest": {**version, "references": {"name": "n"}},
        "/subjects/level/versions/latest": version,
        "/config/level": {"compatibilityLevel": "SIDEWARDS"},
        "/subjects/levels/versions/latest": version,
        "/config/levels": {"compatibilityLevel": ["FULL"]},
    }
    if request.path.startswith("/subjects/denied"):
        return failing("403 Forbidden", 40301, "denied")
    return http(answers[request.path]) if request.path in answers else NOT_FOUND


def test_one_broken_subject_does_not_hide_the_others() -> None:
    broken = ("text", "flag", "list", "type", "types", "references", "object", "level", "levels", "denied")
    with answering(registry) as server, client_of(server.url) as client:
        found = read_registry(client, ["good", "absent", "typed", *broken])
    assert (found.compatibility, found.mode, found.error) == (Compatibility.BACKWARD, "READONLY", None)
    assert found.subjects["absent"] == LiveSubject("absent")
    good, typed = found.subjects["good"], found.subjects["typed"]
    assert good.latest is not None
    assert (good.latest.version, good.latest.id, good.latest.schema) == (3, 7, SCHEMA)
    assert good.compatibility is Compatibility.FULL
    assert typed.latest is not None
    assert typed.latest.schema == RegisteredSchema("protobuf", TEXT, (SchemaReference("n", "s", 1),))
    assert (typed.compatibility, typed.error) == (None, None)
    for name in broken:
        subject = found.subjects[name]
        assert (subject.latest, subject.compatibility) == (None, None)
        assert subject.error and ("unknown form" in subject.error or "denies" in subject.error)


@pytest.mark.parametrize("denied", [{"/config"}, {"/mode"}, {"/config", "/mode"}])
def test_a_user_with_permissions_on_subjects_only_gets_them_with_the_levels_that_apply(denied: set[str]) -> None:
    def answer(request: Request) -> bytes:
        if request.path in {*denied, "/config/secret"}:
            return failing("403 Forbidden", 40301, "User is denied operation Read on Subject: __GLOBAL")
        if request.path.endswith("?defaultToGlobal=true"):
            return http({"compatibilityLevel": "BACKWARD"})
        return NOT_FOUND if request.path == "/config/absent" else registry(request)

    with answering(answer) as server, client_of(server.url) as client:
        found = read_registry(client, ["good", "absent", "secret"])
    assert found.error is None
    assert found.mode == (None if "/mode" in denied else "READONLY")
    good, absent, secret = (found.subjects[name] for name in ("good", "absent", "secret"))
    assert good.latest and good.latest.version == 3
    assert [found.level(each) for each in (good, absent)] == [Compatibility.FULL, Compatibility.BACKWARD]
    assert absent.compatibility is None
    assert secret.error and "denies GET /config/secret" in secret.error


def test_a_registry_that_denies_everything_is_an_error_of_the_registry() -> None:
    with answering(failing("403 Forbidden", 40301, "denied")) as server, client_of(server.url) as client:
        found = read_registry(client, ["a", "b"])
    assert found.error and "denies GET /config" in found.error
    assert not found.subjects


@pytest.mark.parametrize("name", BAD_ANSWERS)
def test_a_registry_that_cannot_be_read_is_an_error_of_the_registry(name: str) -> None:
    with answering(BAD_ANSWERS[name][0]) as server, client_of(server.url, timeout_s=timeout_of(name)) as client:
        found = read_registry(client, ["a", "b"])
    assert found.error
    assert not found.subjects


def test_a_registry_that_ceases_to_answer_gets_no_request_for_each_subject() -> None:
    def answer(request: Request) -> bytes | None:
        return http({"compatibilityLevel": "FULL"}) if request.path == "/config" else NOT_FOUND

    def until_silent(request: Request) -> bytes | None:
        return None if request.path.startswith("/subjects/") else answer(request)

    with answering(until_silent) as server, client_of(server.url, timeout_s=0.6) as client:
        found = read_registry(client, [f"s{number}" for number in range(200)])
    assert all(subject.error and "did not answer" in subject.error for subject in found.subjects.values())
    assert len(server.requests) <= 2 + 2 * client.connections


def test_a_lost_answer_of_a_registry_that_answers_is_requested_once_more() -> None:
    answers = [http(["a"]), None, http(["b"]), None, None]
    with answering(lambda _: answers.pop(0)) as server, client_of(server.url, timeout_s=0.6) as client:
        assert (subject_names(client), subject_names(client)) == (("a",), ("b",))
        assert "did not answer" in error_of(client).reason
    assert len(server.requests) == 5


@pytest.mark.parametrize("name", ["2 MiB", "a slow body", "fewer bytes than announced", "a redirect to nowhere"])
def test_a_bad_answer_keeps_no_connection(name: str) -> None:
    remaining = [BAD_ANSWERS[name][0]] * (5 if name.startswith("fewer") else 1)

    def answer(_: Request) -> bytes | None:
        given = remaining.pop() if remaining else http(["a"])
        assert not callable(given)
        return given

    with (
        answering(answer) as server,
        RegistryClient(RegistrySettings(server.url), connections=1, timeout_s=timeout_of(name)) as client,
    ):
        error_of(client)
        assert subject_names(client) == ("a",)


def test_one_thread_watches_all_answers_and_a_later_one_is_still_limited() -> None:
    before = {thread for thread in threading.enumerate() if thread.name == "watchdog"}
    late = [http(["a"])] * 20 + [b"HTTP/1.1 200 OK\r\nX: " + SLOW] * 2
    with answering(lambda _: late.pop(0)) as server, client_of(server.url, timeout_s=0.6) as client:
        for _ in range(20):
            assert subject_names(client) == ("a",)
        watching = {thread for thread in threading.enumerate() if thread.name == "watchdog"} - before
        assert len(watching) <= 1
        assert "did not answer within 0.6 s" in error_of(client).reason


@pytest.mark.parametrize("status", ["404 Not Found", "405 Method Not Allowed", "501 Not Implemented"])
def test_a_registry_without_modes_has_none(status: str) -> None:
    with answering(http(b"", status)) as server, client_of(server.url) as client:
        assert read_mode(client) is None


def test_the_reasons_of_a_refusal_are_those_of_the_registry() -> None:
    messages = [
        '{errorType:"TYPE_MISMATCH", description:"The type (path \'/fields/0/type\') of a field in the new schema does '
        'not match with the old schema", additionalInfo:"reader type: INT not compatible with writer type: STRING"}',
        "{oldSchemaVersion: 1}",
        '{oldSchema: \'{"type":"record","name":"Secret"}\'}',
        "{compatibility: 'BACKWARD'}",
        "another reason",
    ]
    for answer, reasons in (
        ({"is_compatible": True, "messages": []}, ()),
        ({"is_compatible": False}, ("the registry gives no reason",)),
        (
            {"is_compatible": False, "messages": messages},
            (
                "TYPE_MISMATCH: The type (path '/fields/0/type') of a field in the new schema does not match with the "
                "old schema (reader type: INT not compatible with writer type: STRING)",
                "another reason",
            ),
        ),
    ):
        with answering(http(answer)) as server, client_of(server.url) as client:
            assert refusal(client, "a", SCHEMA, None) == reasons
        assert server.requests[0].path == "/compatibility/subjects/a/versions/latest?verbose=true"
    with answering(NOT_FOUND) as server, client_of(server.url) as client:
        assert refusal(client, "a", SCHEMA, None) == ()
    assert "is_compatible" in failure_of(http({}), lambda client: refusal(client, "a", SCHEMA, None)).reason


def test_versions_that_are_deleted_meanwhile_are_left_out() -> None:
    def answer(request: Request) -> bytes:
        if request.path.endswith("/versions"):
            return http([3, 1, 2])
        number = int(request.path.rpartition("/")[2])
        if number == 2:
            return failing("404 Not Found", 40402, "Version 2 not found.")
        return http({"subject": "a", "version": number, "id": number + 10, "schema": TEXT})

    with answering(answer) as server, client_of(server.url) as client:
        assert [(each.version, each.id) for each in registered_versions(client, "a")] == [(1, 11), (3, 13)]
    with answering(NOT_FOUND) as server, client_of(server.url) as client:
        assert registered_versions(client, "a") == ()
    for wrong in (http({}), http(["1"])):
        reason = failure_of(wrong, lambda client: registered_versions(client, "a")).reason
        assert "expected a list of versions" in reason


def test_a_reference_to_any_version_counts() -> None:
    answers = {
        "/subjects/money/versions": [2, 1],
        "/subjects/money/versions/1/referencedby": [7, 3],
        "/subjects/money/versions/2/referencedby": [],
        "/schemas/ids/3/versions": [{"subject": "money", "version": 2}],
        "/schemas/ids/7/versions": [{"subject": "orders-value", "version": 1}, {"subject": "a", "version": 4}],
    }
    with answering(lambda request: http(answers[request.path])) as server, client_of(server.url) as client:
        assert referrers(client, "money") == ("a", "orders-value")
    with answering(NOT_FOUND) as server, client_of(server.url) as client:
        assert referrers(client, "money") == ()


def test_subjects_that_refer_to_one_in_a_context_are_looked_up_there() -> None:
    answers = {
        "/subjects/%3A.eu%3Amoney/versions": [1],
        "/subjects/%3A.eu%3Amoney/versions/1/referencedby": [7],
        "/schemas/ids/7/versions?subject=%3A.eu%3Amoney": [{"subject": ":.eu:orders-value", "version": 1}],
    }
    with answering(lambda request: http(answers[request.path])) as server, client_of(server.url) as client:
        assert referrers(client, ":.eu:money") == (":.eu:orders-value",)


def test_a_schema_is_registered_once_also_by_two_writers() -> None:
    version = {"subject": "a", "version": 2, "id": 9, "schema": TEXT}
    absent = failing("404 Not Found", 40403, "Schema not found")
    posted = http({"id": 9})
    # plain and normalized lookups find nothing, the registry takes the schema, a replica is behind, then shows it
    answer = in_turn(absent, absent, posted, absent, absent, http(version))
    with answering(answer) as server, client_of(server.url) as client:
        found = register(client, "a", SCHEMA)
    assert (found.version, found.id) == (2, 9)
    assert [each.path.partition("?")[0] for each in server.requests] == [
        *("/subjects/a", "/subjects/a", "/subjects/a/versions", "/subjects/a", "/subjects/a", "/subjects/a")
    ]
    assert all(each.headers["content-type"] == "application/vnd.schemaregistry.v1+json" for each in server.requests)
    with answering(http(version)) as server, client_of(server.url) as client:
        assert register(client, "a", SCHEMA) == found
    assert [each.path for each in server.requests] == ["/subjects/a"]
    # a registry that has no such subject, and answers with the version
    with answering(in_turn(NOT_FOUND, http(version))) as server, client_of(server.url) as client:
        assert register(client, "a", SCHEMA) == found
    assert [each.path for each in server.requests] == ["/subjects/a", "/subjects/a/versions"]


def test_a_schema_is_sent_as_the_api_has_it() -> None:
    schema = RegisteredSchema("json", "{}", (SchemaReference("n", "s", 1),))
    with answering(NOT_FOUND) as server, client_of(server.url) as client:
        find_version(client, "a", schema)
        find_version(client, "a", SCHEMA)
    references = [{"name": "n", "subject": "s", "version": 1}]
    assert server.requests[0].json == {"schema": "{}", "schemaType": "JSON", "references": references}
    assert server.requests[1].json == {"schema": TEXT}


def test_a_schema_that_never_becomes_visible_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "_VISIBLE_S", 0.0)

    def answer(request: Request) -> bytes:
        return http({"id": 1}) if request.path.endswith("/versions") else NOT_FOUND

    assert "does not show it" in failure_of(answer, lambda client: register(client, "a", SCHEMA)).reason


def test_an_answer_without_an_id_is_an_error() -> None:
    def answer(request: Request) -> bytes:
        return http({"id": "1"}) if request.path.endswith("/versions") else NOT_FOUND

    assert "expected the id" in failure_of(answer, lambda client: register(client, "a", SCHEMA)).reason


def test_a_subject_that_is_deleted_already_is_no_error() -> None:
    for code in (40401, 40404):
        with answering(failing("404 Not Found", code, "not there")) as server, client_of(server.url) as client:
            soft_delete(client, "a")
        assert [(each.method, each.path) for each in server.requests] == [("DELETE", "/subjects/a")]
    assert "no API" in failure_of(http(HTML, "404 Not Found"), lambda client: soft_delete(client, "a")).reason


def test_no_request_deletes_permanently() -> None:
    source = Path(str(write.__file__)).read_text(encoding="utf-8")
    assert "permanent" not in source
