"""Test the provider: batches of requests, the type of its resources, and its server."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import grpc.aio
import pulumi  # noqa: F401 - otherwise the provider's stubs put an empty package in its place, for all other tests
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.projects import project_of
from topicwarden.deploy.provider.adoption_gate import AdoptionGate
from topicwarden.deploy.provider.errors import resource_error
from topicwarden.deploy.provider.home import ProviderHome
from topicwarden.deploy.provider.server import start_provider
from topicwarden.deploy.provider.stubs import provider_pb2 as rpc
from topicwarden.deploy.provider.stubs import provider_pb2_grpc
from topicwarden.deploy.stack_state import deployed_stack
from topicwarden.kafka.connect.request_errors import RequestError
from topicwarden.kafka.read.snapshot import PartitionReplicas
from topicwarden.kinds.access_resource import ACCESS_SET_TYPE
from topicwarden.kinds.acl.resource import ACL, Acls
from topicwarden.kinds.acl.resource import RESOURCE as ACLS
from topicwarden.kinds.batches import Batches, EngineCalls
from topicwarden.kinds.properties import UNKNOWN, from_struct, has_unknown, secret, to_struct
from topicwarden.kinds.quota.resource import QUOTA
from topicwarden.kinds.quota.resource import RESOURCE as QUOTAS
from topicwarden.kinds.resource_type import PulumiType
from topicwarden.kinds.scram_user.resource import SCRAM
from topicwarden.kinds.settings_resources import SettingsResources
from topicwarden.kinds.subject.resource import PREPARE_SUBJECTS, SUBJECT_TYPE
from topicwarden.kinds.subject.resource import RESOURCE as SUBJECTS
from topicwarden.kinds.topic.broker_choice import NewTopicPlacement, is_placed, racks_of
from topicwarden.kinds.topic.resource import SET_TYPE, TOPIC, TOPIC_PATH, Topics
from topicwarden.model.deployed_stack import DeployedStack, ResourceUrn
from topicwarden.model.problem import Refusal

# Requests of many topics: when they are sent together, where replicas are placed, and which errors are reported.


class Recorder:
    """Records each batch; the first one waits until ``release`` is set."""

    def __init__(self) -> None:
        self.sent: list[dict[str, int]] = []
        self.running = 0
        self.release = threading.Event()

    def send(self, items: Mapping[str, int]) -> Mapping[str, int | Exception]:
        self.running += 1
        assert self.running == 1, "two batches at the same time"
        self.sent.append(dict(items))
        assert self.release.wait(10)
        self.running -= 1
        return {key: ValueError(key) if value < 0 else value * 2 for key, value in items.items()}


async def _submitted(batches: Batches[str, int, int], items: list[tuple[str, int]]) -> list[int | BaseException | None]:
    return await asyncio.gather(*(batches.submit(*item) for item in items), return_exceptions=True)


def test_items_that_arrive_together_share_a_batch_and_each_gets_its_result() -> None:
    recorder = Recorder()
    recorder.release.set()
    batches: Batches[str, int, int] = Batches(recorder.send, limit=100, calls=EngineCalls())
    results = asyncio.run(_submitted(batches, [("a", 1), ("b", -1), ("c", 3)]))
    assert recorder.sent == [{"a": 1, "b": -1, "c": 3}]
    assert (results[0], str(results[1]), results[2]) == (2, "b", 6)


def test_items_that_follow_soon_share_a_batch_until_it_is_full() -> None:
    recorder = Recorder()
    recorder.release.set()
    batches: Batches[str, int, int] = Batches(recorder.send, limit=3, calls=EngineCalls())

    async def run() -> None:
        tasks = []
        for name in "abcde":
            tasks.append(asyncio.create_task(batches.submit(name, 1)))
            await asyncio.sleep(0.01)
        await asyncio.gather(*tasks)

    asyncio.run(run())
    assert list(map(sorted, recorder.sent)) == [["a", "b", "c"], ["d", "e"]]


class CallsUntil(EngineCalls):
    """An engine that calls for other resources until ``done``."""

    def __init__(self) -> None:
        super().__init__()
        self.done = False

    async def quiet(self) -> bool:
        await asyncio.sleep(0)
        return self.done


def test_items_wait_as_long_as_the_engine_calls_for_anything() -> None:
    recorder, calls = Recorder(), CallsUntil()
    recorder.release.set()
    batches: Batches[str, int, int] = Batches(recorder.send, limit=100, calls=calls)

    async def run() -> None:
        first = asyncio.create_task(batches.submit("a", 1))
        for _ in range(10):
            await asyncio.sleep(0)
        second = asyncio.create_task(batches.submit("b", 1))
        await asyncio.sleep(0)
        calls.done = True
        await asyncio.gather(first, second)

    asyncio.run(run())
    assert recorder.sent == [{"a": 1, "b": 1}]


def test_items_that_arrive_at_once_need_no_wait() -> None:
    recorder = Recorder()
    recorder.release.set()
    batches: Batches[str, int, int] = Batches(recorder.send, limit=100, calls=None)
    assert asyncio.run(_submitted(batches, [("a", 1), ("b", 2)])) == [2, 4]
    assert recorder.sent == [{"a": 1, "b": 2}]


def test_items_that_arrive_during_a_request_form_the_next_batch() -> None:
    recorder = Recorder()
    batches: Batches[str, int, int] = Batches(recorder.send, limit=100, calls=EngineCalls())

    async def run() -> list[int | None]:
        first = asyncio.create_task(batches.submit("a", 1))
        while not recorder.sent:
            await asyncio.sleep(0.001)
        others = [asyncio.create_task(batches.submit(name, 1)) for name in "bcd"]
        await asyncio.sleep(0)
        recorder.release.set()
        return list(await asyncio.gather(first, *others))

    assert asyncio.run(run()) == [2, 2, 2, 2]
    assert recorder.sent == [{"a": 1}, {"b": 1, "c": 1, "d": 1}]


@pytest.mark.parametrize(
    ("weights", "sent"),
    [
        ([3, 3, 3, 3], [2, 2]),  # two fit into 7, the third does not
        ([9, 1, 1], [1, 2]),  # a heavier item is sent alone
        ([7, 7], [1, 1]),
    ],
)
def test_a_batch_is_not_heavier_than_its_limit(weights: list[int], sent: list[int]) -> None:
    recorder = Recorder()
    recorder.release.set()
    batches: Batches[str, int, int] = Batches(recorder.send, limit=7, weight=lambda item: item, calls=EngineCalls())
    asyncio.run(_submitted(batches, [(f"t{n}", weight) for n, weight in enumerate(weights)]))
    assert [len(batch) for batch in recorder.sent] == sent
    assert all(sum(batch.values()) <= 7 or len(batch) == 1 for batch in recorder.sent)
    assert sum(map(len, recorder.sent)) == len(weights)


def test_the_same_key_is_sent_once_in_a_batch() -> None:
    recorder = Recorder()
    recorder.release.set()
    batches: Batches[str, int, int] = Batches(recorder.send, limit=100, calls=EngineCalls())
    assert asyncio.run(_submitted(batches, [("a", 1), ("a", 2)])) == [2, 4]
    assert recorder.sent == [{"a": 1}, {"a": 2}]


def test_an_exception_of_the_request_is_the_result_of_every_item() -> None:
    def fail(_: Mapping[str, int]) -> Mapping[str, int | Exception]:
        raise OSError("no broker")

    batches: Batches[str, int, int] = Batches(fail, limit=100, calls=EngineCalls())
    assert list(map(str, asyncio.run(_submitted(batches, [("a", 1), ("b", 2)])))) == ["no broker", "no broker"]


@given(
    racks=st.dictionaries(st.integers(0, 9), st.sampled_from(["a", "b", "c", None]), min_size=1),
    topics=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4)), max_size=6),
)
def test_new_partitions_are_placed_as_a_rebalance_would(
    racks: dict[int, str | None], topics: list[tuple[int, int]]
) -> None:
    placement = NewTopicPlacement(racks_of(racks), existing=[])
    for partitions, factor in topics:
        placed = placement.assign(partitions, factor)
        assert len(placed) == (partitions if factor <= len(racks) else 0)
        for number, brokers in enumerate(placed):
            assert len(set(brokers)) == factor
            assert is_placed(PartitionReplicas(number, brokers[0], brokers, brokers), factor, racks_of(racks))


def test_replicas_and_leaders_are_spread_evenly_over_brokers_and_topics() -> None:
    placement = NewTopicPlacement({1: "a", 2: "b", 3: "c"}, existing=[])
    placed = [brokers for _ in range(20) for brokers in placement.assign(partitions=3, factor=2)]
    assert set(Counter(broker for brokers in placed for broker in brokers).values()) == {40}
    assert set(Counter(brokers[0] for brokers in placed).values()) == {20}


def test_brokers_with_fewer_replicas_come_first() -> None:
    placement = NewTopicPlacement({1: "a", 2: "b", 3: "c"}, existing=[(1, 2)] * 5)
    assert placement.assign(partitions=1, factor=1) == ((3,),)


URN = "urn:pulumi:dev::p::topicwarden:index:TopicSet$topicwarden:index:Domain$kafka:index/topic:Topic::"


def test_an_error_has_the_location_the_topic_and_the_brokers_message(tmp_path: Path) -> None:
    document = "topic: {}\npartitions: 1\nreplication_factor: 1\n"
    files = {"shop/orders.yaml": document.format("orders.v1") + "---\n" + document.format("paid.v1")}
    locations = ProviderHome(project_of(tmp_path, files)).locations("dev")
    refused = RequestError("POLICY_VIOLATION", "at least 3 partitions")
    assert resource_error(refused, f"{URN}paid.v1", locations["paid.v1"]) == (
        "topics/shop/orders.yaml:5:1: paid.v1: Kafka refuses: at least 3 partitions"
    )
    assert (
        resource_error(refused, f"{URN}other", locations.get("other")) == "other: Kafka refuses: at least 3 partitions"
    )


def test_a_denied_permission_is_named() -> None:
    line = resource_error(RequestError("TOPIC_AUTHORIZATION_FAILED", "Authorization failed."), f"{URN}a", None)
    assert line.startswith("a: Kafka denies this user the change: Authorization failed.; a new topic needs Create")
    create = RequestError("TOPIC_AUTHORIZATION_FAILED", "Authorization failed.")
    create.permission = "Create"
    assert resource_error(create, f"{URN}a", None) == (
        "a: Kafka denies this user the change: Authorization failed.; grant Create on the topic"
    )


@pytest.mark.parametrize("name", ["orders-value", ":.eu:orders-value", "a::b"])
def test_an_error_names_a_subject_in_a_context(name: str) -> None:
    urn = SUBJECTS.urn("urn:pulumi:dev::shop", name)
    assert (ResourceUrn(urn).stack, ResourceUrn(urn).type, ResourceUrn(urn).name) == ("dev", SUBJECT_TYPE, name)
    assert resource_error(Refusal("not deployed"), urn, None) == f"{name}: not deployed"


def test_a_transient_error_is_no_refusal() -> None:
    late = RequestError("REQUEST_TIMED_OUT", "Request timed out after 9999 ms", passing=True)
    assert resource_error(late, f"{URN}a", None) == (
        "a: Kafka has not done this in time: Request timed out after 9999 ms; run the command again"
    )


# Checks and differences of resources. ``tests/engine/provider`` compares them with the official provider.

BASE = {"name": "t", "partitions": 3.0, "replicationFactor": 2.0, "config": {"retention.ms": "5"}}
ACCESS = {
    "aclPrincipal": "User:a",
    "aclHost": "*",
    "aclOperation": "Read",
    "aclPermissionType": "Allow",
    "aclResourceType": "Topic",
    "aclResourceName": "t",
}
USER = {"username": "u", "scramMechanism": "SCRAM-SHA-256"}


@pytest.mark.parametrize(
    ("kind", "inputs", "failures"),
    [
        (TOPIC, BASE, []),
        (TOPIC, {**BASE, "partitions": 0.0}, [("partitions", "expected at least 1, got 0")]),
        (TOPIC, {**BASE, "config": "x"}, [("config", "expected a map, got str")]),
        (TOPIC, {"name": "t"}, [("partitions", "missing"), ("replicationFactor", "missing")]),
        (TOPIC, {**BASE, "extra": 1.0}, [("extra", "unknown property")]),
        (TOPIC, {**BASE, "partitions": UNKNOWN, "config": UNKNOWN}, []),
        (ACL, ACCESS, []),
        (ACL, {**ACCESS, "aclOperation": "Look"}, [("aclOperation", "expected one of All, Read")]),
        (ACL, {**ACCESS, "resourcePatternTypeFilter": "Any"}, [("resourcePatternTypeFilter", "Literal, Prefixed")]),
        (QUOTA, {"entityType": "user", "config": {"producer_byte_rate": "x"}}, [("config", "expected a number")]),
        (QUOTA, {"entityType": "topic"}, [("entityType", "expected one of client-id, user, ip")]),
        (SCRAM, {**USER, "password": "p"}, []),
        (SCRAM, {**USER, "password": "p", "passwordWo": "q"}, [("password", "got both")]),
        (SCRAM, USER, [("password", "got neither")]),
        (SCRAM, {**USER, "password": " "}, [("password", "only spaces")]),
        (SCRAM, {**USER, "password": "p", "scramIterations": 9.0}, [("scramIterations", "at least 4096")]),
    ],
)
def test_inputs_are_checked(kind: PulumiType, inputs: dict[str, object], failures: list[tuple[str, str]]) -> None:
    _, found = kind.check(inputs, {}, "new")
    assert [failure.property for failure in found] == [name for name, _ in failures]
    assert all(reason in failure.reason for failure, (_, reason) in zip(found, failures, strict=True))


def test_a_topic_without_a_name_keeps_the_name_that_it_got() -> None:
    unnamed = {key: value for key, value in BASE.items() if key != "name"}
    inputs, _ = TOPIC.check(unnamed, {}, "t-1")
    assert (inputs["name"], inputs["__defaults"]) == ("t-1", ["name"])
    assert TOPIC.check(unnamed, inputs, "t-2")[0]["name"] == "t-1"
    assert [failure.property for failure in TOPIC.check(unnamed, {}, None)[1]] == ["name"]


@pytest.mark.parametrize(
    ("news", "paths", "replaced"),
    [
        (BASE, {}, ()),
        ({**BASE, "partitions": 5.0}, {"partitions": "UPDATE"}, ()),
        ({**BASE, "partitions": 2.0}, {"partitions": "UPDATE_REPLACE"}, ("partitions",)),
        ({**BASE, "name": "u"}, {"name": "UPDATE_REPLACE"}, ("name",)),
        ({**BASE, "config": {"retention.ms": 5.0}}, {}, ()),  # the same as text
        ({**BASE, "config": {}}, {'config["retention.ms"]': "DELETE"}, ()),
        ({**BASE, "config": {"retention.ms": "5", "x": True}}, {"config.x": "ADD"}, ()),
        ({**BASE, "config": {"retention.ms": UNKNOWN}}, {"config": "UPDATE"}, ()),
    ],
)
def test_differences_of_a_topic(news: dict[str, object], paths: dict[str, str], replaced: tuple[str, ...]) -> None:
    difference = TOPIC.difference(BASE, news)
    assert (difference.paths, difference.replaced) == (paths, replaced)
    assert TOPIC.difference(BASE, news, list(BASE)).paths == {}


def test_a_password_is_marked_as_a_secret_and_a_write_only_one_is_left_out() -> None:
    outputs = SCRAM.outputs("id", {**USER, "password": "p", "passwordWo": "q"}, secrets=True)
    assert (outputs["password"], outputs["passwordWo"]) == (secret("p"), secret(None))
    assert SCRAM.marked({**USER, "password": "p"}, secrets=True)["password"] == secret("p")


def test_properties_survive_the_wire_and_secrets_are_opened() -> None:
    properties = {"a": "x", "b": 1.0, "c": True, "d": None, "e": [1.0, "y"], "f": {"g": secret("s")}}
    assert from_struct(to_struct(properties)) == {**properties, "f": {"g": "s"}}
    assert has_unknown({"a": [{"b": UNKNOWN}]})
    assert not has_unknown(properties)


# Test that each provider resource of a program has a provider of its own, although one process serves all of them.

PLAIN_URN = "urn:pulumi:dev::p::kafka:index/topic:Topic::t"
ADDRESSES = ("127.0.0.1:1", "127.0.0.1:2")


async def _errors() -> list[str]:
    """Configure two providers with an address each; return the error of reading a topic with each of them."""
    server = await start_provider(None, ProviderHome(None))
    # As the engine does: a connection for each provider resource.
    options = [("grpc.use_local_subchannel_pool", 1)]
    channels = [grpc.aio.insecure_channel(f"127.0.0.1:{server.port}", options) for _ in ADDRESSES]
    stubs = [provider_pb2_grpc.ResourceProviderStub(channel) for channel in channels]
    for stub, address in zip(stubs, ADDRESSES, strict=True):
        settings = {"bootstrapServers": [address], "tlsEnabled": False}
        await stub.Configure(rpc.ConfigureRequest(args=to_struct(settings)))
    errors = []
    for stub in stubs:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.Read(rpc.ReadRequest(id="t", urn=PLAIN_URN))
        errors.append(str(refused.value.details()))
    for channel in channels:
        await channel.close()
    await server.stop()
    return errors


async def _writes(home: ProviderHome, id: str = "t") -> list[str]:
    """Ask a provider to create the topic t, and to update and delete it by ``id``; return the error of each."""
    server = await start_provider(None, home)
    errors = []
    async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        stub = provider_pb2_grpc.ResourceProviderStub(channel)
        settings = {"bootstrapServers": [ADDRESSES[0]], "tlsEnabled": False}
        await stub.Configure(rpc.ConfigureRequest(args=to_struct(settings)))
        topic = to_struct(BASE)
        for write in (
            stub.Create(rpc.CreateRequest(urn=PLAIN_URN, properties=topic)),
            stub.Update(rpc.UpdateRequest(id=id, urn=PLAIN_URN, olds=topic, news=topic)),
            stub.Delete(rpc.DeleteRequest(id=id, urn=PLAIN_URN, properties=topic)),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await write
            errors.append(str(refused.value.details()))
    await server.stop()
    return errors


def test_an_adoption_writes_nothing() -> None:
    gate = AdoptionGate({"t": BASE})
    errors = asyncio.run(_writes(ProviderHome(None, adoption=gate)))
    assert errors == [
        f"t: an import changes nothing on the cluster, so it does not {verb} this resource"
        for verb in ("create", "update", "delete")
    ]
    assert (gate.reason, gate.adopted) == ("Pulumi would also create t", False)


def test_a_resource_whose_id_names_another_topic_is_not_written() -> None:
    _, *errors = asyncio.run(_writes(ProviderHome(None), "another"))
    assert all("it has not the id that its properties have; `pulumi state delete" in error for error in errors), errors
    assert len(errors) == 2


def test_each_provider_reaches_the_cluster_of_its_own_settings() -> None:
    for address, error in zip(ADDRESSES, asyncio.run(_errors()), strict=True):
        assert f"{address}: nothing listens on this port" in error


# The engine deletes through the provider in the state, which may not be the one that the program registers with.

PREFIX = "urn:pulumi:dev::p"
TOPIC_URN = f"{PREFIX}::{TOPIC_PATH}::t"
ENTITY = (("user", "billing"),)
LIMITS = QUOTAS.properties(ENTITY, {"producer_byte_rate": 1000.0})
GRANTED = {**ACCESS, "resourcePatternTypeFilter": "Literal"}
REVOKED = {**GRANTED, "aclPrincipal": "User:old"}


def _resource(urn: str, id: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": ResourceUrn(urn).type, "urn": urn, "id": id, "inputs": properties, "outputs": properties}


def _acl_urn(properties: Mapping[str, Any]) -> str:
    return ACLS.urn(PREFIX, ACLS.key_of(properties))


STATE = [
    {
        "type": ACCESS_SET_TYPE,
        "urn": f"{PREFIX}::{ACCESS_SET_TYPE}::dev",
        "outputs": {
            "declared": {
                ACLS.name(ACLS.key_of(REVOKED)): {"in": ["access/a.yaml"]},
                QUOTAS.name(ENTITY): {"in": ["access/a.yaml"], "names": ["producer_byte_rate"]},
            },
            "allow": {"access/a.yaml": []},
            "passwords": [],
        },
    },
    {
        "type": SET_TYPE,
        "urn": f"{PREFIX}::{SET_TYPE}::dev",
        "outputs": {
            "declared": {
                "t": {
                    "file": "topics/t.yaml",
                    "partitions": 3,
                    "replicationFactor": 2,
                    "config": {},
                    "allow": [{"change": "recreate"}],
                }
            }
        },
    },
    _resource(_acl_urn(REVOKED), ACL.id_of(REVOKED), REVOKED),
    _resource(QUOTAS.urn(PREFIX, ENTITY), QUOTA.id_of(LIMITS), LIMITS),
    _resource(TOPIC_URN, "t", BASE),
]


class _OfState(ProviderHome):
    def recorded_state(self, stack: str) -> DeployedStack | None:
        return deployed_stack(STATE)


async def _deletions(*, providers: int) -> list[str]:
    """Register an ACL, a quota and a smaller topic; let the last of the providers delete; return the answers."""
    server = await start_provider(None, _OfState(None))
    options = [("grpc.use_local_subchannel_pool", 1)]
    channels = [grpc.aio.insecure_channel(f"127.0.0.1:{server.port}", options) for _ in range(providers)]
    stubs = [provider_pb2_grpc.ResourceProviderStub(channel) for channel in channels]
    for stub in stubs:
        settings = {"bootstrapServers": [ADDRESSES[0]], "tlsEnabled": False}
        await stub.Configure(rpc.ConfigureRequest(args=to_struct(settings)))
    olds, news = to_struct(BASE), to_struct({**BASE, "partitions": 1.0})
    await stubs[0].Check(rpc.CheckRequest(urn=_acl_urn(GRANTED), news=to_struct(GRANTED)))
    await stubs[0].Check(rpc.CheckRequest(urn=QUOTAS.urn(PREFIX, ENTITY), news=to_struct(LIMITS)))
    await stubs[0].Check(rpc.CheckRequest(urn=TOPIC_URN, news=news, olds=olds))
    await stubs[0].Diff(rpc.DiffRequest(urn=TOPIC_URN, id="t", olds=olds, news=news))
    undeployed = to_struct({"value": json.dumps({"s": "the registry is read-only"})})
    await stubs[0].Invoke(rpc.InvokeRequest(tok=PREPARE_SUBJECTS, args=undeployed))
    answers = []
    for urn, id, properties in (
        (_acl_urn(REVOKED), ACL.id_of(REVOKED), REVOKED),
        (QUOTAS.urn(PREFIX, ENTITY), QUOTA.id_of(LIMITS), LIMITS),
        (TOPIC_URN, "t", BASE),
        (SUBJECTS.urn(PREFIX, "s"), "s", {"subject": "s", "allow": [{"change": "delete-subject"}]}),
    ):
        try:
            await stubs[-1].Delete(rpc.DeleteRequest(urn=urn, id=id, properties=to_struct(properties)))
            answers.append("deleted")
        except grpc.aio.AioRpcError as error:
            answers.append(str(error.details()))
    for channel in channels:
        await channel.close()
    await server.stop()
    return answers


@pytest.mark.parametrize("providers", [1, 2])
def test_what_one_provider_registers_another_one_knows_when_it_deletes(
    providers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = list[str]()

    async def delete(self: object, id: str, properties: object) -> None:
        sent.append(id)

    for type in (Acls, SettingsResources, Topics):
        monkeypatch.setattr(type, "delete", delete)
    answers = asyncio.run(_deletions(providers=providers))
    # The quota is registered: only its resource is replaced.
    assert sent == [ACL.id_of(REVOKED), "t"]
    assert answers == ["deleted"] * 3 + ["subject s: not deployed: the registry is read-only"]
