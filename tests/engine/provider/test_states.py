"""Test that both providers and both registrations write the same state, also with many requests at the same time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import grpc
import pytest
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from tests.engine.provider.conftest import ExchangeableStack

UP = "up --yes --skip-preview --suppress-outputs"
SECRETS = ("76543210", "65432109", "plain-in-the-program")


@pytest.mark.parametrize(("first", "second"), [("official", "own"), ("own", "official")])
def test_the_other_provider_sees_no_change_and_no_secret(stack: ExchangeableStack, first: str, second: str) -> None:
    stack.use(first)
    stack.pulumi(UP)
    before = stack.resources()
    assert len(before) == 10
    assert [secret for secret in SECRETS if secret in stack.state()] == []

    stack.use(second)
    stack.pulumi("preview --expect-no-changes")
    stack.pulumi(f"{UP} --expect-no-changes")
    assert stack.resources() == before
    stack.pulumi("refresh --yes --skip-preview --expect-no-changes")
    refreshed = stack.resources()
    assert {name: resource["outputs"] for name, resource in refreshed.items()} == {
        name: resource["outputs"] for name, resource in before.items()
    }
    assert [secret for secret in SECRETS if secret in stack.state()] == []

    stack.use(first)
    stack.pulumi("preview --expect-no-changes")
    stack.use(second)
    stack.pulumi("state unprotect --yes --all")
    stack.pulumi("destroy --yes --skip-preview")
    assert stack.resources() == {}


def test_both_providers_write_the_same_state(stack: ExchangeableStack) -> None:
    states = {}
    for provider in ("official", "own"):
        stack.use(provider)
        stack.pulumi(UP)
        states[provider] = stack.resources()
        stack.pulumi("state unprotect --yes --all")
        stack.pulumi("destroy --yes --skip-preview")
    assert states["own"] == states["official"]


@pytest.mark.parametrize("stack", ["declared_topics.py"], indirect=True)
def test_lean_registration_and_the_sdk_give_the_same_state(stack: ExchangeableStack) -> None:
    stack.use("own")
    states = {}
    for way, other in (("sdk", "lean"), ("lean", "sdk")):
        stack.register(way)
        stack.pulumi(UP)
        states[way] = stack.everything()
        stack.register(other)
        stack.pulumi("preview --expect-no-changes")
        stack.pulumi(f"{UP} --expect-no-changes")
        assert stack.everything() == states[way]
        stack.pulumi("state unprotect --yes --all")
        stack.pulumi("destroy --yes --skip-preview")
    assert len(states["sdk"]) == 9
    assert states["lean"] == states["sdk"]


REQUESTS = 10_000


@pytest.fixture
def provider() -> Iterator[grpc.Channel]:
    command = [sys.executable, "-m", "topicwarden.deploy.provider"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        with grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}") as channel:
            yield channel
        process.terminate()


def test_no_request_of_a_burst_is_refused(provider: grpc.Channel) -> None:
    topic = Struct()
    topic.update({"name": "orders", "partitions": 3, "replicationFactor": 1})
    urn = "urn:pulumi:dev::shop::kafka:index/topic:Topic::orders"
    stub = provider_pb2_grpc.ResourceProviderStub(provider)
    request = provider_pb2.CheckRequest(urn=urn, news=topic)
    calls = [stub.Check.future(request) for _ in range(REQUESTS)]
    assert {call.code() for call in calls} == {grpc.StatusCode.OK}
