"""Pydantic field types of the YAML of access and subjects. Messages never repeat a password."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BeforeValidator,
    GetJsonSchemaHandler,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, InitErrorDetails

from topicwarden.model.field_types import custom_error
from topicwarden.model.message_text import describe_value, did_you_mean, quoted

_MOST_BYTES: Final = 2**15 - 1
"""The most bytes of a name in Kafka's protocol, whose texts have lengths of two bytes."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
STRING: Final = {"type": "string", "minLength": 1}
"""The JSON Schema of a text that is not empty."""


def text_type(noun: str, example: str) -> Callable[[Any], str]:
    """Return a validator of a text on one line; ``noun`` and ``example`` are for its messages."""

    def check(value: Any) -> str:
        if not isinstance(value, str):
            hint = "; put it in quotes" if isinstance(value, (int, float)) else ""
            raise custom_error("type", f"expected {noun} such as {example}, got {describe_value(value)}{hint}")
        if not value:
            raise custom_error("value", f"expected {noun} such as {example}, got empty text")
        if _CONTROL.search(value):
            raise custom_error(
                "value", f"expected {noun} on one line, got {quoted(value)}; delete the line break or tab"
            )
        if len(value.encode("utf-8", "surrogatepass")) > _MOST_BYTES:
            raise custom_error("value", f"expected {noun} of at most {_MOST_BYTES:,} bytes, got {quoted(value)}")
        return value

    return check


def ip_address(value: Any, or_else: str = "") -> str:
    """Return an IP address as Kafka compares it: as ``InetAddress.getHostAddress`` prints it."""
    text = text_type("an IP address", "10.0.0.7")(value)
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        remedy = "Kafka compares addresses as text, so a host name or a network never matches"
        raise custom_error("value", f"expected an IP address{or_else}, got {quoted(text)}; {remedy}") from None
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    groups = ":".join(address.packed[index : index + 2].hex().lstrip("0") or "0" for index in range(0, 16, 2))
    return f"{groups}%{address.scope_id}" if address.scope_id else groups


def _user_name(value: str) -> str:
    if value.startswith("User:"):
        raise custom_error(
            "value", f"expected the name of a user without its type, got {quoted(value)}; write {value[5:]}"
        )
    if value == "<default>":
        raise custom_error("value", 'expected a name, got "<default>"; write default: [user], [client_id] or [ip]')
    return value


def word_type(words: type[StrEnum], noun: str) -> tuple[PlainValidator, WithJsonSchema]:
    """Return the annotations of a word, read in each spelling that Kafka's tools accept: ``DESCRIBE_CONFIGS``."""
    by_letters = {word.value.lower(): word for word in words}
    choices = [word.value for word in words]

    def check(value: Any) -> StrEnum:
        letters = value.replace("_", "").replace("-", "").lower() if isinstance(value, str) else ""
        if letters not in by_letters:
            suggestion = did_you_mean(value, choices) if isinstance(value, str) else ""
            known = f"one of {', '.join(choices)}"
            raise custom_error("value", f"expected {noun}, {known}, got {describe_value(value)}{suggestion}")
        return by_letters[letters]

    other_spellings = "|".join(spelling for word in words for spelling in (word.name, word.name.lower()))
    schema = {"anyOf": [{"enum": choices}, {"type": "string", "pattern": f"^({other_spellings})$"}]}
    return PlainValidator(check), WithJsonSchema(schema)


@dataclass(frozen=True)
class _OrText:
    """Adds a plain text with the JSON Schema ``text`` to the JSON Schema of a mapping."""

    text: Mapping[str, Any]

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [dict(self.text), handler(schema)]}


def or_text(key: str, text: Mapping[str, Any]) -> tuple[BeforeValidator, _OrText]:
    """Return the annotations of a mapping for which the value of ``key`` alone, with the schema ``text``, is enough."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value), _OrText(text)


def error_at(key: str, message: str) -> ValidationError:
    """Return an error at ``key`` of a mapping, or at the mapping itself if it is empty."""
    error = InitErrorDetails(type=custom_error("value", message), loc=(key,) if key else (), input=None)
    return ValidationError.from_exception_data("access", [error])


Name = Annotated[str, PlainValidator(text_type("a name", "billing")), WithJsonSchema(STRING)]
UserName = Annotated[Name, AfterValidator(_user_name)]
"""The name of a user without its type, as Kafka has it outside of ACLs."""
