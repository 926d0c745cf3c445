"""The declared rules that compare records: ``ordered``, ``unique`` and ``references`` under ``contents``."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from topicwarden.model.field_types import Flag, Period, StrictModel, Text, custom_error


def path_steps(path: str) -> tuple[str, ...]:
    """Return the steps of a JSON pointer (``/a/b``) or of a dotted path (``a.b``) from a value to a field."""
    if not path.startswith("/"):
        return tuple(path.split("."))
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/"))


def _path(path: Any) -> Any:
    if not all(path_steps(path)):
        raise custom_error("type", "expected the path of a field, such as order.id or /order/id")
    return path


FieldPath = Annotated[Text, AfterValidator(_path)]
"""A JSON pointer, or a path with dots, to a single value in the records' values."""


class UniqueRule(StrictModel):
    """An identity that no two retained records have in common."""

    fields: tuple[FieldPath, ...] | None = Field(default=(), description="Fields of the value: order.id or /order/id.")
    header: Text | None = Field(default=None, description="A header, whose last value is a part of the identity.")
    key: Flag | None = Field(default=False, description="Whether the key is a part of the identity.")
    within: Period | None = Field(
        default=None, description="Only records whose timestamps differ by no more than this: 1d."
    )

    @property
    def label(self) -> str:
        """The names of the parts, for messages."""
        header = (f"header {self.header}",) if self.header else ()
        return ", ".join((*(self.fields or ()), *header, *(("key",) if self.key else ())))


class OrderedRule(StrictModel):
    """A field that never falls from one record of a key to the next in its partition."""

    field: FieldPath = Field(description="A field of the value: version or /version.")
    strict: Flag | None = Field(default=False, description="Whether it must rise with each record.")


DEFAULT_GRACE_MS: Final = 600_000


class ReferenceRule(StrictModel):
    """A field whose value is a key of another topic of the stack, or of the same one."""

    field: FieldPath = Field(description="A field of the value: customer_id or /customer/id.")
    topic: Text = Field(description="The topic whose keys the field refers to.")
    grace: Period | None = Field(
        default=None, description="Records whose timestamps are younger than this are not judged; by default 10m."
    )

    @property
    def grace_ms(self) -> int:
        """Return how old a record is when it is judged, in milliseconds."""
        return DEFAULT_GRACE_MS if self.grace is None else self.grace
