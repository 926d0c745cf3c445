"""Certificates and private keys: what is wrong with them, and the one form in PEM that every client can read.

They come as PEM text, or from the trust stores and key stores of Java programs: PEM files, PKCS #12, and what Java's
``keytool`` reads.
"""

from __future__ import annotations

import os
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates, load_pkcs12

from topicwarden import child_processes
from topicwarden.model.files import read_regular_file
from topicwarden.scratch_folder import scratch_folder


def certificates(text: str) -> list[x509.Certificate]:
    """Return the certificates in ``text``, the first of a chain first.

    Raises ValueError, with the rest of a message, if there is none or if all have expired.
    """
    try:
        found = x509.load_pem_x509_certificates(text.encode())
    except ValueError:
        raise ValueError("expected certificates in PEM (-----BEGIN CERTIFICATE-----), got other text") from None
    expiry = max(certificate.not_valid_after_utc for certificate in found)
    if expiry < datetime.now(UTC):
        raise ValueError(f"expired at {expiry:%Y-%m-%d %H:%M} UTC; renew it")
    return found


def private_key(text: str, passphrase: str | None) -> str:
    """Return the private key in ``text`` as PKCS #8 without encryption, the only form that Kafka's Java clients read.

    Raises ValueError, with the rest of a message, if it cannot be read or ``passphrase`` does not fit.
    """
    try:
        key = load_pem_private_key(text.encode(), passphrase.encode() if passphrase else None)
    except TypeError:
        remedy = "not encrypted; remove clientKeyPassphrase" if passphrase else "encrypted; set clientKeyPassphrase"
        raise ValueError(f"the key is {remedy}") from None
    except ValueError:
        hint = "or clientKeyPassphrase is wrong" if passphrase else "such as -----BEGIN PRIVATE KEY-----"
        raise ValueError(f"expected a private key in PEM, {hint}") from None
    except UnsupportedAlgorithm:
        raise ValueError(f"the key {_UNSUPPORTED}") from None
    return _pkcs8(key)


_UNSUPPORTED: Final = "has an algorithm or a curve that is not supported; create one with RSA, or the curve P-256"


def _pkcs8(key: PrivateKeyTypes) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def belongs(certificate: x509.Certificate, key: str) -> bool:
    """Return whether ``key``, as ``private_key`` returns it, is the private key of ``certificate``."""
    formats = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    of_key = load_pem_private_key(key.encode(), None).public_key().public_bytes(*formats)
    try:
        return of_key == certificate.public_key().public_bytes(*formats)
    except (UnsupportedAlgorithm, ValueError):  # which no key has that could be read
        return False


def names(certificate: x509.Certificate) -> list[str]:
    """Return the host names and addresses for which ``certificate`` is valid."""
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [*extension.get_values_for_type(x509.DNSName), *map(str, extension.get_values_for_type(x509.IPAddress))]


_PEM_START: Final = b"-----BEGIN "
_JKS: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
"""How stores of the types JKS and JCEKS begin (``sun.security.provider.JavaKeyStore``)."""
_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n?", re.DOTALL)
_KEY: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----\n?", re.DOTALL)
_PRIVATE_KEY_ENTRY: Final = re.compile(r"^(?P<alias>.+), [^,]+, [^,]+, PrivateKeyEntry,", re.MULTILINE)


def trusted_certificates(path: Path, password: str | None) -> str:
    """Return the certificates of a trust store as PEM text.

    Raises ValueError, with the rest of a message, if it cannot be read, or has none.
    """
    data = _content(path)
    if data.startswith(_PEM_START):
        return data.decode("ascii", "replace")
    store = _pkcs12(path, data, password, None)
    certificates = [each.certificate for each in store.additional_certs]
    certificates += [store.cert.certificate] if store.cert else []
    if not certificates:
        raise ValueError("has no certificate")
    return "".join(each.public_bytes(Encoding.PEM).decode() for each in certificates)


