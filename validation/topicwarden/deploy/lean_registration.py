"""Registers topics with the engine without the SDK's cost for each resource.

The SDK makes outputs, tasks and a thread for each property of each resource, which takes longer than the engine needs.
This sends the same ``RegisterResource`` requests on the SDK's own connection, all at once. The engine runs them in
parallel as far as its ``--parallel`` allows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import grpc
import pulumi
import pulumi_kafka as kafka
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.settings import get_monitor

from topicwarden.deploy.provider.properties import UNKNOWN, from_struct
from topicwarden.deploy.pulumi_engine import TOPIC_TYPE
from topicwarden.deploy.topic_registration import PROPERTIES, TopicRegistration, deployed

Value = TypeVar("Value")


def known_output(value: Awaitable[Value]) -> pulumi.Output[Value]:
    """Return an output whose value is known in a preview, too.

    ``Output.from_input`` would make an output of each part of a nested value, ten thousands for a thousand topics.
    """
    return pulumi.Output(set(), value, asyncio.ensure_future(_true()))


async def _true() -> bool:
    return True


async def register_topics(
    registrations: Sequence[tuple[TopicRegistration, pulumi.Resource]], provider: kafka.Provider | None, root: Path
) -> list[dict[str, Any]]:
    """Register each topic below its parent; return the topics as deployed, in the same order, without failed ones.

    ``root`` is the folder of the project, below which the topics are declared.
    """
    template = resource_pb2.RegisterResourceRequest(
        type=TOPIC_TYPE,
        custom=True,
        provider=await _reference(provider),
        version="" if provider else version("pulumi-kafka"),
        propertyDependencies={name: resource_pb2.RegisterResourceRequest.PropertyDependencies() for name in PROPERTIES},
        acceptSecrets=True,
        acceptResources=True,
        supportsPartialValues=True,
        supportsResultReporting=True,
    )
    parents = {parent: str(await parent.urn.future()) for parent in {parent for _, parent in registrations}}
    monitor: Any = get_monitor()
    responses = []
    for registration, parent in registrations:
        request = _request(template, registration, parents[parent], root)
        responses.append(_awaitable(monitor.RegisterResource.future(request)))
    outputs = [from_struct(response.object) for response in await asyncio.gather(*responses)]
    # A topic that failed, or that is not among the targets of a command, has no outputs.
    return [deployed(each) for each in outputs if "name" in each]


async def _reference(provider: kafka.Provider | None) -> str:
    if provider is None:
        return ""
    urn, id = await provider.urn.future(), await provider.id.future()
    return f"{urn}::{id or UNKNOWN}"


def _request(
    template: resource_pb2.RegisterResourceRequest, registration: TopicRegistration, parent: str, root: Path
) -> resource_pb2.RegisterResourceRequest:
    topic = registration.topic
    request = resource_pb2.RegisterResourceRequest()
    request.CopyFrom(template)
    request.name, request.parent, request.protect = topic.name, parent, registration.protect
    request.importId = topic.name if registration.adopt else ""
    request.ignoreChanges.extend(registration.ignored)
    fields = request.object.fields
    fields["name"].string_value = topic.name
    fields["partitions"].number_value = topic.partitions
    fields["replicationFactor"].number_value = topic.replication_factor
    fields["config"].struct_value.SetInParent()  # an empty map, too
    fields["config"].struct_value.update(registration.config)
    if registration.location is not None:
        request.sourcePosition.uri = (root / registration.location.file).as_uri()
        request.sourcePosition.line = registration.location.line
        request.sourcePosition.column = registration.location.column
    return request


def _awaitable(call: grpc.Future) -> asyncio.Future[resource_pb2.RegisterResourceResponse]:
    """Return a future of this event loop for a call that a thread of gRPC completes."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[resource_pb2.RegisterResourceResponse] = loop.create_future()

    def done(call: grpc.Future) -> None:
        error = call.exception()
        if not future.done():
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(call.result())

    call.add_done_callback(lambda call: loop.call_soon_threadsafe(done, call))
    return future
