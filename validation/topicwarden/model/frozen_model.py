"""The base class of models that are published as JSON."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """A model that cannot be changed and accepts no unknown field."""

    model_config = ConfigDict(frozen=True, extra="forbid")
