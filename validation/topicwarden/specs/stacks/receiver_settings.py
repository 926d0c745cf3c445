"""Receivers of notifications: ``topicwarden:notifications`` in ``stacks/Pulumi.<stack>.yaml``.

The value is a mapping by name. Each receiver has a ``url`` and, where the server requires it, how to
authenticate: ``username`` and ``password``, or ``token``, or ``clientCert`` and ``clientKey``. The URL of a webhook is
a secret, which Pulumi encrypts::

    pulumi config set --path --secret 'topicwarden:notifications.on-call.url'
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from topicwarden.model.message_text import did_you_mean, quoted
from topicwarden.specs.stacks import certificate_settings
from topicwarden.specs.stacks.certificate_settings import Certificates, read_certificates
from topicwarden.specs.stacks.http_url import split_url
from topicwarden.specs.stacks.settings_reader import SettingProblem, SettingsReader, decoded, kind_of

_FORMAT, _URL, _USER, _PASSWORD, _TOKEN = "format", "url", "username", "password", "token"
KEYS: Final = (_URL, _USER, _PASSWORD, _TOKEN, *certificate_settings.NAMES)
"""The keys of one receiver."""
NAME: Final = "^[a-z0-9][a-z0-9-]{0,39}$"
"""A name is also the name of a file."""
SECRETS: Final = (_URL, _PASSWORD, _TOKEN, certificate_settings.PASSPHRASE)
"""The keys whose values to encrypt."""
_NO_FORMAT: Final = "there are no formats any more, and every receiver gets JSON with a text for Slack; remove the key"
_NO_ALERTMANAGER: Final = (
    "Alertmanager is no receiver any more; remove this one, and let Prometheus evaluate `topicwarden rules alerts`, "
    "whose alerts Alertmanager routes"
)


@dataclass(frozen=True)
class Receiver:
    """One receiver of notifications; ``repr`` shows no secret, and the URL is one."""

    name: str
    url: str = field(repr=False)
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    certificates: Certificates = field(default_factory=Certificates)


def read_receivers(value: Any, root: Path, *, offline: bool = False) -> tuple[list[Receiver], list[SettingProblem]]:
    """Return the receivers in the setting's value, and every problem with it. No message contains a URL.

    The path of a problem begins with the name of a receiver; it is empty for the whole value. ``root`` and ``offline``
    as in ``SettingsReader``.
    """
    parsed = decoded(value)
    if not isinstance(parsed, dict):
        expected = "a mapping of names to receivers, each with url"
        return [], [SettingProblem("", f"expected {expected}, got {kind_of(parsed)}")]
    receivers, problems = [], []
    for name, each in parsed.items():
        if not isinstance(name, str) or not re.fullmatch(NAME, name):
            message = (
                f"expected a name of lower-case letters, digits and hyphens, such as on-call, got {quoted(str(name))}"
            )
            problems.append(SettingProblem("", message, (str(name),)))
            continue
        receiver, found = _receiver(name, each, root, offline)
        receivers += [receiver] if receiver else []
        problems += [SettingProblem(name, message, (name, *key)) for key, message in found]
    return receivers, problems


def _receiver(
    name: str, value: Any, root: Path, offline: bool
) -> tuple[Receiver | None, list[tuple[tuple[str, ...], str]]]:
    parsed = decoded(value)
    if not isinstance(parsed, dict) or "secure" in parsed:
        return None, [((), f"expected a mapping with url, got {kind_of(parsed)}")]
    given = {str(key): each for key, each in parsed.items() if each is not None or key == _FORMAT}
    reader = SettingsReader(given, root, offline)
    for key, each in reader.settings.items():
        if key == _FORMAT:
            reader.problem(key, _NO_ALERTMANAGER if each == "alertmanager" else _NO_FORMAT)
        elif key not in KEYS:
            reader.problem(key, f"unknown key{did_you_mean(key, KEYS) or '; known are ' + ', '.join(KEYS)}")
    _check_url(reader)
    for key, other in ((_USER, _PASSWORD), (_PASSWORD, _USER)):
        if key in reader.settings and other not in reader.settings:
            reader.problem(key, f"needs {other}; write it")
    if _USER in reader.settings and _TOKEN in reader.settings:
        reader.problem(_TOKEN, f"{_USER} is set, too; remove one of them")
    username, password, token = reader.text(_USER), reader.text(_PASSWORD), reader.text(_TOKEN)
    if token == "":
        reader.problem(_TOKEN, "is empty; write the token, or remove the key")
    elif token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        reader.problem(_TOKEN, "has white space or a character that HTTP does not allow; correct it")
    if username and ":" in username:
        reader.problem(_USER, "has a colon, which HTTP's basic authentication does not allow; correct it")
    receiver = Receiver(
        name=name,
        url=reader.text(_URL) or "",
        username=username,
        password=password,
        token=token,
        certificates=read_certificates(reader),
    )
    problems: list[tuple[tuple[str, ...], str]] = [((problem.name,), problem.message) for problem in reader.problems]
    return (None if problems else receiver), problems


def _check_url(reader: SettingsReader) -> None:
    if _URL not in reader.settings:
        reader.problem(_URL, "is missing; write the URL that receives the notifications")
    elif not reader.encrypted(_URL):
        url = split_url(reader.text(_URL) or "")
        if url is None:
            reader.problem(_URL, "expected a URL such as https://receiver.example.com/hook, got another text")
        elif "@" in url.netloc:
            reader.problem(_URL, f"has a user, which no client sends; write it as {_USER} and {_PASSWORD}")
        elif url.fragment:
            reader.problem(_URL, "has a fragment after #, which no client sends; remove it")
