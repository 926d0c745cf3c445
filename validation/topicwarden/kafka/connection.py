"""Connection settings of a stack's cluster: ``kafka:`` in ``Pulumi.<stack>.yaml``, translated for every client.

The names are those of the ``pulumi-kafka`` provider, so deploy, plan and audit always use the same cluster.
``topicwarden:cluster: sandbox`` selects the sandbox of this project.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from topicwarden import child_processes
from topicwarden.kafka.aws_tokens import LIFETIME_S, token, token_series
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.specs.aws_settings import AwsSettings
from topicwarden.specs.certificate_settings import Certificates
from topicwarden.specs.connection_settings import NAMES, OAUTHBEARER, SERVERS, read_connection_settings
from topicwarden.specs.services import by_hosts
from topicwarden.specs.services.profile import ServiceProfile
from topicwarden.specs.stack_settings import CLUSTER, MOVED_TO, PROFILE, SANDBOX, TWO_CLUSTERS, named_profile

ADDRESS_FILE = "bootstrap-servers"
"""File in the sandbox's folder with the addresses of its brokers."""

SETTINGS = (CLUSTER, MOVED_TO, PROFILE, *NAMES)
"""Settings that are read from ``Pulumi.<stack>.yaml``."""

_SECURITY = "org.apache.kafka.common.security"
_UNVERIFIED = "io.topicwarden.reader.source.TrustingSslEngineFactory"
"""The class of the Spark reader that accepts any certificate; Kafka has no setting for it."""

_SIGNED = "io.topicwarden.reader.source.SignedTokens"
"""The class of the Spark reader that gives Kafka's login the tokens that this process has signed."""

NO_PULUMI = (
    "pulumi is not on the PATH: `topicwarden sandbox install` installs it, and "
    '`eval "$(topicwarden sandbox env)"` puts it there; https://www.pulumi.com/docs/install has other ways'
)
SANDBOX_PASSPHRASE = "sandbox"
"""Passphrase of the sandbox's stacks. It is public, so no other stack may be encrypted with it."""


