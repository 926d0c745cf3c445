"""The Schema Registry of a stack: ``topicwarden:schemaRegistry`` in ``stacks/Pulumi.<stack>.yaml``.

The value is a URL, or ``sandbox`` for the registry of this machine, or a mapping of ``url`` and how to authenticate:
``username`` and ``password``, or ``token``, or ``clientCert`` and ``clientKey``. ``caCert`` is for a registry whose CA
the Java runtime does not know. Pulumi encrypts single values::

    pulumi config set --path --secret 'topicwarden:schemaRegistry.password'
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from topicwarden.model.message_text import describe_value, quoted
from topicwarden.specs.stacks import certificate_settings
from topicwarden.specs.stacks.certificate_settings import Certificates, read_certificates
from topicwarden.specs.stacks.http_credentials import PASSWORD, TOKEN, USER, read_http_credentials
from topicwarden.specs.stacks.http_url import has_user, split_url
from topicwarden.specs.stacks.settings_reader import SettingProblem, SettingsReader, decoded

_URL: Final = "url"
KEYS: Final = (_URL, USER, PASSWORD, TOKEN, *certificate_settings.NAMES)
"""The keys of the mapping."""
SANDBOX: Final = "sandbox"
"""The value for the registry that ``topicwarden sandbox up`` starts."""
SECRETS: Final = (PASSWORD, TOKEN, *certificate_settings.NAMES)
"""The keys whose values to encrypt, unless ``certificate_settings.is_public``."""


@dataclass(frozen=True)
class RegistrySettings:
    """The address of a registry with Confluent's REST interface, and how to authenticate; ``repr`` shows no secret.

    ``url`` is ``SANDBOX`` for the registry of the sandbox, whose address a declaration does not know.
    """

    url: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    certificates: Certificates = field(default_factory=Certificates)


def read_registry_settings(
    value: Any, root: Path, *, offline: bool = False
) -> tuple[RegistrySettings, list[SettingProblem]]:
    """Return the registry in the setting's value, and every problem with it.

    The path of a problem is a key of the mapping, or empty for the whole value. ``root`` and ``offline`` as in
    ``SettingsReader``.
    """
    reader = SettingsReader(_mapping(value), root, offline)
    reader.unknown(KEYS)
    if not reader.settings:
        expected = f"a URL such as http://localhost:8081, or a mapping of {', '.join(KEYS[:4])} and certificates"
        reader.problem("", f"expected {expected}, got {describe_value(value)}")
    url = reader.text(_URL) or ""
    complete = url.startswith(("http://", "https://")) and split_url(url) is not None
    if has_user(url):
        reader.problem(_URL, f"has a user, which no client sends; write it as {USER} and {PASSWORD}")
    elif reader.settings and not reader.encrypted(_URL) and not complete and url != SANDBOX:
        reader.problem(_URL, f"expected a URL such as http://localhost:8081, got {quoted(url)}")
    elif "?" in url or "#" in url:
        reader.problem(_URL, "has a query or a fragment, to which no path can be appended; remove it")
    username, password, token = read_http_credentials(reader)
    return RegistrySettings(url, username, password, token, read_certificates(reader)), reader.problems


def _mapping(value: Any) -> dict[str, Any]:
    """Return the setting as a mapping; empty if it is something else."""
    parsed = decoded(value)
    if isinstance(parsed, str):
        return {_URL: parsed}
    return {str(name): each for name, each in parsed.items() if each is not None} if isinstance(parsed, dict) else {}
