"""Pydantic model of the files below ``access/``: the keys of each kind, the allowances, and overrides by stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field, create_model

from topicwarden.kinds import in_file_order
from topicwarden.kinds.access_spec import AccessSpec
from topicwarden.model.access_fields import or_text
from topicwarden.model.field_types import Day, Nullable, StrictModel

ACCESS_SPECS: Final[tuple[AccessSpec, ...]] = tuple(each.SPEC for each in in_file_order("spec"))
_CHANGES: Final = (
    *("revoke-access", "first-acl", "open-access", "throttle-clients"),
    *("remove-credential", "replace-credential"),
)


class AccessPermissionSpec(StrictModel):
    """One change of access that is allowed, optionally until a day."""

    change: Literal[
        "revoke-access", "first-acl", "open-access", "throttle-clients", "remove-credential", "replace-credential"
    ] = Field(description="The change that is allowed.")
    until: Day | None = Field(default=None, description="The last day on which it is allowed, as 2027-01-31 (in UTC).")


if TYPE_CHECKING:
    _KindSettings = StrictModel
else:  # pydantic collects the fields of the last base first
    _KindSettings = create_model("_KindSettings", __base__=tuple(each.settings for each in reversed(ACCESS_SPECS)))


class AccessSettings(_KindSettings):
    """All keys of a file below ``access/`` that can differ by stack."""

    allow: list[Annotated[AccessPermissionSpec, *or_text("change", {"enum": list(_CHANGES)})]] | None = Field(
        default=None, description="Changes of access that are allowed, each by name: [revoke-access]."
    )


class AccessDocument(AccessSettings):
    """A file below ``access/``: the access that is not a single topic's."""

    stacks: Nullable[dict[str, Nullable[AccessSettings]]] = Field(default={}, description="Overrides by stack.")
