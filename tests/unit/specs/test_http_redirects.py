"""Test which redirects get the credentials of a request."""

from __future__ import annotations

import io
from http.client import HTTPMessage
from urllib.request import Request

import pytest

from topicwarden.specs.stacks.http_redirects import RedirectsWithoutCredentials


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://repo.example.com/other", True),
        ("https://repo.example.com:443/other", True),
        ("https://REPO.example.com/other", True),
        ("https://cdn.example.com/jar", False),
        ("https://repo.example.com:8443/jar", False),
        ("http://repo.example.com/jar", False),
        ("https://repo.example.com.evil.example/jar", False),
        ("https://repo.example.com@evil.example/jar", False),
    ],
)
def test_only_the_same_server_gets_the_credentials(url: str, kept: bool) -> None:
    headers = {"Authorization": "Basic eDp5", "Proxy-authorization": "Basic eDp5", "User-Agent": "topicwarden"}
    request = Request("https://repo.example.com/jar", headers=headers)
    redirected = RedirectsWithoutCredentials().redirect_request(request, io.BytesIO(), 302, "", HTTPMessage(), url)
    assert redirected is not None
    assert redirected.has_header("User-agent")
    assert [redirected.has_header(name) for name in ("Authorization", "Proxy-authorization")] == [kept, kept]
