"""Pydantic field types of the YAML files, with messages that repeat no password, and the base class of models."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, LiteralString, Self, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from topicwarden.model.message_text import describe_value, did_you_mean, quoted, whole_number_hint
from topicwarden.model.units import DURATION, SIZE, UNLIMITED, ValueUnit

T = TypeVar("T")

LONGEST_PERIOD: Final = 36_500 * 86_400_000
"""The longest period of a policy, 100 years in milliseconds. A longer one is a mistake of units."""
LARGEST: Final = 2**63 - 1
"""The largest duration (ms) and size (bytes): that of Kafka's settings, and of a number in the reader."""


def custom_error(rule: LiteralString, message: str) -> PydanticCustomError:
    """Return the error that a validator raises to report a problem with the id ``rule`` and the text ``message``."""
    return PydanticCustomError(rule, "{message}", {"message": message})


def _parse_unit(unit: ValueUnit) -> Callable[[Any], Any]:
    def number(value: Any) -> Any:
        if isinstance(value, str):
            try:
                return unit.parse(value)
            except ValueError as error:
                raise custom_error("value", str(error)) from error
        if isinstance(value, bool) or not isinstance(value, int):
            hint = whole_number_hint(value) if isinstance(value, float) else ""
            raise custom_error(
                "type", f"expected a {unit.noun} such as {unit.example}, got {describe_value(value)}{hint}"
            )
        return value

    return number


def _parse_period(value: Any) -> Any:
    """Return the milliseconds of a period that has to pass before something is reported."""
    without_limit = value in (-1, "-1") or (isinstance(value, str) and value.strip().lower() in UNLIMITED)
    number = value if without_limit else _parse_unit(DURATION)(value)
    if not without_limit and 1 <= number <= LONGEST_PERIOD:
        return number
    remedy = "; for no limit, write null or delete the key" if without_limit or number < 1 else ""
    got = quoted(value) if isinstance(value, str) else value
    raise custom_error("value", f"expected a duration from 1ms to {DURATION.format(LONGEST_PERIOD)}, got {got}{remedy}")


def _parse_day(value: Any) -> date:
    try:
        if isinstance(value, str) and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value, re.ASCII):
            return date.fromisoformat(value)
    except ValueError:
        pass
    raise custom_error("value", f"expected a day of the calendar such as 2027-01-31, got {describe_value(value)}")


class _NullableSchema:
    """Adds null to the JSON Schema of a mapping."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [handler(schema), {"type": "null"}]}


def _unit_schema(unit: ValueUnit, minimum: int, maximum: int = LARGEST) -> WithJsonSchema:
    number = {"type": "integer", "minimum": minimum, "maximum": maximum}
    return WithJsonSchema({"anyOf": [number, {"type": "string", "pattern": unit.pattern}]})


Text = Annotated[str, Field(strict=True, min_length=1)]
Flag = Annotated[bool, Field(strict=True)]
Partitions = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
ReplicationFactor = Annotated[int, Field(strict=True, ge=1, le=2**15 - 1)]
PerDay = Annotated[int, Field(strict=True, ge=0)]
Ratio = Annotated[float, Field(strict=True, ge=1, allow_inf_nan=False)]
Price = Annotated[float, Field(strict=True, ge=0, le=1_000_000, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)]
Duration = Annotated[int, BeforeValidator(_parse_unit(DURATION)), Field(ge=0, le=LARGEST), _unit_schema(DURATION, 0)]
Period = Annotated[int, BeforeValidator(_parse_period), _unit_schema(DURATION, 1, LONGEST_PERIOD)]
Size = Annotated[int, BeforeValidator(_parse_unit(SIZE)), Field(ge=1, le=LARGEST), _unit_schema(SIZE, 1)]
Day = Annotated[date, BeforeValidator(_parse_day), WithJsonSchema({"type": "string", "format": "date"})]
Nullable = Annotated[T, BeforeValidator(lambda value: {} if value is None else value), _NullableSchema()]

Format = Literal["string", "json", "avro", "protobuf", "bytes", "int", "long", "uuid"]
Partitioner = Literal["murmur2", "crc32", "fnv1a", "sarama"]
FUNCTION = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"
FunctionName = Annotated[str, Field(strict=True, pattern=FUNCTION)]


class StrictModel(BaseModel):
    """A mapping that rejects unknown keys and cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @classmethod
    def with_defaults(cls) -> Self:
        """Return the model with the default of each field.

        Unlike ``cls()``, this builds no validator, which takes as long as the check of a small project for all models.
        """
        return cast("Self", cls.model_construct())


class BuiltAtFirstUse:
    """Annotates a model in another one: its validator is built when a file has a value for it, not with the other."""

    def __get_pydantic_core_schema__(self, model: type[BaseModel], _: GetCoreSchemaHandler) -> CoreSchema:
        self._model = model
        return core_schema.no_info_plain_validator_function(model.model_validate)

    def __get_pydantic_json_schema__(self, _: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        self._model.model_rebuild()
        # pydantic defines a model by its name, and refers to it, only if the model is in another schema
        items: dict[str, Any] = handler(core_schema.list_schema(self._model.__pydantic_core_schema__))["items"]
        return items


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
