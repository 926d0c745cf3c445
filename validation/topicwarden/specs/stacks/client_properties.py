"""``client.properties``, the file that Kafka's own tools take as ``--command-config``, as ``kafka:`` settings.

Source of names and defaults: Kafka's classes ``SslConfigs``, ``SaslConfigs`` and ``CommonClientConfigs``.
Settings that choose how to connect are obeyed, or refused by name; all others have no effect on reading.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from topicwarden.model.files import read_regular_file
from topicwarden.model.message_text import quoted
from topicwarden.model.problem import Refusal
from topicwarden.specs.stacks.connection_settings import SERVERS, address_problem, token_url_problem
from topicwarden.specs.stacks.jaas import JaasEntry, read_jaas

_PROTOCOL, _MECHANISM, _JAAS = "security.protocol", "sasl.mechanism", "sasl.jaas.config"
_HOST_NAMES = "ssl.endpoint.identification.algorithm"
_CALLBACK, _IAM_CALLBACK = "sasl.login.callback.handler.class", "sasl.client.callback.handler.class"
_TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"
_CLIENT_ID = "sasl.oauthbearer.client.credentials.client.id"
_CLIENT_SECRET = "sasl.oauthbearer.client.credentials.client.secret"
_SCOPE = "sasl.oauthbearer.scope"
_REGISTRY: Final = "schema.registry."
_BASIC_SOURCE, _BASIC_USER, _BEARER = "basic.auth.credentials.source", "basic.auth.user.info", "bearer.auth.token"
_REGISTRY_AUTH: Final = (_BASIC_SOURCE, _BASIC_USER, _BEARER, "bearer.auth.credentials.source")

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_OURS: Final = {
    "PLAIN": "plain",
    "SCRAM-SHA-256": "scram-sha256",
    "SCRAM-SHA-512": "scram-sha512",
    "OAUTHBEARER": "oauthbearer",
    "AWS_MSK_IAM": "aws-iam",
}
_MODULES: Final = {
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
    "OAUTHBEARER": "OAuthBearerLoginModule",
    "AWS_MSK_IAM": "IAMLoginModule",
}
_OPTIONS: Final = {
    "PlainLoginModule": {"username", "password"},
    "ScramLoginModule": {"username", "password"},
    "OAuthBearerLoginModule": {"clientId", "clientSecret", "scope"},
    "IAMLoginModule": {"awsProfileName", "awsRoleArn", "awsStsRegion", "awsRoleExternalId", "awsDebugCreds"},
}
_CONNECTION: Final = ("ssl.", "sasl.", "security.", "config.providers", _REGISTRY, "basic.auth.", "bearer.auth.")
"""How the names of settings begin that choose how to connect."""
_WITHOUT_EFFECT: Final = re.compile(
    r"sasl\.(kerberos|login\.(refresh|connect|read|retry))\..*|ssl\.(key|trust)manager\.algorithm|ssl\.protocol"
    r"|sasl\.oauthbearer\.(clock|jwks)\..*|ssl\.secure\.random\.implementation"
)
_TLS_VERSIONS: Final = {"TLSv1.2", "TLSv1.3"}
_MSK_HOST: Final = re.compile(r"\.(?:kafka|kafka-serverless)\.([a-z]{2}(?:-[a-z]+)+-[0-9]+)\.amazonaws\.com", re.I)
_PEM_START: Final = "-----BEGIN "
_UTF8_MARK: Final = "\xef\xbb\xbf"


@dataclass(frozen=True)
class ClientProperties:
    """The settings of one cluster, named as in ``Pulumi.<stack>.yaml``; ``repr`` shows none of them.

    ``verify_hosts``: whether the host names of brokers must be those of their certificates. ``registry`` is the value
    of ``topicwarden:schemaRegistry``, None if the file names none.
    """

    settings: Mapping[str, Any] = field(repr=False)
    verify_hosts: bool = True
    registry: Mapping[str, Any] | None = field(default=None, repr=False)


def read_client_properties(servers: str, file: Path | None) -> ClientProperties:
    """Return the connection to ``servers`` (``host:port,…``) with the settings in ``file``, by default without any.

    Raises Refusal with every setting that is wrong, or that cannot be obeyed, and its line.
    """
    addresses: dict[str, Any] = {SERVERS: [each.strip() for each in servers.split(",") if each.strip()]}
    for address in addresses[SERVERS] or [servers]:
        if problem := address_problem(address):
            raise Refusal(f"--bootstrap-server: {problem}")
    if file is None:
        return ClientProperties({**addresses, "kafka:tlsEnabled": False})
    reader = _Reader(_PropertiesFile.read(file), addresses[SERVERS])
    read = reader.read()
    if reader.problems:
        raise Refusal("\n".join(f"{file}:{line}: {message}" for line, message in sorted(reader.problems)))
    return ClientProperties({**addresses, **read.settings}, read.verify_hosts, read.registry)


@dataclass(frozen=True)
class _PropertiesFile:
    """The settings of a file, the folder that relative paths start from, and the line of each setting."""

    values: Mapping[str, str]
    lines: Mapping[str, int]

    @classmethod
    def read(cls, file: Path) -> _PropertiesFile:
        """Read ``file`` as Java does: ISO 8859-1 with escapes, and the last of two values. Raises Refusal."""
        import javaproperties  # noqa: PLC0415 -- few commands need it

        try:
            text = read_regular_file(file).decode("iso-8859-1")
        except OSError as error:
            raise Refusal(f"{file} cannot be read: {error.strerror}") from error
        if "\0" in text or text.startswith(_UTF8_MARK):  # Java would ignore the settings, and connect without TLS
            raise Refusal(f"{file} cannot be read: expected ISO 8859-1 without a byte order mark, got UTF-8 or UTF-16")
        values, lines, line = {}, {}, 1
        try:
            for element in javaproperties.parse(text):
                if isinstance(element, javaproperties.KeyValue):
                    values[element.key], lines[element.key] = element.value, line
                line += element.source.count("\n")
        except javaproperties.InvalidUEscapeError:
            raise Refusal(f"{file}:{line}: expected four hexadecimal digits after \\u") from None
        return cls(values, lines)


class _Reader:
    """Translates the settings of a file, and collects what is wrong with them as line and message."""

    def __init__(self, file: _PropertiesFile, servers: list[str]) -> None:
        self.problems: list[tuple[int, str]] = []
        self._file, self._servers = file, servers
        self._used: set[str] = {"bootstrap.servers"}

    def read(self) -> ClientProperties:
        """Return everything but the addresses; without meaning if there are problems."""
        protocol = (self._text(_PROTOCOL) or "PLAINTEXT").upper()
        if protocol not in _PROTOCOLS:
            self._problem(_PROTOCOL, f"expected one of {', '.join(_PROTOCOLS)}, got {quoted(protocol)}")
        settings: dict[str, Any] = {"kafka:tlsEnabled": protocol.endswith("SSL")}
        verify_hosts = (self._text(_HOST_NAMES) or "").lower() == "https" or _HOST_NAMES not in self._file.values
        stores = self._certificates("")
        if protocol.endswith("SSL"):
            settings |= {f"kafka:{name}": text for name, text in stores.items()}
        jaas = self._jaas()
        if protocol.startswith("SASL_"):
            settings |= self._sasl(jaas)
        else:
            self._used |= {_MECHANISM, _CALLBACK, _IAM_CALLBACK, _TOKEN_URL, _CLIENT_ID, _CLIENT_SECRET, _SCOPE}
        registry = self._registry()
        self._refuse_unknown()
        return ClientProperties(settings, verify_hosts, registry)

    def _text(self, name: str) -> str | None:
        """Return a setting; None without one, or an empty one."""
        self._used.add(name)
        return (self._file.values.get(name) or "").strip() or None

    def _problem(self, name: str, message: str) -> None:
        self.problems.append((self._file.lines.get(name, 1), f"{name}: {message}"))

    def _jaas(self) -> JaasEntry | None:
        text = self._text(_JAAS)
        try:
            return read_jaas(text) if text else None
        except ValueError as error:
            self._problem(_JAAS, str(error))
            return None

    def _sasl(self, jaas: JaasEntry | None) -> Mapping[str, Any]:
        mechanism = (self._text(_MECHANISM) or "GSSAPI").upper()
        if mechanism not in _OURS:
            self._problem(_MECHANISM, f"expected one of {', '.join(_OURS)}, got {quoted(mechanism)}")
            return {}
        if jaas is None:
            if not any(each.startswith(f"{_JAAS}:") for _, each in self.problems):
                self._problem(
                    _JAAS, f"is missing; {mechanism} needs it (a file of java.security.auth.login is not read)"
                )
            return {}
        if jaas.name != _MODULES[mechanism]:
            self._problem(_JAAS, f"expected {_MODULES[mechanism]} for {mechanism}, got {quoted(jaas.name)}")
            return {}
        if unknown := sorted(set(jaas.options) - _OPTIONS[jaas.name]):
            self._problem(_JAAS, f"topicwarden cannot obey the option {unknown[0]} of {jaas.name}")
        sasl: dict[str, Callable[[JaasEntry], Mapping[str, Any]]] = {
            "OAUTHBEARER": self._oauth,
            "AWS_MSK_IAM": self._aws,
        }
        return {"kafka:saslMechanism": _OURS[mechanism], **sasl.get(mechanism, self._user)(jaas)}

    def _user(self, jaas: JaasEntry) -> Mapping[str, Any]:
        for name in ("username", "password"):
            if name not in jaas.options:
                self._problem(_JAAS, f"the option {name} is missing")
        return {"kafka:saslUsername": jaas.options.get("username"), "kafka:saslPassword": jaas.options.get("password")}

    def _oauth(self, jaas: JaasEntry) -> Mapping[str, Any]:
        handler, url = self._text(_CALLBACK), self._text(_TOKEN_URL)
        if handler and handler.rpartition(".")[2] != "OAuthBearerLoginCallbackHandler":
            self._problem(_CALLBACK, "expected Kafka's OAuthBearerLoginCallbackHandler; no other class can be obeyed")
        if url is None:
            self._problem(_TOKEN_URL, "is missing; OAUTHBEARER needs it")
        elif problem := token_url_problem(url, "clientId and clientSecret in sasl.jaas.config"):
            self._problem(_TOKEN_URL, problem)
        client = jaas.options.get("clientId") or self._text(_CLIENT_ID)
        secret = jaas.options.get("clientSecret") or self._text(_CLIENT_SECRET)
        scope = jaas.options.get("scope") or self._text(_SCOPE)
        self._used |= {_CLIENT_ID, _CLIENT_SECRET, _SCOPE}
        if not client or not secret:
            self._problem(_JAAS, "the options clientId and clientSecret are missing")
        settings: dict[str, Any] = {
            "kafka:saslTokenUrl": url,
            "kafka:saslUsername": client,
            "kafka:saslPassword": secret,
        }
        return settings | ({"kafka:saslOauthScopes": scope.split()} if scope else {})

    def _aws(self, jaas: JaasEntry) -> Mapping[str, Any]:
        handler = self._text(_IAM_CALLBACK)
        if handler and handler.rpartition(".")[2] != "IAMClientCallbackHandler":
            self._problem(_IAM_CALLBACK, "expected IAMClientCallbackHandler; no other class can be obeyed")
        self._text(_CALLBACK)
        options = jaas.options
        found = next((match[1] for each in self._servers if (match := _MSK_HOST.search(each))), None)
        region = found or options.get("awsStsRegion") or os.environ.get("AWS_REGION")
        if region is None:
            self._problem(_MECHANISM, "the addresses name no region of AWS: set the variable AWS_REGION")
        settings = {
            "kafka:saslAwsRegion": region,
            "kafka:saslAwsProfile": options.get("awsProfileName"),
            "kafka:saslAwsRoleArn": options.get("awsRoleArn"),
            "kafka:saslAwsExternalId": options.get("awsRoleExternalId"),
        }
        return {name: value for name, value in settings.items() if value is not None}

    def _certificates(self, prefix: str) -> dict[str, str]:
        """Return the certificates of the stores whose settings begin with ``prefix``, named as our settings."""
        trust = self._from_store(prefix, "truststore", "ssl.truststore.certificates")
        key = self._from_store(prefix, "keystore", "ssl.keystore.certificate.chain")
        texts = {"caCert": trust[0] if trust else None}
        texts |= {"clientCert": key[0], "clientKey": key[1]} if key else {}
        return {name: text for name, text in texts.items() if text}

    def _from_store(self, prefix: str, store: str, inline: str) -> tuple[str, str] | None:
        from topicwarden.specs.stacks import key_material  # noqa: PLC0415 -- costs 60 ms, and many files have no stores

        base = f"{prefix}ssl.{store}."
        location, password = self._text(f"{base}location"), self._text(f"{base}password")
        self._text(f"{base}type")  # the content shows it
        written, key = self._text(prefix + inline), self._text(f"{prefix}ssl.keystore.key")
        key_password = self._text(f"{prefix}ssl.key.password")
        name = f"{base}location" if location else prefix + inline
        if written and _PEM_START not in written:
            self._problem(prefix + inline, f"expected certificates in PEM ({_PEM_START}CERTIFICATE-----)")
            return None
        try:
            if store == "truststore":
                return (
                    (key_material.trusted_certificates(Path(location), password), "")
                    if location
                    else ((written, "") if written else None)
                )
            if location:
                return key_material.certificate_and_key(Path(location), password, key_password)
            return (written, key_material.decrypted(key, key_password)) if written and key else None
        except ValueError as error:
            self._problem(name, f"{quoted(location)}: {error}" if location else str(error))
            return None

    def _registry(self) -> Mapping[str, Any] | None:
        """Return the registry, under the names of Confluent's serializers (``SchemaRegistryClientConfig``)."""
        url = self._text(f"{_REGISTRY}url")
        texts = {name: self._text(f"{_REGISTRY}{name}") or self._text(name) for name in _REGISTRY_AUTH}
        certificates = self._certificates(_REGISTRY)
        if url is None:
            return None
        source = (texts[_BASIC_SOURCE] or "").upper()
        if source not in ("", "USER_INFO"):
            self._problem(f"{_REGISTRY}{_BASIC_SOURCE}", f"expected USER_INFO, got {quoted(source)}")
        user, found, password = (texts[_BASIC_USER] or "").partition(":")
        settings: dict[str, Any] = {"url": url.split(",")[0].strip(), **certificates}
        if found:
            settings |= {"username": user, "password": password}
        if texts[_BEARER]:
            settings |= {"token": texts[_BEARER]}
        return settings

    def _refuse_unknown(self) -> None:
        versions = {each.strip() for each in (self._text("ssl.enabled.protocols") or "TLSv1.3").split(",")}
        if not versions & _TLS_VERSIONS:
            self._problem("ssl.enabled.protocols", "topicwarden connects with TLS 1.2 or 1.3 only")
        for name in self._unknown():
            self._problem(name, "topicwarden cannot obey this setting; remove it if the connection works without it")

    def _unknown(self) -> Iterator[str]:
        for name in self._file.values:
            if name.startswith(_CONNECTION) and name not in self._used and not _WITHOUT_EFFECT.fullmatch(name):
                yield name
