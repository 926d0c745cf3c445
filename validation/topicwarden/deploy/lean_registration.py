"""Registers resources with the engine without the SDK's cost for each resource.

The SDK makes outputs, tasks and a thread for each property of each resource, which takes longer than the engine needs.
This sends the same ``RegisterResource`` requests on the SDK's own connection, all at once. The engine runs them in
parallel as far as its ``--parallel`` allows.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import grpc
import pulumi
import pulumi_kafka as kafka
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.settings import get_monitor

from topicwarden.deploy.topic_registration import TopicRegistration, deployed, properties
from topicwarden.kinds.properties import UNKNOWN, from_struct
from topicwarden.kinds.topic.resource import TOPIC_TYPE
from topicwarden.model.problem import Location

Value = TypeVar("Value")


def known_output(value: Awaitable[Value]) -> pulumi.Output[Value]:
    """Return an output whose value is known in a preview, too.

    ``Output.from_input`` would make an output of each part of a nested value, ten thousands for a thousand topics.
    """
    return pulumi.Output(set(), value, asyncio.ensure_future(_true()))


async def _true() -> bool:
    return True


@dataclass(frozen=True)
class LeanResource:
    """A resource to register below the component ``parent``.

    - ``location``: where the YAML declares it.
    - ``import_id``: the id under which Pulumi imports it; empty to create it.
    - ``ignored``: properties that the deploy does not change.
    - ``dependencies``: URNs of registered resources that are deleted later than this one.
    - ``hook``: the engine deletes the resource only in a program that registers this hook.
    """

    type: str
    name: str
    parent: pulumi.Resource
    properties: Mapping[str, Any]
    location: Location | None = None
    import_id: str = ""
    protect: bool = False
    ignored: Sequence[str] = ()
    dependencies: Sequence[str] = ()
    hook: pulumi.ResourceHook | None = None


@dataclass(frozen=True)
class Registered:
    """The engine's answer: ``outputs`` are empty if the resource failed, and if it is new and no target."""

    outputs: dict[str, Any]
    failed: bool

    @property
    def left_out(self) -> bool:
        """True if the resource is new, and the command does not create it (``--target``, ``--exclude``)."""
        return not (self.failed or self.outputs)


async def register_topics(
    registrations: Sequence[tuple[TopicRegistration, pulumi.Resource]],
    provider: kafka.Provider | None,
    root: Path,
    after: Awaitable[object] | None = None,
) -> list[dict[str, Any]]:
    """Register each topic below its parent; return the topics as deployed, in the same order, without failed ones.

    ``root`` is the folder of the project, below which the topics are declared. No topic is registered before ``after``
    is done.
    """
    if after is not None:
        await after
    resources = [_topic(registration, parent) for registration, parent in registrations]
    registered = await register(resources, provider, root)
    return [deployed(each.outputs) for each in registered if "name" in each.outputs]


async def register(resources: Iterable[LeanResource], provider: kafka.Provider | None, root: Path) -> list[Registered]:
    """Register ``resources`` at the same time; return the engine's answer to each."""
    resources, reference = list(resources), await _reference(provider)
    parents = {parent: str(await parent.urn.future()) for parent in {each.parent for each in resources}}
    by_type = {each.type: each for each in resources}
    templates = {type: _template(each, reference) for type, each in by_type.items()}
    for each in resources:
        if each.hook is not None:
            await each.hook._registered
    monitor: Any = get_monitor()
    responses = []
    for each in resources:
        request = _request(templates[each.type], each, parents[each.parent], root)
        responses.append(_awaitable(monitor.RegisterResource.future(request)))
    return [
        Registered(from_struct(response.object), failed=response.result != resource_pb2.SUCCESS)
        for response in await asyncio.gather(*responses)
    ]


async def prepare(function: str, value: object, provider: kafka.Provider | None) -> None:
    """Call a function that only this provider has, which prepares resources for the deploy; see ``AccessResource``."""
    options = pulumi.InvokeOptions(provider=provider, version=None if provider else version("pulumi-kafka"))
    await pulumi.runtime.invoke_async(function, {"value": json.dumps(value)}, options)


async def _reference(provider: kafka.Provider | None) -> str:
    if provider is None:
        return ""
    urn, id = await provider.urn.future(), await provider.id.future()
    return f"{urn}::{id or UNKNOWN}"


def _template(resource: LeanResource, provider: str) -> resource_pb2.RegisterResourceRequest:
    """Return what the requests for all resources of this type have."""
    nothing = resource_pb2.RegisterResourceRequest.PropertyDependencies
    return resource_pb2.RegisterResourceRequest(
        type=resource.type,
        custom=True,
        provider=provider,
        version="" if provider else version("pulumi-kafka"),
        propertyDependencies={name: nothing() for name in resource.properties},
        acceptSecrets=True,
        acceptResources=True,
        supportsPartialValues=True,
        supportsResultReporting=True,
    )


def _topic(registration: TopicRegistration, parent: pulumi.Resource) -> LeanResource:
    topic = registration.topic
    return LeanResource(
        TOPIC_TYPE,
        topic.name,
        parent,
        properties(topic, registration.config),
        registration.location,
        topic.name if registration.adopt else "",
        registration.protect,
        registration.ignored,
        registration.dependencies,
        _only_this_deploy(topic.name) if registration.hooked else None,
    )


def _only_this_deploy(topic: str) -> pulumi.ResourceHook:
    """Return a hook that allows only a program that replaces the topic to delete it.

    The engine does not replace a protected resource. So the new resource is unprotected until the next deploy. Until
    then `pulumi destroy` fails because it cannot run the hook, and so does a program that does not register the hook
    (Pulumi's ``newDestroySource`` and ``Deployment.RunHooks``).
    """
    return pulumi.ResourceHook(f"topicwarden:replace:{topic}", _pass)


def _pass(args: pulumi.ResourceHookArgs) -> None:
    """Allow the deletion: only the deploy that may delete the topic registers this hook."""


def _request(
    template: resource_pb2.RegisterResourceRequest, resource: LeanResource, parent: str, root: Path
) -> resource_pb2.RegisterResourceRequest:
    request = resource_pb2.RegisterResourceRequest()
    request.CopyFrom(template)
    request.name, request.parent, request.protect = resource.name, parent, resource.protect
    request.importId = resource.import_id
    request.ignoreChanges.extend(resource.ignored)
    request.dependencies.extend(resource.dependencies)
    if resource.hook is not None:
        request.hooks.before_delete.append(resource.hook.name)
    request.object.update(resource.properties)
    if resource.location is not None:
        request.sourcePosition.uri = (root / resource.location.file).as_uri()
        request.sourcePosition.line = resource.location.line
        request.sourcePosition.column = resource.location.column
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
