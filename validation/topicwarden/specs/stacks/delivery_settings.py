"""The receivers of the results of audits: ``topicwarden:notifications`` and ``topicwarden:catalogues`` of a stack.

Both values are mappings by name. Each receiver of notifications has a ``url`` and, where the server requires it, how to
authenticate: ``username`` and ``password``, or ``token``, or ``clientCert`` and ``clientKey``. The URL of a webhook is
a secret. Each catalogue has an address: ``openlineage`` is the URL of a server or the path of a file. Pulumi encrypts
single values::

    pulumi config set --path --secret 'topicwarden:notifications.on-call.url'
    pulumi config set --path --secret 'topicwarden:catalogues.marquez.token'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from topicwarden.model.message_text import quoted
from topicwarden.specs.stacks import certificate_settings
from topicwarden.specs.stacks.certificate_settings import Certificates, read_certificates
from topicwarden.specs.stacks.http_credentials import PASSWORD, TOKEN, USER, read_http_credentials
from topicwarden.specs.stacks.http_url import split_url
from topicwarden.specs.stacks.settings_reader import SettingProblem, SettingsReader, decoded, is_encrypted, kind_of

_FORMAT, _URL = "format", "url"
RECEIVER_KEYS: Final = (_URL, USER, PASSWORD, TOKEN, *certificate_settings.NAMES)
"""The keys of one receiver."""
RECEIVER_NAME: Final = "^[a-z0-9][a-z0-9-]{0,39}$"
"""A name is also the name of a file."""
RECEIVER_SECRETS: Final = (_URL, PASSWORD, TOKEN, *certificate_settings.NAMES)
"""The keys whose values to encrypt, unless ``certificate_settings.is_public``."""
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
        return [], [SettingProblem((), f"expected {expected}, got {kind_of(parsed)}")]
    receivers, problems = [], []
    for name, each in parsed.items():
        if not isinstance(name, str) or not re.fullmatch(RECEIVER_NAME, name):
            message = (
                f"expected a name of lower-case letters, digits and hyphens, such as on-call, got {quoted(str(name))}"
            )
            problems.append(SettingProblem((str(name),), message))
            continue
        receiver, found = _receiver(name, each, root, offline)
        receivers += [receiver] if receiver else []
        problems += [SettingProblem((name, *path), message) for path, message in found]
    return receivers, problems


def _receiver(name: str, value: Any, root: Path, offline: bool) -> tuple[Receiver | None, list[SettingProblem]]:
    parsed = decoded(value)
    if not isinstance(parsed, dict) or is_encrypted(parsed):
        return None, [SettingProblem((), f"expected a mapping with url, got {kind_of(parsed)}")]
    given = {str(key): each for key, each in parsed.items() if each is not None or key == _FORMAT}
    reader = SettingsReader(given, root, offline)
    reader.unknown(RECEIVER_KEYS, {_FORMAT: _NO_ALERTMANAGER if given.get(_FORMAT) == "alertmanager" else _NO_FORMAT})
    _check_url(reader)
    username, password, token = read_http_credentials(reader)
    receiver = Receiver(
        name=name,
        url=reader.text(_URL) or "",
        username=username,
        password=password,
        token=token,
        certificates=read_certificates(reader),
    )
    return (None if reader.problems else receiver), reader.problems


def _check_url(reader: SettingsReader) -> None:
    if _URL not in reader.settings:
        reader.problem(_URL, "is missing; write the URL that receives the notifications")
    elif not reader.encrypted(_URL):
        url = split_url(reader.text(_URL) or "")
        if url is None:
            reader.problem(_URL, "expected a URL such as https://receiver.example.com/hook, got another text")
        elif "@" in url.netloc:
            reader.problem(_URL, f"has a user, which no client sends; write it as {USER} and {PASSWORD}")
        elif url.fragment:
            reader.problem(_URL, "has a fragment after #, which no client sends; remove it")


_COMMON: Final = (TOKEN, *certificate_settings.NAMES)
CATALOGUE_ADDRESS: Final = "openlineage"
CATALOGUE_KEYS: Final = (CATALOGUE_ADDRESS, "namespace", "cluster", *_COMMON)
"""The keys of a catalogue."""
_GONE: Final = {
    "datahub": "DataHub gets no verdicts any more; remove this catalogue, or write `openlineage: "
    "https://…/openapi/openlineage`, with which DataHub shows lineage, but no verdicts",
    "env": "belonged to `datahub`, which is gone; remove it",
    "instance": "belonged to `datahub`, which is gone; remove it",
}
"""The keys of earlier versions, and what to do."""
CATALOGUE_SECRETS: Final = _COMMON
"""The keys whose values to encrypt, unless ``certificate_settings.is_public``."""

CATALOGUE_NAME: Final = "^[a-z][a-z0-9-]{0,30}$"
"""The pattern of a catalogue's name, which is also the name of a folder."""
CATALOGUE_PATTERNS: Final[Mapping[str, str]] = {
    CATALOGUE_ADDRESS: r"^(https?://[^\s@]+|[^\s:][^:]*)$",
    TOKEN: "^[!-~]+$",
    "namespace": r"^\S+$",
    "cluster": r"^[^\s/:]+:[0-9]{1,5}$",
}
_LARGEST_PORT: Final = 65_535
_DECLARATIONS: Final = (".yaml", ".yml")
_EXPECTED: Final[Mapping[str, str]] = {
    CATALOGUE_ADDRESS: "a URL such as https://marquez.example.com, without a user, or the path of a file",
    TOKEN: "printable characters without spaces",
    "namespace": "a namespace of jobs, such as kafka-audits",
    "cluster": "a host and a port, such as broker-1.example.com:9092",
}


