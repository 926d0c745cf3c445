"""The YAML of settings of groups, in a file below ``access/``.

Source: ``GroupConfig.validate``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pydantic import Field

from topicwarden.kafka_facts.config_values import GroupConfig
from topicwarden.kinds.access_spec import AccessFile, AccessSpec, Entry
from topicwarden.kinds.group_config.change import GROUP_CONFIGS
from topicwarden.model.field_types import Name, Nullable, StrictModel
from topicwarden.model.problem import Problem
from topicwarden.model.units import DURATION


class GroupConfigSettings(StrictModel):
    """The key of settings of groups in a file below ``access/``."""

    group_configs: Nullable[dict[Name, GroupConfig]] = Field(
        default={}, description="Kafka's settings of groups, by group."
    )


def _entries(file: AccessFile) -> Iterator[Entry | Problem]:
    for name, settings, locate in file.items(GROUP_CONFIGS):
        for kind in ("consumer", "share", "streams"):
            names = (f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms")
            session, heartbeat = (int(settings.get(each) or 0) for each in names)
            if session and heartbeat and session <= heartbeat:
                expected = f"expected more than the {names[1]} of {DURATION.format(heartbeat)}"
                message = f"group_configs.{name}.{names[0]}: {expected}, got {DURATION.format(session)}"
                yield Problem(locate(names[0]), message, "config-value")
        if settings:
            yield Entry(name, dict(sorted(settings.items())), locate(""), f"the group {name}")


SPEC: Final = AccessSpec(GROUP_CONFIGS, GroupConfigSettings, _entries)
