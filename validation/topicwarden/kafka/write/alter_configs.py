"""Changes settings of topics, groups and client metrics: one request for any number of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafka import KafkaAdminClient
from kafka.admin import ConfigResourceType
from kafka.protocol.admin import IncrementalAlterConfigsRequest

from topicwarden.kafka.connect.client_internals import send_to_any_broker
from topicwarden.kafka.connect.request_errors import RequestError, error_of_code

_SET: Final = 0
_DELETE: Final = 1


def alter_configs(
    admin: KafkaAdminClient, type: ConfigResourceType, changes: Mapping[str, Mapping[str, str | None]]
) -> dict[str, RequestError]:
    """Write the settings of each resource; None removes a setting, and every other setting stays as it is (KIP-339).

    Return the errors of those that were refused.
    """
    request = IncrementalAlterConfigsRequest(
        resources=[
            (type, name, [(key, _DELETE if value is None else _SET, value) for key, value in settings.items()])
            for name, settings in changes.items()
        ],
        validate_only=False,
    )
    return errors_by_resource(send_to_any_broker(admin, request))


def errors_by_resource(answer: Any) -> dict[str, RequestError]:
    """Return the errors in the answer to a request that changes settings, by the name of the resource."""
    return {
        entry["resource_name"]: error_of_code(entry["error_code"], entry["error_message"])
        for entry in answer.to_dict()["responses"]
        if entry["error_code"]
    }