@dataclass(frozen=True)
class CatalogueSettings:
    """A catalogue, and how to authenticate; ``repr`` shows no secret.

    ``url`` is None for a file. ``namespace`` and ``cluster`` name jobs and datasets.
    """

    name: str
    url: str | None = None
    file: Path | None = None
    token: str | None = field(default=None, repr=False)
    namespace: str = "topicwarden"
    cluster: str | None = None
    certificates: Certificates = field(default_factory=Certificates)


def read_catalogue_settings(
    value: Any, root: Path, *, offline: bool = False
) -> tuple[list[CatalogueSettings], list[SettingProblem]]:
    """Return the catalogues in the setting's value, and every problem with it.

    The path of a problem begins with the name of a catalogue; it is empty for the whole value. ``root`` and ``offline``
    as in ``SettingsReader``.
    """
    declared = decoded(value)
    if not isinstance(declared, dict) or not declared:
        example = "such as {marquez: {openlineage: https://marquez.example.com}}"
        got = "an empty mapping" if declared == {} else kind_of(declared)
        return [], [SettingProblem((), f"expected a mapping of catalogues by name, {example}, got {got}")]
    catalogues: list[CatalogueSettings] = []
    problems: list[SettingProblem] = []
    for name, settings in declared.items():
        if not re.fullmatch(CATALOGUE_NAME, str(name)):
            expected = "expected a name of lower-case letters, digits and hyphens, such as marquez"
            problems.append(SettingProblem((str(name),), f"{expected}, got {quoted(str(name))}"))
            continue
        catalogue, found = _catalogue(str(name), settings, root, offline)
        problems += [SettingProblem((str(name), *path), message) for path, message in found]
        if catalogue:
            catalogues.append(catalogue)
    return catalogues, problems


def _catalogue(
    name: str, value: Any, root: Path, offline: bool
) -> tuple[CatalogueSettings | None, list[SettingProblem]]:
    gone = isinstance(value, dict) and any(key in value for key in _GONE)
    if not gone and (not isinstance(value, dict) or CATALOGUE_ADDRESS not in value):
        return None, [SettingProblem((), f"expected a mapping with openlineage, got {_keys_of(value)}")]
    reader = SettingsReader(value, root, offline)
    reader.unknown(CATALOGUE_KEYS, _GONE)
    texts = {key: reader.text(key) for key in CATALOGUE_PATTERNS}
    for key, text in texts.items():
        if (
            key in value
            and text is None
            and not reader.encrypted(key)
            and not any((key,) == each.path for each in reader.problems)
        ):
            reader.problem(key, "expected text, got nothing; remove it or write a value")
        if text is not None and not (re.fullmatch(CATALOGUE_PATTERNS[key].strip("^$"), text) and _usable(key, text)):
            reader.problem(key, f"expected {_EXPECTED[key]}, got {_shown(key, text, offline=offline)}")
    address = texts[CATALOGUE_ADDRESS] or ""
    remote = address.startswith(("http://", "https://"))
    if address and not remote:
        _check_file(reader, address)
    given = {key: texts[key] for key in ("namespace", "cluster") if texts.get(key)}
    catalogue = CatalogueSettings(
        name,
        url=address.rstrip("/") if remote else None,
        file=None if remote or not address else root / address,
        token=texts[TOKEN],
        certificates=read_certificates(reader),
        **given,  # type: ignore[arg-type]  # each of these is text
    )
    return catalogue, reader.problems


def _keys_of(value: Any) -> str:
    """Return the kind of a value that names no catalogue, with its keys."""
    if not isinstance(value, dict) or is_encrypted(value):
        return kind_of(value)
    return f"a mapping with {', '.join(quoted(str(key)) for key in value)}" if value else "an empty mapping"


def _usable(key: str, text: str) -> bool:
    """Return whether a text that matches its pattern can be used, too."""
    if key == CATALOGUE_ADDRESS and text.startswith(("http://", "https://")):
        return split_url(text) is not None and not {"?", "#"} & {*text}  # a path is appended
    return key != "cluster" or int(text.rpartition(":")[2]) <= _LARGEST_PORT


def _check_file(reader: SettingsReader, address: str) -> None:
    """Note what is wrong with the path of a file of events, and with settings that only a server obeys."""
    key = CATALOGUE_ADDRESS
    if not address.isprintable():
        reader.problem(key, "expected the path of a file, got one with control characters")
    elif reader.offline and (reader.root / address).is_dir():  # else the delivery is repeated
        reader.problem(key, f"expected the path of a file, got the folder {quoted(address)}")
    elif address.lower().endswith(_DECLARATIONS):
        reader.problem(key, f"expected a file for events, such as lineage/events.ndjson, got {quoted(address)}")
    for name in _COMMON:
        if name in reader.settings:
            reader.problem(name, "has no effect on events in a file; remove it")


def _shown(key: str, text: str, *, offline: bool) -> str:
    """Return the value for a message. An address may have a password, or may be an encrypted value."""
    if key == TOKEN:
        return "others"
    if key != CATALOGUE_ADDRESS:
        return quoted(text)
    if "@" in text:
        return "one with a user; write the credential as token"
    if "?" in text or "#" in text:
        return "one with a query or a fragment; remove it"
    return quoted(text) if offline else "another text"
