"""The YAML of SCRAM users, in a file below ``access/``. Messages never repeat a password."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, WithJsonSchema

from topicwarden.kinds.access_spec import AccessFile, AccessSpec, Entry, missing_keys
from topicwarden.kinds.scram_user.change import USERS
from topicwarden.model.access import FEWEST_ITERATIONS, ScramUser, SecretReference
from topicwarden.model.field_types import Nullable, StrictModel, UserName, custom_error
from topicwarden.model.message_text import did_you_mean, quoted
from topicwarden.model.problem import Problem

MOST_ITERATIONS: Final = 16384
"""The most iterations that Kafka accepts for both mechanisms (``ScramControlManager``)."""
MECHANISMS: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
_SECRET_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9._:-]{0,254}", re.ASCII)


def _scram_name(value: str) -> str:
    """Return a name of a SCRAM user; refuse one that no client can log in with (``ScramMessages``: ASCII only)."""
    if illegal := re.search(r"[^\x01-\x7f]", value):
        raise custom_error(
            "name",
            f"expected the name of a SCRAM user of ASCII characters, got {quoted(value)}: brokers refuse the login of "
            f"others; replace {quoted(illegal[0])}",
        )
    return value


def _secret_reference(value: Any) -> dict[str, str]:
    """Return the name and the version of a secret. The message never repeats the value: it may be the password."""
    expected = "expected a reference to a secret such as {secret: orders-password, version: 3}"
    if not isinstance(value, dict) or value.keys() - {"secret", "version"}:
        raise custom_error(
            "plaintext-secret",
            f"{expected}, got something else, which is not repeated here; if it is a password, delete it from the file "
            "and its history, choose a new one, and write it with `pulumi config set --secret NAME`",
        )
    secret, version = value.get("secret"), value.get("version")
    if not isinstance(secret, str) or not _SECRET_NAME.fullmatch(secret):
        raise custom_error(
            "plaintext-secret", f"{expected}, got another secret; write the name of the secret, not the password"
        )
    valid_number = isinstance(version, int) and not isinstance(version, bool) and version >= 0
    if not valid_number and not (isinstance(version, str) and re.fullmatch(r"[A-Za-z0-9._-]{1,64}", version)):
        raise custom_error("value", f"{expected}, got no version, or an invalid one; write a number such as 1")
    return {"secret": secret, "version": str(version)}


def _mechanisms(value: Any) -> list[Any]:
    """Return the listed mechanisms. The message never repeats another text: it may be the password."""
    mechanisms = value if isinstance(value, list) else [value]
    for each in mechanisms:
        if each not in MECHANISMS:
            hint = did_you_mean(each, MECHANISMS) if isinstance(each, str) else ""
            message = f"expected one of {', '.join(MECHANISMS)}, got something else, which is not repeated here{hint}"
            raise custom_error("value", message)
    return mechanisms


def _iterations(value: Any) -> Any:
    if isinstance(value, str):
        raise custom_error("type", "expected a whole number such as 8192, got text, which is not repeated here")
    return value


def _user_mapping(value: Any) -> Any:
    if value is not None and not isinstance(value, dict):
        expected = (
            "expected a mapping such as {mechanism: SCRAM-SHA-512, password: {secret: orders-password, version: 3}}"
        )
        raise custom_error("plaintext-secret", f"{expected}, got something else, which is not repeated here")
    return value


ScramName = Annotated[UserName, AfterValidator(_scram_name)]


class UserSpec(StrictModel):
    """A user with a SCRAM credential."""

    mechanism: (
        Annotated[
            list[str],
            BeforeValidator(_mechanisms),
            Field(min_length=1),
            WithJsonSchema(
                {
                    "anyOf": [
                        {"enum": [*MECHANISMS]},
                        {"type": "array", "items": {"enum": [*MECHANISMS]}, "minItems": 1},
                    ]
                }
            ),
        ]
        | None
    ) = Field(default=None, description="The mechanism, or a list of both.")
    iterations: (
        Annotated[int, Field(strict=True, ge=FEWEST_ITERATIONS, le=MOST_ITERATIONS), BeforeValidator(_iterations)]
        | None
    ) = Field(
        default=None, description=f"The number of iterations; by default {FEWEST_ITERATIONS}, as Kafka's tools write."
    )
    password: (
        Annotated[
            Mapping[str, str],
            PlainValidator(_secret_reference),
            WithJsonSchema(
                {
                    "type": "object",
                    "properties": {
                        "secret": {
                            "type": "string",
                            "description": "The name of the secret in the stack's configuration.",
                        },
                        "version": {
                            "anyOf": [{"type": "integer"}, {"type": "string"}],
                            "description": "Any text or number; a new one says that the password is a new one.",
                        },
                    },
                    "required": ["secret", "version"],
                    "additionalProperties": False,
                }
            ),
        ]
        | None
    ) = Field(default=None, description="The secret with the password, and its version.")


class UserSettings(StrictModel):
    """The key of SCRAM users in a file below ``access/``."""

    users: Nullable[dict[ScramName, Annotated[Nullable[UserSpec], BeforeValidator(_user_mapping)]]] = Field(
        default={}, description="SCRAM users by name."
    )


def _entries(file: AccessFile) -> Iterator[Entry | Problem]:
    for name, settings, locate in file.items(USERS):
        missing = [key for key in ("mechanism", "password.secret") if key not in settings]
        if missing:
            yield from missing_keys(f"users.{name}", (key.partition(".")[0] for key in missing), locate(""))
            continue
        password = SecretReference(settings["password.secret"], settings["password.version"])
        for mechanism in dict.fromkeys(settings["mechanism"]):
            user = ScramUser(name, mechanism, settings.get("iterations", FEWEST_ITERATIONS), password)
            yield Entry((name, mechanism), user, locate(""), f"the user {quoted(name)}")


SPEC: Final = AccessSpec(USERS, UserSettings, _entries)
