"""The YAML of settings of groups, in a file below ``access/``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pydantic import Field

from topicwarden.kafka_facts.config_values import GroupConfig
from topicwarden.kinds.access_spec import AccessFile, AccessSpec, Entry
from topicwarden.kinds.group_config.change import GROUP_CONFIGS
from topicwarden.model.access_fields import Name
from topicwarden.model.field_types import Nullable, StrictModel


class GroupConfigSettings(StrictModel):
    """The key of settings of groups in a file below ``access/``."""

    group_configs: Nullable[dict[Name, GroupConfig]] = Field(
        default={}, description="Kafka's settings of groups, by group."
    )


def _entries(file: AccessFile) -> Iterator[Entry]:
    for name, settings, locate in file.items(GROUP_CONFIGS):
        if settings:
            yield Entry(name, dict(sorted(settings.items())), locate(""), f"the group {name}")


SPEC: Final = AccessSpec(GROUP_CONFIGS, GroupConfigSettings, _entries)
