"""Asks the brokers which changes of topics they would refuse: requests with ``validate_only``, which change nothing.

Brokers validate a change together with all settings of the topic, and with their own: a setting that an earlier version
accepted, tiered storage that is off, a policy class, the name of another topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kafka import KafkaAdminClient
from kafka.admin import ConfigResourceType
from kafka.errors import (
    InvalidConfigurationError,
    InvalidTopicError,
    KafkaError,
    PolicyViolationError,
)

from topicwarden.kafka.connect.client_internals import from_controller, send_to_any_broker, settings_request
from topicwarden.kafka.connect.request_errors import retry_transient

_RECORDS: Final = 8_000
"""Metadata records of one request: more than 10,000 are refused as a whole (``MAX_RECORDS_PER_USER_OP``)."""
_REFUSALS: Final = (InvalidConfigurationError.errno, InvalidTopicError.errno, PolicyViolationError.errno)
"""Errors of a change itself. All others, such as a missing permission, say nothing about it."""


@dataclass(frozen=True)
class ValidatedChange:
    """The creation of a topic, or new values of the settings of one; None in ``config`` removes a setting.

    ``partitions`` and ``replication_factor`` are 0 for a topic that exists.
    """

    config: tuple[tuple[str, str | None], ...]
    partitions: int = 0
    replication_factor: int = 0

    @property
    def records(self) -> int:
        """The number of metadata records of the change."""
        return 1 + self.partitions + len(self.config)


def refused_changes(admin: KafkaAdminClient, changes: Mapping[str, ValidatedChange]) -> dict[str, str]:
    """Return why the brokers would refuse changes, by topic; nothing of those that they do not judge now."""
    refused: dict[str, str] = {}
    for batch in _batches(changes):
        created = {name: each for name, each in batch.items() if each.partitions}
        altered = {name: each for name, each in batch.items() if not each.partitions}
        try:
            refused |= _refused_creations(admin, created) if created else {}
            refused |= _refused_settings(admin, altered) if altered else {}
        except KafkaError:  # the deploy would show it
            return refused
    return refused


def _batches(changes: Mapping[str, ValidatedChange]) -> Iterator[dict[str, ValidatedChange]]:
    batch: dict[str, ValidatedChange] = {}
    records = 0
    for name, change in changes.items():
        if batch and records + change.records > _RECORDS:
            yield batch
            batch, records = {}, 0
        batch[name] = change
        records += change.records
    if batch:
        yield batch


def _refused_creations(admin: KafkaAdminClient, changes: Mapping[str, ValidatedChange]) -> dict[str, str]:
    topics = {
        name: {
            "num_partitions": each.partitions,
            "replication_factor": each.replication_factor,
            "configs": dict(each.config),
        }
        for name, each in changes.items()
    }
    answer = retry_transient(
        lambda: from_controller(admin, lambda: admin.create_topics(topics, validate_only=True, raise_errors=False))
    )
    return _reasons((str(each["name"]), each["error_code"], each.get("error_message")) for each in answer["topics"])


def _refused_settings(admin: KafkaAdminClient, changes: Mapping[str, ValidatedChange]) -> dict[str, str]:
    settings = {name: each.config for name, each in changes.items()}
    request = settings_request(ConfigResourceType.TOPIC, settings, validate_only=True)
    answer: Any = retry_transient(lambda: send_to_any_broker(admin, request))
    return _reasons((each.resource_name, each.error_code, each.error_message) for each in answer.responses)


def _reasons(answers: Iterable[tuple[str, int, str | None]]) -> dict[str, str]:
    return {name: (message or "no reason").rstrip(".") for name, code, message in answers if code in _REFUSALS}
