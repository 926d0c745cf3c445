"""Certificates and private keys in PEM: what is wrong with them, and the one form that every client can read."""

from __future__ import annotations

from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)


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
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def belongs(certificate: x509.Certificate, key: str) -> bool:
    """Return whether ``key``, as ``private_key`` returns it, is the private key of ``certificate``."""
    formats = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    of_key = load_pem_private_key(key.encode(), None).public_key().public_bytes(*formats)
    return of_key == certificate.public_key().public_bytes(*formats)


def names(certificate: x509.Certificate) -> list[str]:
    """Return the host names and addresses for which ``certificate`` is valid."""
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [*extension.get_values_for_type(x509.DNSName), *map(str, extension.get_values_for_type(x509.IPAddress))]