def certificate_and_key(path: Path, password: str | None, key_password: str | None) -> tuple[str, str]:
    """Return the certificate chain, and the private key, which is not encrypted, of a key store as PEM text.

    Raises ValueError, with the rest of a message, if it cannot be read, or has none.
    """
    data = _content(path)
    if data.startswith(_PEM_START):
        text = data.decode("ascii", "replace")
        key = _KEY.search(text)
        if key is None:
            raise ValueError("has no private key")
        return "".join(_CERTIFICATE.findall(text)), decrypted(key[0], key_password)
    store = _pkcs12(path, data, password, key_password)
    if store.key is None or store.cert is None:
        raise ValueError("has no private key with a certificate")
    chain = [store.cert, *store.additional_certs]
    certificates = "".join(each.certificate.public_bytes(Encoding.PEM).decode() for each in chain)
    return certificates, _pkcs8(store.key)


def decrypted(key: str, password: str | None) -> str:
    """Return the private key ``key`` without encryption. Raises ValueError if it cannot be read."""
    try:
        loaded = load_pem_private_key(key.encode(), password.encode() if password and "ENCRYPTED" in key else None)
    except (TypeError, ValueError):
        raise ValueError("its private key cannot be read, or the password is wrong") from None
    except UnsupportedAlgorithm:
        raise ValueError(f"its private key {_UNSUPPORTED}") from None
    return _pkcs8(loaded)


def _content(path: Path) -> bytes:
    try:
        return read_regular_file(path)
    except FileNotFoundError:
        raise ValueError("there is no such file") from None
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None


def _pkcs12(path: Path, data: bytes, password: str | None, key_password: str | None) -> PKCS12KeyAndCertificates:
    if data.startswith(_JKS):
        return _converted(path, password, key_password)
    return _loaded(data, password)


def _loaded(data: bytes, password: str | None) -> PKCS12KeyAndCertificates:
    try:
        return load_pkcs12(data, password.encode() if password else None)
    except ValueError:
        raise ValueError("is no key store that can be read (JKS, PKCS #12, PEM), or its password is wrong") from None
    except UnsupportedAlgorithm:
        raise ValueError(f"its private key {_UNSUPPORTED}") from None


def _converted(path: Path, password: str | None, key_password: str | None) -> PKCS12KeyAndCertificates:
    """Return a store of Java's own type, read by ``keytool``; passwords go through its environment, no argument."""
    if not password:
        raise ValueError("needs its password, as every store of the type JKS")
    keytool = _keytool()
    secrets = {"STORE": password, "KEY": key_password or password}
    with scratch_folder() as folder:
        target = folder / "store.p12"
        source = ["-keystore", str(path), "-storepass:env", "STORE"]
        listed = _run([keytool, "-J-Duser.language=en", "-list", *source], secrets)
        command = [keytool, "-importkeystore", "-noprompt", "-srckeystore", str(path), "-srcstorepass:env", "STORE"]
        command += ["-destkeystore", str(target), "-deststoretype", "PKCS12", "-deststorepass:env", "KEY"]
        if alias := _PRIVATE_KEY_ENTRY.search(listed):
            command += ["-srcalias", alias["alias"], "-srckeypass:env", "KEY", "-destkeypass:env", "KEY"]
        _run(command, secrets)
        return _loaded(target.read_bytes(), secrets["KEY"])


def _keytool() -> str:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("keytool", path=str(Path(home, "bin"))) if home else None
    found = found or shutil.which("keytool")
    if found is None:
        raise ValueError("is of the type JKS, which Java's keytool reads: install a JDK, or convert it to PKCS #12")
    return found


def _run(command: list[str], secrets: dict[str, str]) -> str:
    answer = child_processes.run(command, Path.cwd(), {**os.environ, **secrets})
    if answer.returncode:
        raise ValueError("cannot be read by Java's keytool: its password, or that of its key, is wrong")
    return answer.stdout
