"""Run a real broker whose listeners differ in TLS and SASL, each with certificates of a CA of its own."""

from __future__ import annotations

import base64
import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote_plus

import pytest
import trustme
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from tests.support.iam import token_check
from tests.support.sandboxes import running
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.ports import CONTROLLER_PORT_OFFSET, is_free
from topicwarden.kafka.connect.clients import open_admin
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.write.access_admin import Credential, Password, write_credentials
from topicwarden.specs.stacks.key_material import private_key

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


HOST, USER, PASSWORD = "127.0.0.1", "alice", 'al"ice\\'
LISTENERS = {
    "PLAINTEXT": "PLAINTEXT",
    "TLS": "SSL",
    "MUTUAL": "SSL",
    "EXPIRED": "SSL",
    "OTHERNAME": "SSL",
    "SASL": "SASL_PLAINTEXT",
    "SASLTLS": "SASL_SSL",
    "OAUTH": "SASL_PLAINTEXT",
    "IAM": "SASL_SSL",
    "FARAWAY": "PLAINTEXT",
}
"""The security protocol of each listener. ``FARAWAY`` advertises a port where nothing listens."""
_MECHANISMS = {"plain": "plain", "scram-sha-256": "scram", "scram-sha-512": "scram"}
_MODULES = "org.apache.kafka.common.security"


@dataclass(frozen=True)
class SecuredBroker:
    """The addresses of the listeners by name, the CA of their certificates and of the clients', and an OAuth server."""

    addresses: dict[str, str]
    ca: trustme.CA = field(repr=False)
    tokens: TokenServer = field(repr=False)

    @property
    def controller(self) -> str:
        """The address of the KRaft controller's listener."""
        host, _, port = self.addresses["PLAINTEXT"].rpartition(":")
        return f"{host}:{int(port) + CONTROLLER_PORT_OFFSET}"

    @property
    def ca_pem(self) -> str:
        return self.ca.cert_pem.bytes().decode()

    def client_pem(self) -> tuple[str, str]:
        """Return a client certificate that the broker trusts, and its key."""
        return pem(self.ca.issue_cert("client.example.com"))


def pem(issued: trustme.LeafCert) -> tuple[str, str]:
    """Return the chain and the key."""
    chain = "".join(blob.bytes().decode() for blob in issued.cert_chain_pems)
    return chain, issued.private_key_pem.bytes().decode()


def encrypted_key(key: str, passphrase: str, form: PrivateFormat = PrivateFormat.PKCS8) -> str:
    """Return ``key`` in PEM, encrypted."""
    loaded = load_pem_private_key(key.encode(), None)
    return loaded.private_bytes(Encoding.PEM, form, BestAvailableEncryption(passphrase.encode())).decode()


@contextmanager
def secured_broker(sandbox: Sandbox) -> Iterator[SecuredBroker]:
    """Run one broker with ``LISTENERS``, and the user alice for every SASL mechanism.

    The jars of ``sandbox`` are those of ``iam.jars_with_check``.
    """
    ca, ports = trustme.CA(), _ports()
    with token_server(USER, PASSWORD) as tokens, token_check() as check, pytest.MonkeyPatch.context() as patch:
        # Brokers, too, refuse every URL that this property does not list.
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={tokens.keys_url}"
        patch.setenv("JAVA_TOOL_OPTIONS", f"{allowed} -Dtoken.check={check}")
        properties = _properties(ca, ports) | _oauth(tokens) | _iam()
        with running(sandbox, 1, properties, port=ports["PLAINTEXT"]):
            with open_admin(Connection((f"{HOST}:{ports['PLAINTEXT']}",), tls=False)) as admin:
                for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
                    assert not write_credentials(admin, {Credential(USER, mechanism): Password(PASSWORD, 4096)})
            patch.undo()
            yield SecuredBroker({name: f"{HOST}:{port}" for name, port in ports.items()}, ca, tokens)


def _oauth(tokens: TokenServer) -> dict[str, str]:
    """Return the properties of the listener for tokens, whose connections end with their token (KIP-368)."""
    oauth = "listener.name.oauth.oauthbearer"
    return {
        "listener.name.oauth.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{oauth}.sasl.jaas.config": f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required;",
        f"{oauth}.sasl.server.callback.handler.class": f"{_MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler",
        f"{oauth}.connections.max.reauth.ms": "60000",
        f"{oauth}.sasl.oauthbearer.jwks.endpoint.url": tokens.keys_url,
    }


def _iam() -> dict[str, str]:
    """Return the properties of the listener that replaces Amazon MSK's."""
    iam = "listener.name.iam.oauthbearer"
    return {
        "listener.name.iam.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{iam}.sasl.jaas.config": f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required;",
        f"{iam}.sasl.server.callback.handler.class": "TokenCheck",
        f"{iam}.connections.max.reauth.ms": "60000",
    }


def _ports() -> dict[str, int]:
    while True:
        first = random.randrange(22_000, 30_000)
        ports = {name: first + number for number, name in enumerate(LISTENERS)}
        if all(map(is_free, (*ports.values(), first + CONTROLLER_PORT_OFFSET, first + len(ports)))):
            return ports


def _properties(ca: trustme.CA, ports: dict[str, int]) -> dict[str, str]:
    controller = ports["PLAINTEXT"] + CONTROLLER_PORT_OFFSET
    listeners = [f"{name}://{HOST}:{port}" for name, port in ports.items()]
    nobody = f"FARAWAY://{HOST}:{max(ports.values()) + 1}"
    today = datetime.now(UTC)
    certificates = {
        "tls": ca.issue_cert(HOST, "localhost"),
        "mutual": ca.issue_cert(HOST),
        "sasltls": ca.issue_cert(HOST),
        "iam": ca.issue_cert(HOST),
        "expired": ca.issue_cert(HOST, not_before=today - timedelta(days=9), not_after=today - timedelta(days=1)),
        "othername": ca.issue_cert("kafka.example.com"),
    }
    properties = {
        "listeners": ",".join([*listeners, f"CONTROLLER://{HOST}:{controller}"]),
        "advertised.listeners": ",".join([*(each for each in listeners if "FARAWAY" not in each), nobody]),
        "listener.security.protocol.map": ",".join(
            [*(f"{name}:{protocol}" for name, protocol in LISTENERS.items()), "CONTROLLER:PLAINTEXT"]
        ),
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.mutual.ssl.truststore.type": "PEM",
        "listener.name.mutual.ssl.truststore.certificates": ca.cert_pem.bytes().decode(),
    }
    for name, issued in certificates.items():
        chain, key = pem(issued)
        properties |= {
            f"listener.name.{name}.ssl.keystore.type": "PEM",
            f"listener.name.{name}.ssl.keystore.certificate.chain": chain,
            f"listener.name.{name}.ssl.keystore.key": private_key(key, None),
        }
    for name in ("sasl", "sasltls"):
        for mechanism, package in _MECHANISMS.items():
            module = f"{_MODULES}.{package}.{package.capitalize()}LoginModule required"
            users = f" user_{USER}={_quoted(PASSWORD)}" if mechanism == "plain" else ""
            properties[f"listener.name.{name}.{mechanism}.sasl.jaas.config"] = f"{module}{users};"
    return properties


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
