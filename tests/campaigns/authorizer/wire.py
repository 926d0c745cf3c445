"""Send single requests to a broker as any user and from any address of this machine, without the package's clients."""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Collection
from types import TracebackType
from typing import Any, Final, Self

from kafka.protocol.admin import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest
from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from topicwarden.model.access import Acl, Operation, PatternType, PermissionType, ResourceType

_ANY: Final = 1
RESOURCE_CODES: Final = {each: code for code, each in enumerate(ResourceType, start=2)}
PATTERN_CODES: Final = {each: code for code, each in enumerate(PatternType, start=3)}
OPERATION_CODES: Final = {each: code for code, each in enumerate(Operation, start=2)}
PERMISSION_CODES: Final = {PermissionType.DENY: 2, PermissionType.ALLOW: 3}
"""The numbers of Kafka's protocol (``ResourceType``, ``PatternType``, ``AclOperation``, ``AclPermissionType``)."""

_AGREEMENT_S: Final = 60.0
_BATCH: Final = 1_000


class Connection:
    """A connection to the address ``host:port`` from ``source``, as ``user`` if there is one (SASL/PLAIN)."""

    def __init__(self, address: str, source: str | None = None, user: str | None = None, password: str = "") -> None:
        host, _, port = address.rpartition(":")
        origin = (source, 0) if source else None
        self._socket = socket.create_connection((host.strip("[]"), int(port)), timeout=60, source_address=origin)
        self._numbers = itertools.count(1)
        if user is not None:
            _expect(self.send(SaslHandshakeRequest[1](mechanism="PLAIN")).error_code)
            token = f"\0{user}\0{password}".encode()
            _expect(self.send(SaslAuthenticateRequest[1](auth_bytes=token)).error_code)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None) -> None:
        self._socket.close()

    def send(self, request: Any) -> Any:
        """Send a request of kafka-python's protocol classes, and return the response."""
        request.with_header(next(self._numbers), "authorizer")
        self._socket.sendall(request.encode(header=True, framed=True))
        size = int.from_bytes(self._receive(4), "big")
        response = request.header.get_response_class()
        return response.decode(self._receive(size), version=request.API_VERSION, header=True)

    def _receive(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise ConnectionError("the broker closed the connection")
            data += part
        return bytes(data)


def create_coordinators(super_user: Connection) -> None:
    """Have the broker create its internal topics for groups and transactions, and wait until it coordinates both."""
    deadline = time.monotonic() + _AGREEMENT_S
    for key_type in (0, 1):
        while super_user.send(FindCoordinatorRequest[3](key="any", key_type=key_type)).error_code:
            assert time.monotonic() < deadline, "no coordinator"
            time.sleep(0.1)


def replace_acls(super_user: Connection, acls: Collection[Acl]) -> None:
    """Delete all ACLs of the cluster, create ``acls``, and wait until the broker lists exactly these."""
    anything = DeleteAclsRequest.DeleteAclsFilter(_ANY, None, _ANY, None, None, _ANY, _ANY)
    deleted = super_user.send(DeleteAclsRequest[2](filters=[anything]))
    _expect(deleted.filter_results[0].error_code)
    ordered = sorted(acls)
    for batch in (ordered[first : first + _BATCH] for first in range(0, len(ordered), _BATCH)):
        created = super_user.send(CreateAclsRequest[2](creations=[_creation(acl) for acl in batch]))
        for acl, result in zip(batch, created.results, strict=True):
            assert not result.error_code, f"the broker refused {acl}: {result.error_code} {result.error_message}"
    deadline = time.monotonic() + _AGREEMENT_S
    while (listed := _listed(super_user)) != frozenset(acls):
        assert time.monotonic() < deadline, f"the broker lists other ACLs: {set(acls) ^ listed}"
        time.sleep(0.01)


def _creation(acl: Acl) -> CreateAclsRequest.AclCreation:
    return CreateAclsRequest.AclCreation(
        RESOURCE_CODES[acl.resource_type],
        acl.resource_name,
        PATTERN_CODES[acl.pattern_type],
        acl.principal,
        acl.host,
        OPERATION_CODES[acl.operation],
        PERMISSION_CODES[acl.permission],
    )


def _listed(super_user: Connection) -> frozenset[Acl]:
    response = super_user.send(DescribeAclsRequest[2](_ANY, None, _ANY, None, None, _ANY, _ANY))
    _expect(response.error_code)
    return frozenset(
        Acl(
            acl.principal,
            acl.host,
            _OPERATIONS[acl.operation],
            _PERMISSIONS[acl.permission_type],
            _RESOURCES[resource.resource_type],
            resource.resource_name,
            _PATTERNS[resource.pattern_type],
        )
        for resource in response.resources
        for acl in resource.acls
    )


def _expect(error_code: int) -> None:
    assert error_code == 0, f"the broker answers with error {error_code}"


_RESOURCES: Final = {code: each for each, code in RESOURCE_CODES.items()}
_PATTERNS: Final = {code: each for each, code in PATTERN_CODES.items()}
_OPERATIONS: Final = {code: each for each, code in OPERATION_CODES.items()}
_PERMISSIONS: Final = {code: each for each, code in PERMISSION_CODES.items()}
