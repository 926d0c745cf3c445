"""The receivers of notifications that a stack declares, from its decrypted settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from topicwarden.kafka.connect.stack_connection import settings_file
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.specs.stacks.receiver_settings import Receiver, read_receivers
from topicwarden.specs.stacks.stack_settings import NOTIFICATIONS


def receivers_of(project: Project, stack: str, settings: Mapping[str, Any]) -> tuple[Receiver, ...]:
    """Return the receivers in the decrypted ``settings`` of ``stack``. Refuse invalid settings."""
    if settings.get(NOTIFICATIONS) is None:
        return ()
    receivers, problems = read_receivers(settings[NOTIFICATIONS], project.root)
    if problems:
        lines = (f"{NOTIFICATIONS}{''.join(f'.{part}' for part in each.path)}: {each.message}" for each in problems)
        raise Refusal("\n".join(f"{settings_file(stack)}: {line}" for line in lines))
    return tuple(receivers)
