"""Settings with certificates and keys: PEM text, or the path of a PEM file, as for the ``pulumi-kafka`` provider."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Final, TypeVar

from topicwarden.model.files import read_regular_file
from topicwarden.model.message_text import quoted
from topicwarden.specs.stacks.settings_reader import SettingsReader

Parsed = TypeVar("Parsed")

_CA, _CERTIFICATE, _KEY = "caCert", "clientCert", "clientKey"
PASSPHRASE: Final = "clientKeyPassphrase"
_PEM_START: Final = "-----BEGIN "
_ENCRYPTED: Final = "ENCRYPTED"
"""A part of every encrypted key: of its first line, or of its ``Proc-Type``."""

NAMES: Final = (_CA, f"{_CA}File", _CERTIFICATE, f"{_CERTIFICATE}File", _KEY, f"{_KEY}File", PASSPHRASE)
"""The settings, without a prefix such as ``kafka:``. All but the paths and certificates in them are secrets."""


@dataclass(frozen=True)
class Certificates:
    """The CA certificates to trust, and the client's certificate and key, as PEM text; ``repr`` shows none of them.

    The key is PKCS #8, and not encrypted.
    """

    ca_cert: str | None = field(default=None, repr=False)
    client_cert: str | None = field(default=None, repr=False)
    client_key: str | None = field(default=None, repr=False)


def is_public(name: str, value: str) -> bool:
    """Return whether the setting ``name`` is one of these with a path, with certificates or with an encrypted key."""
    if name.endswith(PASSPHRASE) or not name.endswith(NAMES):
        return False
    return "PRIVATE KEY-----" not in value or _ENCRYPTED in value


def readable() -> bool:
    """Return whether this installation can read certificates: a check can do without, a connection cannot."""
    return find_spec("cryptography") is not None


def read_certificates(reader: SettingsReader, prefix: str = "") -> Certificates:
    """Return the certificates in the settings that begin with ``prefix``, and note what is wrong with them."""
    return _CertificateReader(reader, prefix).read()


@dataclass(frozen=True)
class _CertificateReader:
    reader: SettingsReader
    prefix: str

    def read(self) -> Certificates:
        declared = {name: self._source(name) in self.reader.settings for name in (_CA, _CERTIFICATE, _KEY)}
        for name, other in ((_CERTIFICATE, _KEY), (_KEY, _CERTIFICATE)):
            if declared[name] and not declared[other] and not (self.reader.offline and other == _KEY):
                needed = f"{self.prefix}{other}"
                self.reader.problem(self._source(name), f"needs {needed} or {needed}File; write it")
        texts = {name: text for name in declared if (text := self._pem(name)) is not None}
        if not texts or (self.reader.offline and not readable()):
            return Certificates()
        from topicwarden.specs.stacks import key_material  # noqa: PLC0415 -- costs 60 ms, and few stacks have certificates

        self._parsed(_CA, key_material.certificates, texts.get(_CA))
        chain = self._parsed(_CERTIFICATE, key_material.certificates, texts.get(_CERTIFICATE))
        key, passphrase = None, self.reader.text(self.prefix + PASSPHRASE)
        if not (self.reader.offline and passphrase is None and _ENCRYPTED in texts.get(_KEY, "")):
            key = self._parsed(_KEY, lambda text: key_material.private_key(text, passphrase), texts.get(_KEY))
        if chain and key and not key_material.belongs(chain[0], key):
            message = f"is not the private key of the certificate in {self.prefix}{_CERTIFICATE}"
            self.reader.problem(self._source(_KEY), message)
        return Certificates(texts.get(_CA), texts.get(_CERTIFICATE), key)

    def _parsed(self, name: str, parse: Callable[[str], Parsed], text: str | None) -> Parsed | None:
        """Return what ``parse`` makes of the text of ``name``; None, with a problem, if it raises ValueError."""
        try:
            return None if text is None else parse(text)
        except ValueError as error:
            self.reader.problem(self._source(name), str(error))
            return None

    def _source(self, name: str) -> str:
        """Return the name of the setting that has the certificate or key ``name``: itself, or its ``File`` form."""
        written, file = f"{self.prefix}{name}", f"{self.prefix}{name}File"
        return file if written not in self.reader.settings else written

    def _pem(self, name: str) -> str | None:
        """Return the PEM text of ``name``: written there, or in the file that it or its ``File`` form names."""
        source, file = self._source(name), f"{self.prefix}{name}File"
        if source != file and file in self.reader.settings:
            self.reader.problem(file, f"{source} is set, too; remove one of them")
        written = self.reader.text(source)
        if written is None or _PEM_START in written:
            return written
        path = self.reader.root / written
        try:
            if not (self.reader.offline and not path.exists()):
                return read_regular_file(path).decode()
        except FileNotFoundError:
            self.reader.problem(source, f"there is no file {_shown(written)} below {self.reader.root}; expected PEM")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            self.reader.problem(source, f"{_shown(written)} cannot be read: {reason}; expected a PEM file")
        return None


def _shown(path: str) -> str:
    """Return a path for a message, or no part of it if it may be a key that lost its first line."""
    return quoted(path) if len(path) < 256 and "\n" not in path else "the text"
