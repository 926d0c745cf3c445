"""The ``kafka:saslAws…`` settings: which AWS identity connects to Amazon MSK with IAM."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from topicwarden.model.message_text import quoted
from topicwarden.specs.stacks.settings_reader import SettingsReader

REGION: Final = "kafka:saslAwsRegion"
_PROFILE, _ROLE, _EXTERNAL_ID = "kafka:saslAwsProfile", "kafka:saslAwsRoleArn", "kafka:saslAwsExternalId"
_ACCESS_KEY, _SECRET_KEY, _TOKEN = "kafka:saslAwsAccessKey", "kafka:saslAwsSecretKey", "kafka:saslAwsToken"
NAMES: Final = (REGION, _PROFILE, _ROLE, _EXTERNAL_ID, _ACCESS_KEY, _SECRET_KEY, _TOKEN)
SECRETS: Final = (_SECRET_KEY, _TOKEN)

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