@dataclass(frozen=True)
class Connection:
    """Address and credentials of a cluster. ``repr`` shows no secret.

    ``ca_cert``, ``client_cert`` and ``client_key`` are PEM text; the key is PKCS #8 and not encrypted. ``sandbox`` is
    true for the local sandbox, whose data is disposable. ``moved_to`` is Kafka's id of the cluster that the stack moved
    to, according to its settings. ``profile`` is the service that the settings name, or whose host names they have;
    None if only the cluster can tell. ``aws`` is the identity that signs tokens for Amazon MSK.
    """

    bootstrap_servers: tuple[str, ...]
    tls: bool = True
    verify_tls: bool = True
    ca_cert: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    sasl_mechanism: str | None = None
    username: str | None = None
    password: str | None = None
    token_url: str | None = None
    scopes: tuple[str, ...] = ()
    aws: AwsSettings | None = None
    sandbox: bool = False
    moved_to: str | None = None
    profile: ServiceProfile | None = None

    def __repr__(self) -> str:
        return f"Connection({','.join(self.bootstrap_servers)}, {self.security_protocol})"

    @property
    def source(self) -> str:
        """The setting of ``Pulumi.<stack>.yaml`` that selects the cluster."""
        return "topicwarden:cluster: sandbox" if self.sandbox else "kafka:bootstrapServers"

    @property
    def security_protocol(self) -> str:
        """Kafka's ``security.protocol``."""
        return ("SASL_" if self.sasl_mechanism else "") + ("SSL" if self.tls else "PLAINTEXT")

    def for_java(self) -> dict[str, str]:
        """Return the settings for Kafka's Java clients. Spark's source takes them with the prefix ``kafka.``."""
        settings = {"bootstrap.servers": ",".join(self.bootstrap_servers), "security.protocol": self.security_protocol}
        if self.tls and not self.verify_tls:
            settings |= {"ssl.endpoint.identification.algorithm": "", "ssl.engine.factory.class": _UNVERIFIED}
        certificates = Certificates(self.ca_cert, self.client_cert, self.client_key)
        return settings | certificates_for_java(certificates) | self._sasl_for_java()

    def _sasl_for_java(self) -> dict[str, str]:
        if self.sasl_mechanism is None:
            return {}
        if self.aws:
            user, module = f"tokens={_jaas(token_series(self.aws))}", f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule"
            settings = {"sasl.login.callback.handler.class": _SIGNED}
        elif self.sasl_mechanism == OAUTHBEARER:
            scope = f" scope={_jaas(' '.join(self.scopes))}" if self.scopes else ""
            user = f"clientId={_jaas(self.username)} clientSecret={_jaas(self.password)}{scope}"
            login = f"{_SECURITY}.oauthbearer.OAuthBearerLogin"
            settings = {
                "sasl.login.callback.handler.class": f"{login}CallbackHandler",
                "sasl.oauthbearer.token.endpoint.url": self.token_url or "",
            }
            module = f"{login}Module"
        else:
            user, settings = f"username={_jaas(self.username)} password={_jaas(self.password)}", {}
            name = "plain.Plain" if self.sasl_mechanism == "PLAIN" else "scram.Scram"
            module = f"{_SECURITY}.{name}LoginModule"
        jaas = f"{module} required {user};"
        return settings | {"sasl.mechanism": self.sasl_mechanism, "sasl.jaas.config": jaas}

    def for_librdkafka(self) -> dict[str, Any]:
        """Return the settings for librdkafka's clients."""
        settings: dict[str, Any] = {
            "bootstrap.servers": ",".join(self.bootstrap_servers),
            "security.protocol": self.security_protocol,
        }
        if self.ca_cert:
            settings["ssl.ca.pem"] = self.ca_cert
        if self.tls and not self.verify_tls:
            settings["enable.ssl.certificate.verification"] = "false"
        if self.client_cert and self.client_key:
            settings |= {"ssl.certificate.pem": self.client_cert, "ssl.key.pem": self.client_key}
        if aws := self.aws:
            settings |= {
                "sasl.mechanism": self.sasl_mechanism,
                "oauth_cb": lambda _: (token(aws), time.time() + LIFETIME_S),
            }
        elif self.sasl_mechanism == OAUTHBEARER:
            settings |= {
                "sasl.mechanism": self.sasl_mechanism,
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.token.endpoint.url": self.token_url or "",
                "sasl.oauthbearer.client.id": self.username or "",
                "sasl.oauthbearer.client.secret": self.password or "",
                **({"sasl.oauthbearer.scope": " ".join(self.scopes)} if self.scopes else {}),
            }
        elif self.sasl_mechanism:
            settings |= {
                "sasl.mechanism": self.sasl_mechanism,
                "sasl.username": self.username or "",
                "sasl.password": self.password or "",
            }
        return settings


def connect_to(project: Project, stack: str) -> Connection:
    """Return the connection of ``stack``; refuse an unknown stack and settings without a usable address."""
    return connection_from(project, settings_file(stack), stack_settings(project, stack))


def settings_file(stack: str) -> str:
    """Return the path of the stack's settings file as messages show it."""
    return f"stacks/Pulumi.{stack}.yaml"


def connection_from(project: Project, origin: str, settings: Mapping[str, Any]) -> Connection:
    """Return the connection in ``settings`` (named as in ``Pulumi.<stack>.yaml``, secrets decrypted).

    ``origin`` says in messages where the settings come from.
    """
    moved_to = settings.get(MOVED_TO)
    profile = _named_profile(origin, settings)
    if settings.get(CLUSTER) == SANDBOX:
        if settings.get(SERVERS) is not None:
            raise Refusal(f"{origin}: {CLUSTER}: {TWO_CLUSTERS}")
        return Connection(sandbox_servers(project), tls=False, sandbox=True, moved_to=moved_to, profile=profile)
    read, problems = read_connection_settings(settings, project.root)
    if problems:
        raise Refusal("\n".join(f"{origin}: {problem.name}: {problem.message}" for problem in problems))
    if not read.servers:
        raise Refusal(
            f"{origin} names no cluster: set kafka:bootstrapServers, "
            "or topicwarden:cluster: sandbox for the cluster of this machine"
        )
    return Connection(
        bootstrap_servers=read.servers,
        tls=read.tls,
        verify_tls=read.verify_tls,
        ca_cert=read.certificates.ca_cert,
        client_cert=read.certificates.client_cert,
        client_key=read.certificates.client_key,
        sasl_mechanism=read.mechanism,
        username=read.username,
        password=read.password,
        token_url=read.token_url,
        scopes=read.scopes,
        aws=read.aws,
        moved_to=moved_to,
        profile=profile or by_hosts(read.servers),
    )


