"""The address and the credentials of a cluster, and the settings for each client.

``clients`` translates them for kafka-python.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from functools import cache

from topicwarden.kafka.connect.aws_tokens import token_series
from topicwarden.kafka.connect.remedy_settings import STACK_FILE, RemedySettings
from topicwarden.kafka_facts.services.profile import ServiceProfile
from topicwarden.specs.stacks.certificate_settings import Certificates
from topicwarden.specs.stacks.client_tls import client_context
from topicwarden.specs.stacks.connection_settings import OAUTHBEARER, AwsSettings

_SECURITY = "org.apache.kafka.common.security"
_UNVERIFIED = "io.topicwarden.reader.source.TrustingSslEngineFactory"
"""The class of the Spark reader that accepts any certificate; Kafka has no setting for it."""

_SIGNED = "io.topicwarden.reader.source.SignedTokens"
"""The class of the Spark reader that gives Kafka's login the tokens that this process has signed."""


@dataclass(frozen=True)
class Connection:
    """Address and credentials of a cluster. ``repr`` shows no secret.

    ``ca_cert``, ``client_cert`` and ``client_key`` are PEM text; the key is PKCS #8 and not encrypted. ``sandbox`` is
    true for the local sandbox, whose data is disposable. ``moved_to`` is Kafka's id of the cluster that the stack moved
    to, according to its settings. ``profile`` is the service that the settings name, or whose host names they have;
    None if only the cluster can tell. ``aws`` is the identity that signs tokens for Amazon MSK.
    ``verify_hosts``: the host names of brokers must be those of their certificates. ``origin`` is the setting, or the
    option, that selects the cluster, and ``names`` calls the settings as the user's file does. ``cluster_id`` is
    Kafka's id of the cluster that must answer; None if any may.
    """

    bootstrap_servers: tuple[str, ...]
    tls: bool = True
    verify_tls: bool = True
    verify_hosts: bool = True
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
    profile: ServiceProfile | None = field(default=None, hash=False)  # has mappings
    origin: str = STACK_FILE.servers
    names: RemedySettings = STACK_FILE
    cluster_id: str | None = None

    def __repr__(self) -> str:
        return f"Connection({','.join(self.bootstrap_servers)}, {self.security_protocol})"

    @property
    def source(self) -> str:
        """The setting of ``Pulumi.<stack>.yaml``, or the option, that selects the cluster."""
        return "topicwarden:cluster: sandbox" if self.sandbox else self.origin

    @property
    def principal(self) -> str | None:
        """The principal that brokers see, unless they map names; None if it is not the name of a user."""
        named = self.sasl_mechanism is not None and self.sasl_mechanism != OAUTHBEARER and not self.aws
        return f"User:{self.username}" if named and self.username else None

    @property
    def security_protocol(self) -> str:
        """Kafka's ``security.protocol``."""
        return ("SASL_" if self.sasl_mechanism else "") + ("SSL" if self.tls else "PLAINTEXT")

    def for_java(self) -> dict[str, str]:
        """Return the settings for Kafka's Java clients. Spark's source takes them with the prefix ``kafka.``."""
        settings = {
            "bootstrap.servers": ",".join(self.bootstrap_servers),
            "security.protocol": self.security_protocol,
            "allow.auto.create.topics": "false",  # else an audit creates a topic again that is deleted meanwhile
        }
        if self.tls and not self.verify_tls:
            settings |= {"ssl.endpoint.identification.algorithm": "", "ssl.engine.factory.class": _UNVERIFIED}
        elif self.tls and not self.verify_hosts:
            settings["ssl.endpoint.identification.algorithm"] = ""
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


@cache
def tls_context(connection: Connection) -> ssl.SSLContext:
    """Return the context for a connection with TLS. Raises ValueError as ``client_context`` does."""
    certificates = Certificates(connection.ca_cert, connection.client_cert, connection.client_key)
    return client_context(certificates, verify=connection.verify_tls, verify_hosts=connection.verify_hosts)
