"""The ``kafka:`` settings of ``stacks/Pulumi.<stack>.yaml``, which are named as those of the ``pulumi-kafka`` provider.

`check` judges them offline, and ``kafka/connect/connection.py`` connects with them. The provider's rules are those of
its ``kafka/config.go``: a certificate or key is PEM text or a path; a user name without a mechanism means ``plain``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from topicwarden.model.message_text import did_you_mean, quoted
from topicwarden.specs.stacks import certificate_settings
from topicwarden.specs.stacks.certificate_settings import Certificates, read_certificates
from topicwarden.specs.stacks.http_url import has_user, split_url
from topicwarden.specs.stacks.settings_reader import SettingProblem, SettingsReader, decoded

REGION: Final = "kafka:saslAwsRegion"
_PROFILE, _ROLE, _EXTERNAL_ID = "kafka:saslAwsProfile", "kafka:saslAwsRoleArn", "kafka:saslAwsExternalId"
_ACCESS_KEY, _SECRET_KEY, _TOKEN = "kafka:saslAwsAccessKey", "kafka:saslAwsSecretKey", "kafka:saslAwsToken"
AWS_NAMES: Final = (REGION, _PROFILE, _ROLE, _EXTERNAL_ID, _ACCESS_KEY, _SECRET_KEY, _TOKEN)
AWS_SECRETS: Final = (_SECRET_KEY, _TOKEN)

_REGION_FORM: Final = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]+")
_ROLE_FORM: Final = re.compile(r"arn:aws[a-z-]*:iam::[0-9]{12}:role/.+")


@dataclass(frozen=True)
class AwsSettings:
    """An AWS identity: a profile, an access key, or else what AWS's tools find; and the role that it assumes, if any.

    ``repr`` shows no secret.
    """

    region: str
    profile: str | None = None
    role_arn: str | None = None
    external_id: str | None = None
    access_key: str | None = None
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        identity = f"profile {self.profile}" if self.profile else "access key" if self.access_key else "this process"
        return f"{identity}, role {self.role_arn}" if self.role_arn else identity


def read_aws_settings(reader: SettingsReader, mechanism: str) -> AwsSettings | None:
    """Return the identity, and note every problem with it; ``mechanism`` is the setting that needs it."""
    region = _of_form(reader, REGION, _REGION_FORM, "a region such as eu-central-1")
    role_arn = _of_form(reader, _ROLE, _ROLE_FORM, "a role such as arn:aws:iam::123456789012:role/topics")
    if REGION not in reader.settings:
        reader.problem(mechanism, f"needs {REGION}; write it")
    if _ACCESS_KEY in reader.settings and _SECRET_KEY not in reader.settings and not reader.offline:
        reader.problem(_ACCESS_KEY, f"needs {_SECRET_KEY}; write it")
    for name, needed in ((_SECRET_KEY, _ACCESS_KEY), (_TOKEN, _ACCESS_KEY), (_EXTERNAL_ID, _ROLE)):
        if name in reader.settings and needed not in reader.settings:
            reader.problem(name, f"has no effect without {needed}; remove it, or write {needed}")
    if _PROFILE in reader.settings and _ACCESS_KEY in reader.settings:
        reader.problem(_PROFILE, f"contradicts {_ACCESS_KEY}; remove one of them")
    return AwsSettings(
        region=region or "",
        profile=reader.text(_PROFILE),
        role_arn=role_arn,
        external_id=reader.text(_EXTERNAL_ID),
        access_key=reader.text(_ACCESS_KEY),
        secret_key=reader.text(_SECRET_KEY),
        session_token=reader.text(_TOKEN),
    )


def _of_form(reader: SettingsReader, name: str, form: re.Pattern[str], example: str) -> str | None:
    text = reader.text(name)
    if text is not None and not form.fullmatch(text):
        reader.problem(name, f"expected {example}, got {quoted(text)}")
    return text


SERVERS: Final = "kafka:bootstrapServers"
_TLS, _SKIP_VERIFY = "kafka:tlsEnabled", "kafka:skipTlsVerify"
_CERTIFICATES: Final = tuple(f"kafka:{name}" for name in certificate_settings.NAMES)
_MECHANISM, _USER, _PASSWORD = "kafka:saslMechanism", "kafka:saslUsername", "kafka:saslPassword"
_TOKEN_URL, _SCOPES = "kafka:saslTokenUrl", "kafka:saslOauthScopes"

NAMES: Final = (
    *(SERVERS, _TLS, _SKIP_VERIFY, *_CERTIFICATES),
    *(_MECHANISM, _USER, _PASSWORD, _TOKEN_URL, _SCOPES, *AWS_NAMES),
)
"""The settings that topicwarden uses."""

OF_THE_PROVIDER: Final = ("kafka:timeout", "kafka:kafkaVersion")
"""Settings of the provider without any effect on topicwarden."""

SECRETS: Final = (_PASSWORD, *_CERTIFICATES, *AWS_SECRETS)
"""The settings to encrypt, unless ``certificate_settings.is_public``."""

OAUTHBEARER: Final = "OAUTHBEARER"
_AWS_IAM: Final = "aws-iam"
"""Amazon MSK with IAM, whose listeners accept signed tokens by ``OAUTHBEARER``."""
_MECHANISMS: Final = {
    "plain": "PLAIN",
    "scram-sha256": "SCRAM-SHA-256",
    "scram-sha512": "SCRAM-SHA-512",
    "oauthbearer": OAUTHBEARER,
    _AWS_IAM: OAUTHBEARER,
}
_ADDRESS: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+):([0-9]{1,5})")


@dataclass(frozen=True)
class ConnectionSettings:
    """The address of a cluster, and how to authenticate. ``repr`` shows no secret.

    ``mechanism`` is in Kafka's words (``SCRAM-SHA-256``), None without SASL. With ``OAUTHBEARER``, user and password
    are the id and secret of a client of the token endpoint ``token_url``; or ``aws`` is the identity that signs tokens.
    """

    servers: tuple[str, ...] = ()
    tls: bool = True
    verify_tls: bool = True
    mechanism: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    token_url: str | None = None
    scopes: tuple[str, ...] = ()
    aws: AwsSettings | None = None
    certificates: Certificates = field(default_factory=Certificates)


def read_connection_settings(
    settings: Mapping[str, Any], root: Path, *, offline: bool = False
) -> tuple[ConnectionSettings, list[SettingProblem]]:
    """Return the connection in ``settings``, and every problem with it; with problems, do not connect.

    ``root`` and ``offline`` as in ``SettingsReader``.
    """
    reader = SettingsReader({name: value for name, value in settings.items() if value is not None}, root, offline)
    reader.problems += _unknown(settings)
    tls = reader.flag(_TLS, default=True)
    mechanism, username, password = _credentials(reader)
    ineffective = [name for name in _CERTIFICATES if name in reader.settings and not tls]
    if ineffective:
        reader.problem(ineffective[0], f"has no effect without TLS; remove it, or {_TLS}: false")
    connection = ConnectionSettings(
        servers=_servers(reader),
        tls=tls,
        verify_tls=not reader.flag(_SKIP_VERIFY, default=False),
        mechanism=mechanism,
        username=username,
        password=password,
        token_url=_token_url(reader, mechanism),
        scopes=reader.texts(_SCOPES, "a list of scopes such as [kafka]"),
        aws=_aws(reader, tls=tls),
        certificates=read_certificates(reader, "kafka:"),
    )
    return connection, reader.problems


def _servers(reader: SettingsReader) -> tuple[str, ...]:
    addresses = reader.texts(SERVERS, "a list such as [localhost:9092]")
    if decoded(reader.settings.get(SERVERS)) == []:
        reader.problem(SERVERS, "expected addresses such as kafka-1.example.com:9092, got an empty list")
    listed = isinstance(reader.settings.get(SERVERS), list)
    for index, address in enumerate(addresses):
        if problem := address_problem(address):
            reader.problem(SERVERS, problem, (index,) if listed else ())
    return addresses


def address_problem(address: str) -> str | None:
    """Return what is wrong with the address of a broker; None for a host and a port."""
    match = _ADDRESS.fullmatch(address)
    if match and 0 < int(match[2]) < 65536:
        return None
    return f"expected addresses such as kafka-1.example.com:9092, got {quoted(address)}"


def _credentials(reader: SettingsReader) -> tuple[str | None, str | None, str | None]:
    named = any(name in reader.settings for name in (_USER, _PASSWORD))
    mechanism = reader.text(_MECHANISM) if _MECHANISM in reader.settings else "plain" if named else None
    if mechanism is None:
        return None, None, None
    if mechanism not in _MECHANISMS:
        # Kafka's own names, such as SCRAM-SHA-512, are closest to the right one in lower case.
        hint = did_you_mean(mechanism.lower().replace("sha-", "sha"), _MECHANISMS)
        reader.problem(_MECHANISM, f"expected one of {', '.join(_MECHANISMS)}, got {quoted(mechanism)}{hint}")
    if mechanism == _AWS_IAM:
        return OAUTHBEARER, None, None
    for name in (_USER, _PASSWORD):
        if name not in reader.settings and not (reader.offline and name == _PASSWORD):
            reader.problem(_MECHANISM, f"needs {name}; write it")
    return _MECHANISMS.get(mechanism), reader.text(_USER), reader.text(_PASSWORD)


def _aws(reader: SettingsReader, *, tls: bool) -> AwsSettings | None:
    if reader.settings.get(_MECHANISM) != _AWS_IAM:
        for name in AWS_NAMES:
            if name in reader.settings:
                reader.problem(name, f"has no effect without {_MECHANISM}: {_AWS_IAM}; remove it")
        return None
    if not tls:
        reader.problem(_MECHANISM, f"needs TLS, as tokens give access; remove {_TLS}: false")
    for name in (_USER, _PASSWORD):
        if name in reader.settings:
            reader.problem(name, f"has no effect with {_MECHANISM}: {_AWS_IAM}; remove it")
    return read_aws_settings(reader, _MECHANISM)


def _token_url(reader: SettingsReader, mechanism: str | None) -> str | None:
    url = reader.text(_TOKEN_URL)
    if url is not None and (problem := token_url_problem(url, f"{_USER} and {_PASSWORD}")):
        reader.problem(_TOKEN_URL, problem)
    by_client = mechanism == OAUTHBEARER and reader.settings.get(_MECHANISM) != _AWS_IAM
    if by_client and _TOKEN_URL not in reader.settings:
        reader.problem(_MECHANISM, f"needs {_TOKEN_URL}; write it")
    if not by_client and _TOKEN_URL in reader.settings:
        reader.problem(_TOKEN_URL, f"has no effect without {_MECHANISM}: oauthbearer; remove it")
    return url


def token_url_problem(url: str, client: str) -> str | None:
    """Return what is wrong with the URL of a token endpoint; None if nothing is.

    ``client`` are the settings of the client's id and secret.
    """
    if has_user(url):
        return f"has a user, which is not sent; write it as {client}"
    if split_url(url) is None:
        return f"expected a URL such as https://sso.example.com/token, got {quoted(url)}"
    return None


def _unknown(settings: Mapping[str, Any]) -> Iterator[SettingProblem]:
    for name in settings:
        if name.startswith("kafka:") and name not in (*NAMES, *OF_THE_PROVIDER):
            hint = did_you_mean(name, NAMES) or "; remove it"
            yield SettingProblem((name,), f"topicwarden does not use this setting{hint}")
