"""Attack the server of a watch: slow, large, malformed and unauthorized requests."""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.support import usage_reports
from tests.support.hostile_texts import forbidden
from tests.support.reports import rich, thousand
from tests.support.watched import get
from topicwarden.extensions.watch import http_server
from topicwarden.extensions.watch.audit_loop import WatchState
from topicwarden.extensions.watch.http_access import ListenAddress, listen_address, token_check
from topicwarden.extensions.watch.http_server import MOST_CONNECTIONS, MOST_REQUEST_BYTES, serving
from topicwarden.extensions.watch.served_pages import OPEN_PATHS, ServedPages
from topicwarden.model.problem import Refusal
from topicwarden.report.audit.background import ReportBackground

LOOPBACK = ListenAddress("127.0.0.1", 0)
TOKEN = "0123456789abcdef-token"
STATE = WatchState(
    "dev",
    300.0,
    report=rich().model_copy(update={"usage": usage_reports.rich()}),
    last_audit=2_000.0,
    last_success=2_000.0,
    audit_seconds=1.5,
    declarations_valid=False,
    declarations_problem="topics/a.yaml:1:1: broken",
)
PATHS = ("/healthz", "/readyz", "/metrics", "/report", "/report.json", "/usage.html", "/")
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Server": "topicwarden",
}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "REQUEST_S", 0.6)
    monkeypatch.setattr(http_server, "ANSWER_S", 0.6)


@pytest.fixture
def port() -> Iterator[int]:
    with serving(LOOPBACK, ServedPages([STATE], ReportBackground(), lambda: True)) as address:
        yield address.port


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n", encoding="utf-8")
    return file


@pytest.fixture
def guarded(token_file: Path) -> Iterator[int]:
    pages = ServedPages([STATE], ReportBackground(), lambda: True)
    with serving(LOOPBACK, pages, token_check(token_file), OPEN_PATHS) as address:
        yield address.port


def raw(port: int, request: bytes, wait_s: float = 5.0) -> bytes:
    """Send bytes, and return what the server sends until it closes the connection."""
    with socket.create_connection(("127.0.0.1", port), wait_s) as connection:
        answer = b""
        try:
            connection.sendall(request)
            while received := connection.recv(65_536):
                answer += received
        except ConnectionError:
            pass
        return answer


@pytest.mark.parametrize("path", PATHS)
def test_each_page_has_its_headers_and_head_has_no_body(port: int, path: str) -> None:
    page = get(port, path)
    assert page.status == 200
    assert page.text
    assert HEADERS.items() <= page.headers.items()
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    head = get(port, path, "HEAD")
    assert (head.status, head.text) == (200, "")
    assert head.headers["Content-Length"] == str(len(page.text.encode()))


def test_the_report_may_run_its_own_script_and_nothing_else(port: int) -> None:
    page = get(port, "/report")
    policy = page.headers["Content-Security-Policy"]
    (script,) = [part.strip() for part in policy.split(";") if part.strip().startswith("script-src")]
    assert script.startswith("script-src 'sha256-")
    assert script in page.text  # the same hash as in the page's own policy
    assert "'unsafe-inline'" not in script


def test_an_open_report_is_loaded_again_after_the_next_audit(port: int) -> None:
    assert get(port, "/report").headers["Refresh"] == "5"
    assert "Refresh" not in get(port, "/report.json").headers
    state = replace(STATE, next_audit=1_000.0, audit_seconds=20.5)
    assert [state.next_result_s(now) for now in (900.0, 1_010.0, 1_019.9, 2_000.0)] == [122, 12, 5, 5]


