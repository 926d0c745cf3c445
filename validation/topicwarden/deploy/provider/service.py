"""Answers Pulumi's engine: one method for each call of ``provider.proto``."""

# ruff: noqa: N802 - the methods are named by provider.proto

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import version
from typing import Any, NoReturn, TypeAlias

import grpc.aio
from google.protobuf.empty_pb2 import Empty

from topicwarden.deploy.access_state import ACCESS_TYPES, RESOURCE_TYPES, access_key
from topicwarden.deploy.provider import provider_settings
from topicwarden.deploy.provider.deletion_guard import DeletionGuard, check_access
from topicwarden.deploy.provider.engine_log import EngineLog
from topicwarden.deploy.provider.errors import reason_of, resource_error
from topicwarden.deploy.provider.home import ProviderHome
from topicwarden.deploy.provider.stubs import plugin_pb2, provider_pb2_grpc
from topicwarden.deploy.provider.stubs import provider_pb2 as rpc
from topicwarden.kafka.connect.request_errors import RequestError
from topicwarden.kafka.write.admin_session import AdminSession
from topicwarden.kinds.access_resource import EDITED, AccessResource, Resources, Target
from topicwarden.kinds.announced_writes import Intent
from topicwarden.kinds.batches import EngineCalls
from topicwarden.kinds.properties import (
    UNKNOWN,
    Properties,
    from_struct,
    has_unknown,
    to_struct,
    with_secrets,
)
from topicwarden.kinds.resource_type import DEFAULTS, Difference, PulumiType
from topicwarden.kinds.subject.resource import SUBJECT, location_key
from topicwarden.kinds.topic.resource import GET_TOPIC, GET_TOPICS, REQUIRE_CLUSTER, TOPIC, Topics
from topicwarden.model.access import Part
from topicwarden.model.deployed_stack import DeployedStack, ResourceUrn
from topicwarden.model.planned_change import PlanSection
from topicwarden.model.problem import Location, Refusal

_TYPES: Mapping[str, PulumiType] = {type.token: type for kind in RESOURCE_TYPES.values() for type in kind.types}
_FUNCTIONS: Mapping[str, tuple[str, Callable[[Any, Any], None]]] = {
    token: (kind.types[0].token, prepare)
    for kind in RESOURCE_TYPES.values()
    for token, prepare in kind.functions.items()
}
"""The functions that prepare resources for a deploy, and the type of these resources."""
_SUFFIX_LENGTH = 7  # as in the names that the official provider makes
_Context: TypeAlias = grpc.aio.ServicerContext


@dataclass
class SharedByProviders:
    """Holds what all providers of an engine know: it registers a resource with one, and may delete it through another.

    The engine deletes through the provider that the state names, such as the one of an earlier version. ``registry``
    has the resources of the stack's Schema Registry, which is the same whatever the cluster is. ``sessions`` closes the
    connections of all.
    """

    guard: DeletionGuard = field(default_factory=DeletionGuard)
    stack: str | None = None
    registry: dict[Part[Any, Any], Resources] = field(default_factory=dict)
    sessions: ExitStack = field(default_factory=ExitStack)


