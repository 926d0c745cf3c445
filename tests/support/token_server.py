"""A stand-in for an OAuth 2 server: it gives signed tokens (RS256) to one client, and shows its public key."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote_plus

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

LIFETIME_S = 12
_FAILING = {"/failing": 503, "/missing": 404}


@dataclass
class TokenServer:
    """The URL of the server, the client that it knows, and how many tokens it gave."""

    url: str
    client: str
    secret: str
    given: int = 0
    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048), repr=False)

    @property
    def token_url(self) -> str:
        return f"{self.url}/token"

    @property
    def other_url(self) -> str:
        """The endpoint of tokens with an empty scope, which brokers refuse."""
        return f"{self.url}/other"

    @property
    def keys_url(self) -> str:
        return f"{self.url}/keys"

    def keys(self) -> dict[str, object]:
        public = self.key.public_key().public_numbers()
        numbers = {"n": _encoded(public.n.to_bytes(256, "big")), "e": _encoded(public.e.to_bytes(3, "big"))}
        return {"keys": [{"kty": "RSA", "kid": "1", "use": "sig", "alg": "RS256", **numbers}]}

    def token(self, scope: str) -> dict[str, object]:
        now = int(time.time())
        claims = {"sub": self.client, "iat": now, "exp": now + LIFETIME_S, "scope": scope}
        signed = f"{_json({'alg': 'RS256', 'kid': '1'})}.{_json(claims)}"
        self.given += 1
        signature = _encoded(self.key.sign(signed.encode(), PKCS1v15(), SHA256()))
        return {"access_token": f"{signed}.{signature}", "expires_in": LIFETIME_S, "token_type": "Bearer"}


@contextmanager
def token_server(client: str, secret: str) -> Iterator[TokenServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(200, served.keys())

        def do_POST(self) -> None:
            if self.path in _FAILING:
                self.answer(_FAILING[self.path], {})
                return
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            known = {_basic(client, secret), _basic(quote_plus(client), quote_plus(secret))}
            if self.headers.get("Authorization") in known and form["grant_type"] == ["client_credentials"]:
                scope = "" if self.path == "/other" else form.get("scope", ["any"])[0]
                self.answer(200, served.token(scope))
            else:
                self.answer(401, {"error": "invalid_client"})

        def answer(self, status: int, body: dict[str, object]) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        served = TokenServer(f"http://127.0.0.1:{server.server_address[1]}", client, secret)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield served
        server.shutdown()


def _basic(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _json(value: dict[str, object]) -> str:
    return _encoded(json.dumps(value).encode())
