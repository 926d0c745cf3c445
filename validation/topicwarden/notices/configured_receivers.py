"""The receivers of notifications that a stack declares, with their secrets decrypted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from topicwarden.kafka.connect.stack_connection import settings_file, stack_settings, written_settings
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.stacks.receiver_settings import Receiver, read_receivers
from topicwarden.stacks.stack_settings import NOTIFICATIONS


def receivers_of(project: Project, stack: str, variables: Mapping[str, str] | None = None) -> tuple[Receiver, ...]:
    """Return the receivers of ``stack``; decrypts nothing if there are none. Refuse invalid settings.

    ``variables`` are added to the environment of ``pulumi``, which decrypts the settings.
    """
    if written_settings(project, stack).get(NOTIFICATIONS) is None:
        return ()
    value = stack_settings(project, stack, variables).get(NOTIFICATIONS)
    receivers, problems = read_receivers(value, project.root)
    if problems:
        lines = (f"{NOTIFICATIONS}{''.join(f'.{part}' for part in each.path)}: {each.message}" for each in problems)
        raise Refusal("\n".join(f"{settings_file(stack)}: {line}" for line in lines))
    return tuple(receivers)


def state_folder(project: Project, stack: str) -> Path:
    """Return the folder of what the receivers of ``stack`` know and what is pending."""
    return project.cache / "notifications" / stack