class KafkaProvider(provider_pb2_grpc.ResourceProviderServicer):
    """The resource provider. Errors of a resource become the message of its call."""

    def __init__(self, log: EngineLog, home: ProviderHome, shared: SharedByProviders) -> None:
        self._log = log
        self._home = home
        self._locations = cache(home.locations)
        self._calls = EngineCalls()
        self._secrets = False
        self._resources: Mapping[str, Resources] | None = None
        self._session: AdminSession | None = None
        self._unusable = "the provider is not configured"
        self._shared = shared
        self._guard = shared.guard
        self._registers = False
        self._state: asyncio.Future[DeployedStack | None] | None = None
        self._write_only: dict[str, Properties] = {}

    async def GetSchema(self, request: rpc.GetSchemaRequest, context: _Context) -> rpc.GetSchemaResponse:
        # The engine needs the name and the version only; generators of SDKs use the official schema.
        return rpc.GetSchemaResponse(schema=json.dumps({"name": "kafka", "version": version("pulumi-kafka")}))

    async def GetPluginInfo(self, request: Empty, context: _Context) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=version("pulumi-kafka"))

    async def Handshake(self, request: rpc.ProviderHandshakeRequest, context: _Context) -> NoReturn:
        # The engine then uses Attach and Configure. gRPC would log the traceback of a missing method.
        await context.abort(grpc.StatusCode.UNIMPLEMENTED)
        raise AssertionError("abort raises")

    async def Attach(self, request: plugin_pb2.PluginAttach, context: _Context) -> Empty:
        self._log.attach(request.address)
        return Empty()

    async def Cancel(self, request: Empty, context: _Context) -> Empty:
        return Empty()

    async def CheckConfig(self, request: rpc.CheckRequest, context: _Context) -> rpc.CheckResponse:
        settings = from_struct(request.news)
        failures = [rpc.CheckFailure(reason=reason) for reason in provider_settings.failures(settings, self._home.root)]
        return rpc.CheckResponse(inputs=with_secrets(request.news, provider_settings.SECRETS), failures=failures)

    async def DiffConfig(self, request: rpc.DiffRequest, context: _Context) -> rpc.DiffResponse:
        before, after = from_struct(request.old_inputs or request.olds), from_struct(request.news)
        changed = sorted(key for key in {*before, *after} - {"version"} if before.get(key) != after.get(key))
        some = rpc.DiffResponse.DIFF_SOME if changed else rpc.DiffResponse.DIFF_NONE
        return rpc.DiffResponse(changes=some, diffs=changed)

    async def Configure(self, request: rpc.ConfigureRequest, context: _Context) -> rpc.ConfigureResponse:
        self._secrets = request.acceptSecrets
        settings = from_struct(request.args)
        if has_unknown(settings):
            self._unusable = "the provider's settings are not known before the deploy"
        else:
            try:
                session = AdminSession(provider_settings.connection(settings, self._home.root))
            except Refusal as refusal:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(refusal))
            self._session = session
            self._shared.sessions.callback(session.close)
            opened = {kind.part: self._open(kind, session) for kind in RESOURCE_TYPES.values()}
            self._resources = {token: opened[kind.part] for token, kind in RESOURCE_TYPES.items()}
        # Without `acceptSecrets` the engine sends plain values, and marks outputs of secret inputs as secrets itself.
        return rpc.ConfigureResponse(acceptSecrets=False, supportsPreview=True, supports_autonaming_configuration=True)

    async def Check(self, request: rpc.CheckRequest, context: _Context) -> rpc.CheckResponse:
        self._calls.note()
        self._registers = True
        kind = await _type_of(request.urn, context)
        inputs, failures = kind.check(from_struct(request.news), from_struct(request.olds), _new_name(request))
        if kind is TOPIC:
            self._guard.register(request.urn, str(inputs.get("name")))
        elif not failures and not has_unknown(inputs):
            self._guard.register_access(kind.token, kind.id_of(inputs))
        inputs, self._write_only[request.urn] = kind.split_write_only(inputs)
        return rpc.CheckResponse(
            inputs=to_struct(kind.marked(inputs, self._secrets)),
            failures=[rpc.CheckFailure(property=failure.property, reason=failure.reason) for failure in failures],
        )

    async def Diff(self, request: rpc.DiffRequest, context: _Context) -> rpc.DiffResponse:
        kind = await _type_of(request.urn, context)
        news = from_struct(request.news)
        difference = kind.difference(from_struct(request.olds), news, request.ignoreChanges)
        if difference.replaced:
            self._guard.replace(request.urn)
        return rpc.DiffResponse(
            changes=rpc.DiffResponse.DIFF_SOME if difference.changed else rpc.DiffResponse.DIFF_NONE,
            diffs=difference.changed,
            replaces=difference.replaced,
            stables=kind.stable(difference),
            deleteBeforeReplace=bool(difference.replaced) and _keeps_name(kind, news),
            detailedDiff=_detailed(difference),
            hasDetailedDiff=True,
        )

    async def Create(self, request: rpc.CreateRequest, context: _Context) -> rpc.CreateResponse:
        kind = await _type_of(request.urn, context)
        inputs = from_struct(request.properties)
        if request.preview:
            return rpc.CreateResponse(properties=to_struct(kind.outputs(UNKNOWN, inputs, self._secrets)))
        written = {**inputs, **self._write_only.get(request.urn, {})}
        create = partial(self._write, "create", request.urn, lambda resources: resources.create(written))
        more = await create(context, inputs) or {}
        id = kind.id_of(inputs)
        return rpc.CreateResponse(id=id, properties=to_struct(kind.outputs(id, {**inputs, **more}, self._secrets)))

    async def Read(self, request: rpc.ReadRequest, context: _Context) -> rpc.ReadResponse:
        kind = await _type_of(request.urn, context)
        olds, inputs = from_struct(request.properties), from_struct(request.inputs)
        declared = _known(olds, inputs) if olds or inputs else None
        gate = self._home.adoption if declared is None else None

        async def read(resources: Resources) -> Properties | None:
            if gate is None:
                return await resources.read(request.id, declared)
            return await gate.read(ResourceUrn(request.urn).name, lambda: resources.read(request.id, None))

        found = await self._run(request.urn, read, context)
        if found is None:
            return rpc.ReadResponse()
        id = kind.id_of(found)
        return rpc.ReadResponse(
            id=id,
            inputs=to_struct(kind.marked(kind.inputs_read(found, inputs if declared else None), self._secrets)),
            properties=to_struct(kind.outputs(id, found, self._secrets)),
        )

    async def Update(self, request: rpc.UpdateRequest, context: _Context) -> rpc.UpdateResponse:
        kind = await _type_of(request.urn, context)
        olds, news = from_struct(request.olds), from_struct(request.news)

        async def update(resources: Resources) -> Properties | None:
            _require_id(kind, request.urn, request.id, olds)
            return await resources.update(request.id, olds, written)

        # Properties in `ignoreChanges` already have their old values in `news`.
        more = kind.previewed(olds, news)
        if not request.preview:
            written = {**news, **self._write_only.get(request.urn, {})}
            more = await self._write("update", request.urn, update, context, news)
        outputs = kind.outputs(request.id, {**news, **(more or {})}, self._secrets)
        return rpc.UpdateResponse(properties=to_struct(outputs))

    async def Delete(self, request: rpc.DeleteRequest, context: _Context) -> Empty:
        kind = await _type_of(request.urn, context)
        properties = from_struct(request.properties)

        async def delete(resources: Resources) -> None:
            _require_id(kind, request.urn, request.id, properties)
            if kind is TOPIC:
                # A program has told only the providers that it registers with which cluster they may write to.
                registered = self._registers and self._guard.registers(request.urn, request.id)
                state = None if registered else await self._recorded_state()
                self._guard.check_delete(request.urn, request.id, state)
            elif self._guard.keeps_access(kind.token, request.id):
                return
            elif kind.token in ACCESS_TYPES:
                await self._check_access(kind, request.urn, properties)
            await resources.delete(request.id, properties)

        await self._write("delete", request.urn, delete, context, properties)
        return Empty()

    async def _check_access(self, kind: PulumiType, urn: str, properties: Properties) -> None:
        """Refuse to remove access that no deploy of topicwarden has declared; see ``check_access``."""
        state = await self._recorded_state()
        if state is None:
            return
        judged = self._guard.judged or self._home.judged
        check_access(state, urn, access_key(kind.token, properties), kind.token, judged=judged)

    async def Invoke(self, request: rpc.InvokeRequest, context: _Context) -> rpc.InvokeResponse:
        if request.tok == REQUIRE_CLUSTER:
            return await self._require_cluster(str(from_struct(request.args)["clusterId"]))
        if request.tok in _FUNCTIONS:
            token, prepare = _FUNCTIONS[request.tok]
            if self._resources:
                prepare(self._resources[token], json.loads(from_struct(request.args)["value"]))
            return rpc.InvokeResponse()
        if request.tok not in (GET_TOPIC, GET_TOPICS):
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"unknown function {request.tok}")
        topics = self._resources[TOPIC.token] if self._resources else None
        if not isinstance(topics, Topics):
            return rpc.InvokeResponse()  # before the deploy, for a provider whose settings are not known yet
        try:
            found = await topics.invoke(request.tok, from_struct(request.args))
        except (RequestError, Refusal, ValueError) as error:
            await context.abort(grpc.StatusCode.UNKNOWN, reason_of(error))
        return rpc.InvokeResponse(**{"return": to_struct(found)})

    async def _require_cluster(self, cluster_id: str) -> rpc.InvokeResponse:
        """Answer with the id, or with why this provider cannot write there: an error could come from any provider."""
        try:
            if self._session is None:
                raise Refusal(self._unusable)
            await asyncio.to_thread(self._session.require_cluster, cluster_id)
            answer = {"clusterId": cluster_id}
        except (RequestError, Refusal) as error:
            answer = {"refusal": reason_of(error)}
        return rpc.InvokeResponse(**{"return": to_struct(answer)})

    def _location(self, urn: ResourceUrn) -> Location | None:
        """Return where the resource is declared; None for a resource that no YAML declares."""
        return self._locations(urn.stack).get(location_key(urn.name) if urn.type == SUBJECT.token else urn.name)

    def _open(self, kind: AccessResource, session: AdminSession) -> Resources:
        opened = kind.open(self._target(session, kind.section))
        return self._shared.registry.setdefault(kind.part, opened) if kind.section is PlanSection.REGISTRY else opened

    def _target(self, session: AdminSession, section: PlanSection) -> Target:
        return Target(
            session,
            self._calls,
            partial(self._announce, section),
            lambda: self._home.registry(self._shared.stack or ""),
            self._log.warn,
            self._log.progress,
            self._check_adoption,
        )

    def _announce(self, section: PlanSection, intent: Intent, names: Iterable[str]) -> None:
        self._home.announce(self._shared.stack or "", section, intent, list(names))

    async def _check_adoption(self, topic: str) -> None:
        """Refuse to adopt a topic that exists, if the engine would delete it afterwards."""
        if not self._guard.deleted(topic):
            self._guard.check_adoption(topic, await self._recorded_state())

    async def _recorded_state(self) -> DeployedStack | None:
        """Return Pulumi's state, which is read once. A command without a program may only write to its cluster."""

        def read() -> DeployedStack | None:
            state = self._home.recorded_state(self._shared.stack or "")
            if state is not None and state.cluster_id and self._session and not self._session.cluster_id:
                self._session.require_cluster(state.cluster_id)
            return state

        if self._state is None:
            self._state = asyncio.ensure_future(asyncio.to_thread(read))
        return await self._state

    async def _write(
        self, verb: str, urn: str, work: Callable[[Resources], Any], context: _Context, properties: Properties
    ) -> Any:
        """Return the result of ``work``, as ``_run`` does; refuse it if the command only adopts topics."""
        gate = self._home.adoption

        async def write(resources: Resources) -> Any:
            if gate is not None:
                raise gate.refuse_write(verb, ResourceUrn(urn).name)
            return await work(resources)

        return await self._run(urn, write, context, properties)

    async def _run(
        self, urn: str, work: Callable[[Resources], Any], context: _Context, properties: Properties | None = None
    ) -> Any:
        """Return the result of ``work`` on the resources of the type in ``urn``; errors end the call.

        ``properties`` are those of the resource, if they are known.
        """
        self._calls.note()
        kind = await _type_of(urn, context)
        self._shared.stack = ResourceUrn(urn).stack
        try:
            if self._resources is None:
                raise Refusal(self._unusable)
            return await work(self._resources[kind.token])
        except (RequestError, Refusal, ValueError) as error:
            location = await asyncio.to_thread(self._location, ResourceUrn(urn))
            title = kind.title(properties) if kind.title and properties else None
            reason = resource_error(error, urn, location, title, kind.permission)
            await context.abort(grpc.StatusCode.UNKNOWN, reason)


