"""Test that both registrations write the same state, and that many requests at the same time are answered."""

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


REQUESTS = 4_000


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