def test_metrics_are_valid_openmetrics_with_those_of_the_watch(port: int) -> None:
    page = get(port, "/metrics", Accept="application/openmetrics-text; version=1.0.0")
    assert page.headers["Content-Type"].startswith("application/openmetrics-text")
    parse: Any = text_string_to_metric_families
    families = {family.name: family for family in parse(page.text)}
    values = {name: families[f"topicwarden_watch_{name}"].samples[0].value for name in (
        "last_audit_timestamp_seconds", "last_success_timestamp_seconds", "failed_audits", "declarations_valid",
        "interval_seconds", "audit_seconds",
    )}  # fmt: skip
    assert list(values.values()) == [2_000, 2_000, 0, 0, 300, 1.5]
    assert all(sample.labels["stack"] == "dev" for name in values for sample in
               families[f"topicwarden_watch_{name}"].samples)  # fmt: skip
    assert "topicwarden_audit_findings" in families
    assert get(port, "/metrics").headers["Content-Type"].startswith("text/plain; version=0.0.4")


def test_before_the_first_audit_only_the_report_is_missing() -> None:
    pages = ServedPages([WatchState("dev", 300.0)], ReportBackground(), lambda: True)
    with serving(LOOPBACK, pages) as address:
        assert [get(address.port, path).status for path in PATHS] == [200, 503, 200, 503, 503, 503, 503]
        assert "topicwarden_watch_failed_audits" in get(address.port, "/metrics").text
        pages.publish(STATE)
        assert [get(address.port, path).status for path in PATHS] == [200] * 7
        pages.stop()
        pages.publish(STATE)  # by an audit that ends late
        assert get(address.port, "/readyz").status == 503


def test_the_first_page_is_the_report_or_says_when_it_comes(guarded: int) -> None:
    pages = ServedPages([WatchState("d<v", 300.0)], ReportBackground(), lambda: True)
    with serving(LOOPBACK, pages) as address:
        page = get(address.port, "/")
        assert (page.status, page.headers["Content-Type"]) == (503, "text/html; charset=utf-8")
        assert "<h1>Audit of stack <bdi>d&lt;v</bdi></h1>" in page.text
        assert "The report appears here after the first audit." in page.text
        assert "No audit has finished: the first one is running; this page reloads every 5 seconds." in page.text
        assert page.headers["Refresh"] == "5"
        pages.publish(WatchState("d<v", 300.0, failed_audits=1, failure="no <broker>", next_audit=60.0))
        page = get(address.port, "/")
        assert (page.status, page.text) == (503, get(address.port, "/report").text)
        assert "the last one failed (no &lt;broker&gt;); the next one starts at 1970-01-01T00:01:00Z" in page.text
        pages.publish(replace(STATE, stack="d<v"))
        assert get(address.port, "/").text == get(address.port, "/report").text
        assert 'id="attention"' in get(address.port, "/").text
    assert get(guarded, "/").status == 401
    assert (
        get(guarded, "/", Authorization=f"Bearer {TOKEN}").text
        == get(guarded, "/report", Authorization=f"Bearer {TOKEN}").text
    )


def test_a_loop_that_has_ended_is_unhealthy() -> None:
    with serving(LOOPBACK, ServedPages([STATE], ReportBackground(), lambda: False)) as address:
        assert get(address.port, "/healthz").status == 503


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW"])
def test_other_methods_are_refused(port: int, method: str) -> None:
    answer = raw(port, f"{method} /report HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nsome body".encode())
    assert answer.startswith(b"HTTP/1.1 405 ")
    assert b"\r\nAllow: GET, HEAD\r\n" in answer


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../etc/passwd",
        "/report/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/report.json/",
        "/..",
        "/report%00",
        "http://other.example/etc/passwd",
        "/\N{LATIN SMALL LETTER E WITH ACUTE}",
        "/[",
        "//[",
        "*",
    ],
)
def test_no_path_leads_to_a_file(port: int, path: str) -> None:
    answer = raw(port, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert answer.split(b" ")[1] in (b"404", b"400")
    assert b"root:" not in answer


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET /" + b"a" * MOST_REQUEST_BYTES + b" HTTP/1.1\r\n\r\n", b"431"),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * (2 * MOST_REQUEST_BYTES) + b"\r\n\r\n", b"431"),
        (b"POST / HTTP/1.1\r\nContent-Length: 16384\r\n\r\n", b"413"),
        (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 10_000 + b"\r\n", b"431"),
        (b"GET /none HTTP/9.9\r\n\r\n", b"404"),
        (b"GET / HTTP/1.1\r\nTransfer-Encoding: x\r\n\r\n", b"501"),
        (b"GET / HTTP/x\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a b c\r\n\r\n", b"400"),
        (b"GET\r\n\r\n", b"400"),
        (b"A <script>alert(1)</script> HTTP/1.1\r\n\r\n", b"405"),
        (b"GET /none HTTP/0.9\r\n\r\n", b"404"),
        (b"GET /report\r\n\r\n", b"200"),
    ],
)
def test_malformed_and_large_requests_get_an_answer_with_headers(
    port: int, request_bytes: bytes, status: bytes
) -> None:
    answer = raw(port, request_bytes)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.split(b" ")[1] == status, head
    assert b"X-Frame-Options: DENY" in head
    assert status == b"200" or (b"<script" not in body and len(body) < 100)