def _named_profile(origin: str, settings: Mapping[str, Any]) -> ServiceProfile | None:
    if settings.get(PROFILE) is None:
        return None
    try:
        return named_profile(settings[PROFILE])
    except ValueError as error:
        raise Refusal(f"{origin}: {PROFILE}: {error}") from error


def certificates_for_java(certificates: Certificates) -> dict[str, str]:
    """Return the settings of Kafka's Java clients for ``certificates`` (KIP-651)."""
    settings: dict[str, str] = {}
    if certificates.ca_cert:
        settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": certificates.ca_cert}
    if certificates.client_cert and certificates.client_key:
        settings |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": certificates.client_cert,
            "ssl.keystore.key": certificates.client_key,
        }
    return settings


def _jaas(text: str | None) -> str:
    """Quote ``text`` for JAAS: Java's ``StreamTokenizer`` ends a quoted text at a line break and has no \\u escapes."""
    escaped = (text or "").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def on_sandbox(project: Project, stack: str) -> bool:
    """Return whether ``stack`` uses the sandbox. Decrypts nothing; False if the settings cannot be read."""
    try:
        return _written(project, stack).get(CLUSTER) == SANDBOX
    except Refusal:
        return False


def refuse_sandbox_passphrase(project: Project, stack: str) -> None:
    """Refuse a stack on another cluster if the shell has the sandbox's public passphrase."""
    if os.environ.get("PULUMI_CONFIG_PASSPHRASE") == SANDBOX_PASSPHRASE and not on_sandbox(project, stack):
        raise Refusal(
            f"PULUMI_CONFIG_PASSPHRASE is the public passphrase of the sandbox, and stack {stack} is not on the "
            "sandbox: set a passphrase of your own; "
            f"`pulumi stack change-secrets-provider passphrase --stack {stack}` encrypts existing secrets again"
        )


def sandbox_servers(project: Project) -> tuple[str, ...]:
    """Return the addresses of the sandbox of ``project``; refuse if the sandbox does not run."""
    address = project.cache / "sandbox" / ADDRESS_FILE
    if not address.is_file():
        raise Refusal("the sandbox is not running: start it with `topicwarden sandbox up`")
    return tuple(address.read_text().split())


def stack_settings(project: Project, stack: str) -> Mapping[str, Any]:
    """Return the settings in ``Pulumi.<stack>.yaml``; encrypted values are decrypted by ``pulumi``."""
    items = _written(project, stack)
    return {**items, **_decrypted(project, stack)} if any(map(_encrypted, items.values())) else items


def _written(project: Project, stack: str) -> Mapping[str, Any]:
    path = project.stacks / f"Pulumi.{stack}.yaml"
    if not path.is_file():
        known = ", ".join(project.stack_names()) or "none"
        raise Refusal(f"there is no stack {stack!r}: stacks/Pulumi.{stack}.yaml does not exist (stacks: {known})")
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise Refusal(f"{settings_file(stack)} cannot be read as stack settings: {_first_line(error)}") from error
    settings = document.get("config") or {} if isinstance(document, dict) else document
    if not isinstance(settings, dict):
        raise Refusal(f"{settings_file(stack)} cannot be read as stack settings: expected a mapping `config:`")
    return settings


def _encrypted(value: object) -> bool:
    """Return whether ``value`` is encrypted by Pulumi, or contains an encrypted value."""
    return isinstance(value, dict) and ("secure" in value or any(map(_encrypted, value.values())))


def _decrypted(project: Project, stack: str) -> Mapping[str, Any]:
    pulumi = shutil.which("pulumi")
    if pulumi is None:
        raise Refusal(f"stack {stack!r} has encrypted settings, and {NO_PULUMI}")
    command = [pulumi, "config", "--show-secrets", "--json", "--stack", stack, "--non-interactive"]
    answer = child_processes.run(command, project.root, os.environ)
    if answer.returncode:
        raise Refusal(f"pulumi could not decrypt the settings of stack {stack!r}: {_first_line(answer.stderr)}")
    return {name: entry.get("objectValue", entry.get("value")) for name, entry in json.loads(answer.stdout).items()}


def _first_line(error: object) -> str:
    return str(error).strip().partition("\n")[0]
