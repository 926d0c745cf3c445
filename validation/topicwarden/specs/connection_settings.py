"""The ``kafka:`` settings of ``stacks/Pulumi.<stack>.yaml``, which are named as those of the ``pulumi-kafka`` provider.

`check` judges them offline, and ``kafka/connection.py`` connects with them. The provider's rules are those of its
``kafka/config.go``: a certificate or key is PEM text or a path, and a user name without a mechanism means ``plain``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from topicwarden.model.message_text import describe_value, did_you_mean, quoted

Parsed = TypeVar("Parsed")

SERVERS: Final = "kafka:bootstrapServers"
_TLS, _SKIP_VERIFY = "kafka:tlsEnabled", "kafka:skipTlsVerify"
_CA, _CERTIFICATE, _KEY = "kafka:caCert", "kafka:clientCert", "kafka:clientKey"
_PASSPHRASE: Final = "kafka:clientKeyPassphrase"
_MECHANISM, _USER, _PASSWORD = "kafka:saslMechanism", "kafka:saslUsername", "kafka:saslPassword"
_TOKEN_URL, _SCOPES = "kafka:saslTokenUrl", "kafka:saslOauthScopes"
_PEM: Final = (_CA, _CERTIFICATE, _KEY)
_FILES: Final = {name: f"{name}File" for name in _PEM}

NAMES: Final = (
    *(SERVERS, _TLS, _SKIP_VERIFY, *_PEM, *_FILES.values(), _PASSPHRASE),
    *(_MECHANISM, _USER, _PASSWORD, _TOKEN_URL, _SCOPES),
)
"""The settings that topicwarden uses."""

_OF_THE_PROVIDER: Final = ("kafka:timeout", "kafka:kafkaVersion")
"""Settings of the provider without any effect on topicwarden."""

OAUTHBEARER: Final = "OAUTHBEARER"
_MECHANISMS: Final = {
    "plain": "PLAIN",
    "scram-sha256": "SCRAM-SHA-256",
    "scram-sha512": "SCRAM-SHA-512",
    "oauthbearer": OAUTHBEARER,
}
_PEM_START: Final = "-----BEGIN "
_ADDRESS: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+):([0-9]{1,5})")


class SettingProblem(NamedTuple):
    """A wrong setting: its name, and the rest of a message about it."""

    name: str
    message: str


@dataclass(frozen=True)
class ConnectionSettings:
    """The address of a cluster, and how to authenticate. ``repr`` shows no secret.

    ``mechanism`` is in Kafka's words (``SCRAM-SHA-256``), None without SASL. With ``OAUTHBEARER``, user and password
    are the id and secret of a client of the token endpoint ``token_url``. ``ca_cert``, ``client_cert`` and
    ``client_key`` are PEM text, and the key is not encrypted.
    """

    servers: tuple[str, ...] = ()
    tls: bool = True
    verify_tls: bool = True
    mechanism: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    token_url: str | None = None
    scopes: tuple[str, ...] = ()
    ca_cert: str | None = field(default=None, repr=False)
    client_cert: str | None = field(default=None, repr=False)
    client_key: str | None = field(default=None, repr=False)


def read_connection_settings(
    settings: Mapping[str, Any], root: Path, *, offline: bool = False
) -> tuple[ConnectionSettings, list[SettingProblem]]:
    """Return the connection in ``settings``, and every problem with it; with problems, do not connect.

    Relative paths are below ``root``. With ``offline``, encrypted values and missing files are no problem: files may
    exist only where the stack is deployed.
    """
    reader = _Reader({name: value for name, value in settings.items() if value is not None}, root, offline)
    return reader.read(), reader.problems


@dataclass
class _Reader:
    settings: Mapping[str, Any]
    root: Path
    offline: bool
    problems: list[SettingProblem] = field(default_factory=list)

    def read(self) -> ConnectionSettings:
        self.problems += _unknown(self.settings)
        tls = self._flag(_TLS, default=True)
        mechanism, username, password = self._credentials()
        return ConnectionSettings(
            servers=self._servers(),
            tls=tls,
            verify_tls=not self._flag(_SKIP_VERIFY, default=False),
            mechanism=mechanism,
            username=username,
            password=password,
            token_url=self._token_url(mechanism),
            scopes=self._texts(_SCOPES, "a list of scopes such as [kafka]"),
            **self._certificates(tls),
        )

    def _problem(self, name: str, message: str) -> None:
        self.problems.append(SettingProblem(name, message))

    def _encrypted(self, name: str) -> bool:
        return self.offline and isinstance(self.settings.get(name), dict)

    def _text(self, name: str) -> str | None:
        """Return a setting; None if it is absent, encrypted or not text. YAML turns the number 0123 into 83."""
        value = self.settings.get(name)
        if value is None or isinstance(value, str) or self._encrypted(name):
            return value if isinstance(value, str) else None
        self._problem(name, "expected text, seen another type; put it in quotes")
        return None

    def _flag(self, name: str, *, default: bool) -> bool:
        value = self.settings.get(name, default)
        written = {"true": True, "false": False}.get(value) if isinstance(value, str) else value
        if isinstance(written, bool):
            return written
        if not self._encrypted(name):
            self._problem(name, f"expected true or false, seen {describe_value(value)}")
        return default

    def _servers(self) -> tuple[str, ...]:
        addresses = self._texts(SERVERS, "a list such as [localhost:9092]")
        for address in addresses:
            match = _ADDRESS.fullmatch(address)
            if not match or not 0 < int(match[2]) < 65536:
                self._problem(SERVERS, f"expected addresses such as kafka-1.example.com:9092, seen {quoted(address)}")
        return addresses

    def _texts(self, name: str, expected: str) -> tuple[str, ...]:
        """Return a list of texts: a list, the same list as JSON (Pulumi's form for programs), or one text."""
        value = self.settings.get(name)
        if value is None or self._encrypted(name):
            return ()
        try:
            listed = json.loads(value) if isinstance(value, str) and value.startswith("[") else value
        except json.JSONDecodeError:
            listed = None
        texts = [listed] if isinstance(listed, str) else listed
        if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
            return tuple(texts)
        self._problem(name, f"expected {expected}, seen {describe_value(value)}")
        return ()

    def _token_url(self, mechanism: str | None) -> str | None:
        url = self._text(_TOKEN_URL)
        if url is not None and not url.startswith(("https://", "http://")):
            self._problem(_TOKEN_URL, f"expected a URL such as https://sso.example.com/token, seen {quoted(url)}")
        if mechanism == OAUTHBEARER and _TOKEN_URL not in self.settings:
            self._problem(_MECHANISM, f"needs {_TOKEN_URL}; write it")
        if mechanism != OAUTHBEARER and _TOKEN_URL in self.settings:
            self._problem(_TOKEN_URL, f"has no effect without {_MECHANISM}: oauthbearer; remove it")
        return url

    def _credentials(self) -> tuple[str | None, str | None, str | None]:
        named = any(name in self.settings for name in (_USER, _PASSWORD))
        mechanism = self._text(_MECHANISM) if _MECHANISM in self.settings else "plain" if named else None
        if mechanism is None:
            return None, None, None
        if mechanism not in _MECHANISMS:
            self._problem(_MECHANISM, f"expected one of {', '.join(_MECHANISMS)}, seen {quoted(mechanism)}")
        for name in (_USER, _PASSWORD):
            if name not in self.settings:
                self._problem(_MECHANISM, f"needs {name}; write it")
        return _MECHANISMS.get(mechanism), self._text(_USER), self._text(_PASSWORD)

    def _certificates(self, tls: bool) -> dict[str, str | None]:
        named = [name for name in (*_PEM, *_FILES.values(), _PASSPHRASE) if name in self.settings]
        if named and not tls:
            self._problem(named[0], f"has no effect without TLS; remove it, or {_TLS}: false")
        declared = {name: name in self.settings or _FILES[name] in self.settings for name in _PEM}
        for name, other in ((_CERTIFICATE, _KEY), (_KEY, _CERTIFICATE)):
            if declared[name] and not declared[other]:
                self._problem(self._source(name), f"needs {other} or {_FILES[other]}; write it")
        texts = {name: text for name in _PEM if (text := self._pem(name)) is not None}
        if not texts:
            return {}
        from topicwarden.specs import certificates  # noqa: PLC0415 -- costs 60 ms, and few stacks have certificates

        self._parsed(_CA, certificates.certificates, texts.get(_CA))
        chain = self._parsed(_CERTIFICATE, certificates.certificates, texts.get(_CERTIFICATE))
        passphrase = self._text(_PASSPHRASE)
        key = None
        if not self._encrypted(_PASSPHRASE):
            key = self._parsed(_KEY, lambda text: certificates.private_key(text, passphrase), texts.get(_KEY))
        if chain and key and not certificates.belongs(chain[0], key):
            self._problem(self._source(_KEY), f"is not the private key of the certificate in {_CERTIFICATE}")
        return {"ca_cert": texts.get(_CA), "client_cert": texts.get(_CERTIFICATE), "client_key": key}

    def _parsed(self, name: str, parse: Callable[[str], Parsed], text: str | None) -> Parsed | None:
        """Return what ``parse`` makes of the text of ``name``; None, with a problem, if it raises ValueError."""
        try:
            return None if text is None else parse(text)
        except ValueError as error:
            self._problem(self._source(name), str(error))
            return None

    def _source(self, name: str) -> str:
        """Return the name of the setting that has the certificate or key ``name``."""
        return name if name in self.settings else _FILES[name]

    def _pem(self, name: str) -> str | None:
        """Return the PEM text of ``name``: written there, or in the file that it or its ``File`` form names."""
        if name in self.settings and _FILES[name] in self.settings:
            self._problem(_FILES[name], f"{name} is set, too; remove one of them")
        written = self._text(self._source(name))
        if written is None or _PEM_START in written:
            return written
        path = self.root / written
        try:
            if not (self.offline and not path.exists()):
                return path.read_text(encoding="utf-8")
        except FileNotFoundError:
            self._problem(self._source(name), f"there is no file {_shown(written)} below {self.root}; expected PEM")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            self._problem(self._source(name), f"{_shown(written)} cannot be read: {reason}; expected a PEM file")
        return None


def _shown(path: str) -> str:
    """Return a path for a message, or no part of it if it may be a key that lost its first line."""
    return quoted(path) if len(path) < 256 and "\n" not in path else "the text"


def _unknown(settings: Mapping[str, Any]) -> Iterator[SettingProblem]:
    for name in settings:
        if name.startswith("kafka:") and name not in (*NAMES, *_OF_THE_PROVIDER):
            hint = did_you_mean(name, NAMES) or "; remove it"
            yield SettingProblem(name, f"topicwarden does not use this setting{hint}")
