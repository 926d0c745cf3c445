"""A connection for administration, opened by the first request that needs it, and the request that changes settings."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from contextlib import ExitStack
from typing import Any, Concatenate, ParamSpec, TypeVar

from kafka import KafkaAdminClient
from kafka.admin import ConfigResourceType
from kafka.errors import KafkaError

from topicwarden.kafka.connect.client_internals import send_to_any_broker, settings_request
from topicwarden.kafka.connect.clients import open_admin
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.request_errors import RequestError, error_of_code, request_error, retry_transient
from topicwarden.kafka.read.cluster_service import service_of
from topicwarden.kafka_facts.services.profile import ServiceProfile
from topicwarden.model.problem import Refusal

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Key = TypeVar("Key", bound=Hashable)
State = TypeVar("State")


class AdminSession:
    """An Admin client that any thread may use."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._open = ExitStack()
        self._admin: KafkaAdminClient | None = None
        self._service: ServiceProfile | None = None
        self.cluster_id: str | None = None
        """The cluster that writes must reach; see ``require_cluster``."""

    def close(self) -> None:
        """Close the client; the next request would open another."""
        with self._lock:
            self._admin = None
            self._open.close()

    def require_cluster(self, cluster_id: str) -> None:
        """Refuse writes to any other cluster from now on; raises ``Refusal`` if this already is another one.

        Some of the bootstrap servers may belong to another cluster. So the id is asked for before each batch of writes,
        on the connection that is used for them.
        """
        self.cluster_id = cluster_id
        self.writing_admin()

    def writing_admin(self) -> KafkaAdminClient:
        """Return the open client; raises ``Refusal`` if it leads to another cluster than the required one."""
        if self.cluster_id is not None:
            actual = self.request(lambda admin: admin.describe_cluster()["cluster_id"])
            if actual != self.cluster_id:
                raise Refusal(
                    f"kafka:bootstrapServers leads to cluster {actual}, but the deploy was checked for cluster "
                    f"{self.cluster_id}: nothing is written; name servers of one cluster only"
                )
        return self.admin

    @property
    def admin(self) -> KafkaAdminClient:
        """The open client; raises Refusal if the cluster cannot be reached."""
        with self._lock:
            if self._admin is None:
                self._admin = self._open.enter_context(open_admin(self._connection))
            return self._admin

    @property
    def service(self) -> ServiceProfile:
        """The profile of the connected cluster's service; raises as ``request`` does."""
        if self._service is None:
            self._service = self.request(service_of, self._connection)
        return self._service

    def request(
        self,
        send: Callable[Concatenate[KafkaAdminClient, Parameters], Result],
        *arguments: Parameters.args,
        **options: Parameters.kwargs,
    ) -> Result:
        """Return the result of ``send`` with the open client; an error of the client becomes a ``RequestError``.

        ``send`` is called again for up to 30 seconds while a broker does not answer, so it must be idempotent.
        """

        def attempt() -> Result:
            try:
                return send(self.admin, *arguments, **options)
            except KafkaError as error:
                if error.retriable:
                    raise
                raise request_error(error) from error

        try:
            return retry_transient(attempt)
        except KafkaError as error:
            raise request_error(error) from error

    def write(
        self,
        send: Callable[[KafkaAdminClient, Mapping[Key, State]], Mapping[Key, RequestError]],
        wait: Callable[[KafkaAdminClient, Mapping[Key, State]], object],
        states: Mapping[Key, State],
    ) -> Mapping[Key, RequestError]:
        """Write ``states`` with ``send``, and let ``wait`` wait for those that were not refused; return the errors."""
        self.writing_admin()
        errors = self.request(send, states)
        self.request(wait, {key: state for key, state in states.items() if key not in errors})
        return errors


def alter_configs(
    admin: KafkaAdminClient, type: ConfigResourceType, changes: Mapping[str, Mapping[str, str | None]]
) -> dict[str, RequestError]:
    """Write the settings of each resource; None removes a setting, and every other setting stays as it is (KIP-339).

    Return the errors of those that were refused.
    """
    request = settings_request(
        type, {name: settings.items() for name, settings in changes.items()}, validate_only=False
    )
    return errors_by_resource(send_to_any_broker(admin, request))


def errors_by_resource(answer: Any) -> dict[str, RequestError]:
    """Return the errors in the answer to a request that changes settings, by the name of the resource."""
    return {
        entry["resource_name"]: error_of_code(entry["error_code"], entry["error_message"])
        for entry in answer.to_dict()["responses"]
        if entry["error_code"]
    }
