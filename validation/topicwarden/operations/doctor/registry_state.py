"""Says whether the Schema Registry of a stack can be used."""

from __future__ import annotations

from collections.abc import Sequence

from topicwarden.model.diagnosis import RegistryState
from topicwarden.specs.stacks.registry_settings import RegistrySettings


def registry_state(settings: RegistrySettings, commands: Sequence[str]) -> RegistryState:
    """Return the state of a registry that ``commands`` need, read with three requests that change nothing."""
    # Without a registry, this command needs no client.
    from topicwarden.kafka.registry.client import RegistryClient  # noqa: PLC0415
    from topicwarden.kafka.registry.read import read_registry, subject_names  # noqa: PLC0415
    from topicwarden.kafka.registry.registry_error import RegistryError  # noqa: PLC0415

    try:
        with RegistryClient(settings) as client:
            subjects = len(subject_names(client))
            found = read_registry(client, ())
            if found.error:
                return RegistryState(url=client.address, commands=[*commands], subjects=subjects, problem=found.error)
            level = found.compatibility.value if found.compatibility else None
            return RegistryState(
                url=client.address, commands=[*commands], subjects=subjects, mode=found.mode, compatibility=level
            )
    except RegistryError as error:
        return RegistryState(commands=[*commands], problem=error.reason)