def test_a_slow_client_is_cut_off_and_others_are_served(quick: None, port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), 5) as slow:
        slow.sendall(b"GET /report HTTP/1.1\r\n")
        began, answer = time.monotonic(), b""
        slow.settimeout(0.1)
        while time.monotonic() - began < 5:
            try:
                slow.sendall(b"X: y\r\n")  # always in time for a limit on each read
                if not (received := slow.recv(4_096)):
                    break
                answer += received
            except TimeoutError:
                assert get(port, "/healthz").status == 200
            except OSError:
                break
        assert time.monotonic() - began < 3
    assert not answer or answer.startswith(b"HTTP/1.0 408 ")


def test_connections_are_bounded_and_free_again(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    request = b"GET /healthz HTTP/1.0\r\n\r\n"
    silent = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(MOST_CONNECTIONS - 1)]
    monkeypatch.setattr(http_server, "REQUEST_S", 3_600.0)
    try:
        assert raw(port, request).startswith(b"HTTP/1.0 200")
        silent.append(socket.create_connection(("127.0.0.1", port), 5))
        with pytest.raises(TimeoutError):
            raw(port, request, 0.5)
        monkeypatch.setattr(http_server, "REQUEST_S", 0.0)
        assert raw(port, b"", 30) == b""
        monkeypatch.setattr(http_server, "REQUEST_S", 5.0)
        assert raw(port, request, 30).startswith(b"HTTP/1.0 200")
    finally:
        for connection in silent:
            connection.close()


def test_a_client_that_does_not_read_its_answer_is_cut_off(quick: None) -> None:
    pages = ServedPages([WatchState("dev", 300.0, report=thousand())], ReportBackground(), lambda: True)
    with serving(LOOPBACK, pages) as address, socket.socket() as lazy:
        get(address.port, "/report.json")  # rendered
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        lazy.connect(("127.0.0.1", address.port))
        lazy.sendall(b"GET /report.json HTTP/1.0\r\n\r\n")
        time.sleep(2.5)
        lazy.settimeout(5)
        received = b""
        try:
            while part := lazy.recv(65_536):
                received += part
        except ConnectionError:
            pass
        assert len(received) < len(get(address.port, "/report.json").text)
        assert received.count(b"HTTP/1.0 ") == 1  # no second answer


def test_a_web_page_cannot_read_the_report_through_a_name_of_its_own(port: int) -> None:
    for host in (
        "evil.example",
        "evil.example:9464",
        "127.0.0.1.evil.example",
        "localhost.evil",
        "10.0.0.1",
        "",
        "[::",
    ):
        assert get(port, "/report.json", Host=host).status == 421, host
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:9464", "[::1]:9464", "127.8.8.8"):
        assert get(port, "/report.json", Host=host).status == 200, host


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Basic {TOKEN}",
        TOKEN,
        f"Bearer x {TOKEN}",
        "Bearer \xff\xfe",
    ],
)
def test_a_wrong_token_shows_nothing_but_health(guarded: int, header: str) -> None:
    for path in (*PATHS[2:], "/", "/other"):
        page = get(guarded, path, Authorization=header)
        assert page.status == 401
        assert page.headers["Www-Authenticate"].startswith("Bearer")
        assert len(page.text) < 100
    assert get(guarded, "/healthz", Authorization=header).status == 200
    ready = get(guarded, "/readyz", Authorization=header)
    assert (ready.status, ready.text) == (200, "ready\n")