def _require_id(kind: PulumiType, urn: str, id: str, properties: Properties) -> None:
    """Refuse to write another object than the resource with ``properties`` describes; its id may have a password."""
    try:
        same = kind.id_of(properties) == id
    except EDITED:
        same = False
    if not same:
        raise Refusal(
            "its resource in Pulumi's state was edited: it has not the id that its properties have; "
            f"`pulumi state delete --force '{urn}'` removes it from the state and does not change the cluster"
        )


async def _type_of(urn: str, context: _Context) -> PulumiType:
    token = ResourceUrn(urn).type
    if token not in _TYPES:
        await _unknown_type(token, context)
    return _TYPES[token]


async def _unknown_type(token: str, context: _Context) -> NoReturn:
    await context.abort(
        grpc.StatusCode.INVALID_ARGUMENT, f"unknown resource type {token}: expected one of {', '.join(_TYPES)}"
    )
    raise AssertionError("abort raises")


def _new_name(request: rpc.CheckRequest) -> str | None:
    """Return a name for a resource without one, as Pulumi's ``autonaming`` setting says; None if it forbids one."""
    if request.HasField("autonaming"):
        disabled = request.autonaming.mode == rpc.CheckRequest.AutonamingOptions.Mode.DISABLE
        return None if disabled else request.autonaming.proposed_name
    suffix = hashlib.sha256(request.randomSeed).hexdigest()[:_SUFFIX_LENGTH]
    return f"{request.name or ResourceUrn(request.urn).name}-{suffix}"


def _known(olds: Properties, inputs: Properties) -> Properties:
    """Return what is known of a resource; a map has the entries of its outputs and of its inputs."""
    known = {**olds, **inputs}
    for key, value in olds.items():
        if isinstance(value, dict):
            known[key] = {**(inputs.get(key) or {}), **value}
    return known


def _keeps_name(kind: PulumiType, news: Properties) -> bool:
    """Return whether the new resource has a name of its own, which the old one must leave first."""
    return kind.named is not None and kind.named not in (news.get(DEFAULTS) or ())


def _detailed(difference: Difference) -> dict[str, rpc.PropertyDiff]:
    kinds: Any = rpc.PropertyDiff
    return {path: rpc.PropertyDiff(kind=getattr(kinds, change)) for path, change in difference.paths.items()}