def test_the_token_opens_all_pages_under_any_host(guarded: int) -> None:
    for path in PATHS:
        page = get(guarded, path, Authorization=f"bearer {TOKEN}", Host="audits.example")
        assert page.status == 200
        assert TOKEN not in page.text + str(page.headers)
    assert "topics/a.yaml:1:1" in get(guarded, "/readyz", Authorization=f"Bearer {TOKEN}").text


def test_a_rotated_token_counts_at_once_and_a_missing_file_opens_nothing(guarded: int, token_file: Path) -> None:
    token_file.write_text("another-token-of-this-test", encoding="utf-8")
    assert get(guarded, "/metrics", Authorization=f"Bearer {TOKEN}").status == 401
    assert get(guarded, "/metrics", Authorization="Bearer another-token-of-this-test").status == 200
    token_file.write_text("", encoding="utf-8")
    assert get(guarded, "/metrics", Authorization="Bearer ").status == 401
    token_file.unlink()
    assert get(guarded, "/metrics", Authorization="Bearer another-token-of-this-test").status == 401


@pytest.mark.parametrize("content", ["", "short", "two words of a token", "\N{EURO SIGN}" * 20, "x" * 5_000])
def test_an_unusable_token_file_is_refused_without_its_content(tmp_path: Path, content: str) -> None:
    file = tmp_path / "token"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(Refusal, match="--token-file") as refused:
        token_check(file)
    assert not content or content not in str(refused.value)


def test_nothing_is_logged(port: int, capfd: pytest.CaptureFixture[str]) -> None:
    raw(port, f"GET /?token={TOKEN}\x1b[31m HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
    raw(port, b"nonsense\r\n\r\n")
    assert capfd.readouterr() == ("", "")


def test_hostile_names_in_a_report_are_text(port: int) -> None:
    for path in PATHS:
        assert forbidden(get(port, path).text) == set(), path


def test_a_port_in_use_is_refused(port: int) -> None:
    with (
        pytest.raises(Refusal, match=r"cannot listen on 127\.0\.0\.1"),
        serving(ListenAddress("127.0.0.1", port), lambda request: None),
    ):
        pass


def test_an_error_in_a_page_shows_no_detail() -> None:
    def broken(_: object) -> None:
        raise ValueError("detail of the error")

    with serving(LOOPBACK, broken) as address:
        page = get(address.port, "/report")
        assert page.status == 500
        assert "detail" not in page.text


def test_ipv6_is_served() -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6")
    try:
        with serving(listen_address("[::1]:0", with_token=False), lambda request: None) as address:
            connection = http.client.HTTPConnection("::1", address.port, timeout=5)
            connection.request("GET", "/")
            assert connection.getresponse().status == 404
            connection.close()
    except Refusal as refusal:
        pytest.skip(str(refusal))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("127.0.0.1:9464", "127.0.0.1:9464"), ("localhost:0", "127.0.0.1:0"), ("[::1]:80", "[::1]:80")],
)
def test_loopback_addresses_need_no_token(text: str, expected: str) -> None:
    assert str(listen_address(text, with_token=False)) == expected


@pytest.mark.parametrize("text", ["0.0.0.0:9464", "[::]:9464", "10.1.2.3:80", "[fe80::1]:80"])
def test_other_addresses_need_a_token(text: str) -> None:
    with pytest.raises(Refusal, match="--token-file"):
        listen_address(text, with_token=False)
    assert str(listen_address(text, with_token=True)) == text


@pytest.mark.parametrize(
    "text", ["", "9464", ":9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "a.example:80", "::1:80", "1.2.3.4:x"]
)
def test_a_text_that_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(Refusal, match="expected an IP address and a port"):
        listen_address(text, with_token=True)
