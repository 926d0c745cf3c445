"""Test what is read of topics and of the service, and that requests for many are repeated one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.errors import (
    ClusterAuthorizationFailedError,
    KafkaTimeoutError,
    ThrottlingQuotaExceededError,
    UnsupportedVersionError,
)

from tests.support.command import project
from topicwarden.kafka.connect import request_errors
from topicwarden.kafka.connect.request_errors import RequestError, error_of_code, request_error
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster_service import setting_source
from topicwarden.kafka.read.partition_extents import log_dirs_answer, log_sizes
from topicwarden.kafka.read.snapshot import SET_BY_SERVICE, SET_ON_TOPIC, LogDirsAnswer
from topicwarden.kafka.read.snapshot_reads import _cluster_described, eligible_leaders, reassignments
from topicwarden.kafka.read.topic_reads import TopicProperties, _Settings, _shows
from topicwarden.kafka_facts.services import PROFILES
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project

# What is read of topics: descriptions, sizes of logs, and eligible leader replicas.


@pytest.mark.parametrize(
    ("config", "same"),
    [
        ({"cleanup.policy": "compact,delete", "preallocate": "true"}, True),
        ({"cleanup.policy": "compact, delete", "preallocate": "TRUE"}, True),
        ({"cleanup.policy": "delete", "preallocate": "true"}, False),
        ({"cleanup.policy": "compact,delete"}, False),
        ({"cleanup.policy": "compact,delete", "preallocate": "true", "flush.ms": "1"}, False),
    ],
)
def test_settings_that_are_spelled_differently_are_the_same(config: dict[str, str], same: bool) -> None:
    live = TopicProperties(3, 2, {"cleanup.policy": "compact,delete", "preallocate": "true"})
    assert live.agrees(TopicProperties(3, 2, config)) is same
    assert not live.agrees(TopicProperties(4, 2, config))
    assert not live.agrees(TopicProperties(3, 1, config))


def test_a_setting_that_was_set_to_its_default_may_be_reported_as_not_set() -> None:
    live = TopicProperties(3, 2, {"segment.ms": "9"}, {"retention.ms": "604800000", "flush.ms": "1"})
    assert live.agrees(TopicProperties(3, 2, {"segment.ms": "9", "retention.ms": "604800000"}))
    assert live.agrees(TopicProperties(3, 2, {"segment.ms": "9"}))
    assert not live.agrees(TopicProperties(3, 2, {"segment.ms": "9", "retention.ms": "1"}))
    assert not live.agrees(TopicProperties(3, 2, {"retention.ms": "604800000"}))
    assert live.config_like({"retention.ms": "604800000"}) == {"segment.ms": "9", "retention.ms": "604800000"}
    assert live.config_like({"retention.ms": "1"}) == live.config_like({}) == {"segment.ms": "9"}


@pytest.mark.parametrize(
    ("declared", "live", "same"),
    [
        ("1", "1.0", True),
        ("0", "0.0", True),
        ("0.0001", "1.0E-4", True),
        ("0.50", "0.5", True),
        ("0.5", "0.50001", False),
        ("0.5", "", False),
    ],
)
def test_kafka_writes_a_number_in_its_own_way(declared: str, live: str, same: bool) -> None:
    name = "min.cleanable.dirty.ratio"
    found = TopicProperties(3, 2, {name: live, "flush.ms": "1"})
    assert found.agrees(TopicProperties(3, 2, {name: declared, "flush.ms": "1"})) is same
    assert _shows(_Settings({name: live}, {}), {name: declared}) is same
    assert found.config_like({name: declared}) == {name: declared if same else live, "flush.ms": "1"}
    assert found.config_like({}) == found.config


@pytest.mark.parametrize("order", [1, -1])
def test_the_incomplete_copy_on_another_disk_does_not_count(order: int) -> None:
    def directory(size: int, *, copy: bool) -> dict[str, Any]:
        partition = {"partition_index": 0, "partition_size": size, "offset_lag": 0, "is_future_key": copy}
        return {"error_code": 0, "log_dir": "/disk", "topics": [{"name": "orders", "partitions": [partition]}]}

    directories = [directory(5_000, copy=False), directory(17, copy=True)][::order]
    assert log_sizes([{"broker": 2, "log_dirs": directories}]) == {("orders", 0, 2): 5_000}
    assert log_sizes([{"broker": 2, "log_dirs": directories}], future=True).keys() == {("orders", 0, 2)}


def answered(*codes: int, broker: int = 0) -> LogDirsAnswer:
    """Return the answer of one broker, with its error code and that of each of its log directories."""
    return log_dirs_answer({1: broker}, {1: [{"error_code": code} for code in codes]})


def test_failed_log_directories_are_not_a_missing_permission() -> None:
    assert answered(0, 0) == LogDirsAnswer()
    assert answered(0, 56) == answered(56) == LogDirsAnswer(errors={1: "KAFKA_STORAGE_ERROR"})
    assert answered(broker=31) == answered() == LogDirsAnswer(denied=True)  # 31: CLUSTER_AUTHORIZATION_FAILED
    assert answered(broker=-1) == LogDirsAnswer(errors={1: "UNKNOWN"})


@pytest.mark.parametrize(
    ("operations", "log_dirs", "service", "described"),
    [
        (["DESCRIBE"], LogDirsAnswer(errors={1: "KAFKA_STORAGE_ERROR"}), "apache", True),
        (["DESCRIBE"], LogDirsAnswer(supported=False), "apache", True),
        (["DESCRIBE"], None, "apache", True),
        ([], LogDirsAnswer(errors={1: "KAFKA_STORAGE_ERROR"}), "apache", True),
        ([], LogDirsAnswer(denied=True), "apache", False),
        (["DESCRIBE"], LogDirsAnswer(supported=False), "event-hubs", False),  # its groups may follow other rules
        (["DESCRIBE"], LogDirsAnswer(), "event-hubs", True),
        (None, None, "apache", False),
    ],
)
def test_who_may_describe_the_cluster_is_what_the_brokers_say(
    operations: list[str] | None, log_dirs: LogDirsAnswer | None, service: str, described: bool
) -> None:
    assert _cluster_described({"authorized_operations": operations}, log_dirs, PROFILES[service]) is described


PAGES: dict[str | None, dict[str, Any]] = {
    None: {"topics": [("a", 0, [3, 2]), ("a", 1, None)], "next_cursor": {"topic_name": "a", "partition_index": 2}},
    "a": {"topics": [("a", 2, [1]), ("b", 0, None)], "next_cursor": None},
}


class Paging:
    """An Admin client whose answers have two partitions each."""

    def describe_topic_partitions(self, topics: list[str], limit: int, cursor: dict[str, Any] | None) -> dict[str, Any]:
        assert topics == ["a", "b"]
        page = PAGES[cursor["topic_name"] if cursor else None]
        partitions = [
            {"name": name, "partitions": [{"partition_index": number, "eligible_leader_replicas": brokers}]}
            for name, number, brokers in page["topics"]
        ]
        return {"topics": partitions, "next_cursor": page["next_cursor"]}


class Old:
    """An Admin client of brokers that do not know the request."""

    def describe_topic_partitions(self, *_: object) -> dict[str, Any]:
        raise UnsupportedVersionError


def test_every_page_is_read() -> None:
    assert eligible_leaders(Paging(), {"b", "a"}) == {("a", 0): (2, 3), ("a", 2): (1,)}


def test_brokers_that_do_not_know_the_request_have_none() -> None:
    assert eligible_leaders(Old(), ["a"]) == {}
    assert eligible_leaders(Old(), []) == {}


class Reassigning:
    """An Admin client whose cluster moves a partition, or refuses to list what it moves."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    def list_partition_reassignments(self) -> dict[TopicPartition, dict[str, Any]]:
        if self._error:
            raise self._error
        return {TopicPartition("a", 0): {"adding_replicas": [4]}}


def test_the_cluster_lists_its_reassignments() -> None:
    assert reassignments(Reassigning()) == ({("a", 0): {"adding_replicas": [4]}}, "")


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (ClusterAuthorizationFailedError(), "ClusterAuthorizationFailedError"),
        (UnsupportedVersionError(), "UnsupportedVersionError"),
        (RuntimeError(), "NotControllerError"),  # the client gives up because the controller moves
    ],
)
def test_reassignments_that_the_cluster_does_not_list_are_unknown(
    error: Exception, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_errors, "_TIMEOUT_S", 0)
    assert reassignments(Reassigning(error)) == ({}, name)


# Which settings of a topic count as set by somebody, and which service a connection is of.


@pytest.mark.parametrize(
    ("service", "setting", "value", "source", "seen"),
    [
        ("apache", "retention.ms", "604800000", SET_ON_TOPIC, SET_ON_TOPIC),
        ("apache", "future.setting", "1", SET_ON_TOPIC, SET_ON_TOPIC),
        ("redpanda", "redpanda.remote.read", "true", SET_ON_TOPIC, SET_BY_SERVICE),
        ("redpanda", "write.caching", "true", SET_ON_TOPIC, SET_BY_SERVICE),
        ("redpanda", "retention.ms", "604800000", SET_ON_TOPIC, SET_ON_TOPIC),
        ("redpanda", "retention.ms", "604800000", "DEFAULT_CONFIG", "DEFAULT_CONFIG"),
        ("confluent-cloud", "retention.ms", "604800000", SET_ON_TOPIC, SET_BY_SERVICE),
        ("confluent-cloud", "retention.ms", "604800001", SET_ON_TOPIC, SET_ON_TOPIC),
        ("confluent-cloud", "segment.bytes", "104857600", SET_ON_TOPIC, SET_BY_SERVICE),
        ("confluent-cloud", "segment.bytes", "1073741824", SET_ON_TOPIC, SET_ON_TOPIC),
        ("confluent-cloud", "cleanup.policy", " delete", SET_ON_TOPIC, SET_BY_SERVICE),
        ("confluent-cloud", "cleanup.policy", "compact", SET_ON_TOPIC, SET_ON_TOPIC),
        ("confluent-cloud", "confluent.value.schema.validation", "false", SET_ON_TOPIC, SET_BY_SERVICE),
        ("confluent-cloud", "retention.ms", None, SET_ON_TOPIC, SET_ON_TOPIC),
        ("warpstream", "warpstream.compression.type", "lz4", SET_ON_TOPIC, SET_BY_SERVICE),
        ("aiven", "diskless.enable", "true", SET_ON_TOPIC, SET_BY_SERVICE),
    ],
)
def test_unset_settings_are_not_written_to_the_topic(
    service: str, setting: str, value: str | None, source: str, seen: str
) -> None:
    assert setting_source(PROFILES[service], setting, value, source) == seen


def test_a_connection_has_the_named_service_or_that_of_its_host_names(tmp_path: Path) -> None:
    serverless = "kafka:bootstrapServers: ['boot-a1.c2.kafka-serverless.us-east-1.amazonaws.com:9098']"
    cases = {
        serverless: "msk-serverless",
        f"{serverless}, topicwarden:profile: apache": "apache",
        "kafka:bootstrapServers: ['kafka.example.com:9092'], topicwarden:profile: msk-express": "msk-express",
        "kafka:bootstrapServers: ['kafka.example.com:9092']": None,
    }
    for number, (settings, name) in enumerate(cases.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        profile = connect_to(
            Project(project(folder, {"stacks/Pulumi.prod.yaml": f"config: {{{settings}}}"})), "prod"
        ).profile
        assert (profile.name if profile else None) == name, settings


def test_an_unknown_service_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    settings = "config: {kafka:bootstrapServers: ['a:1'], topicwarden:profile: warpstraem}"
    with pytest.raises(Refusal, match=r"profile: expected one of apache, .*; did you mean warpstream\?"):
        connect_to(Project(project(tmp_path, {"stacks/Pulumi.prod.yaml": settings})), "prod")


# Test that requests for many topics are sent again only for those that may still succeed.

QUOTA, DENIED, MISSING = 89, 29, 3


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_errors, "_PAUSE_S", 0.0)
    monkeypatch.setattr(request_errors, "_PROGRESS_EVERY_S", 0.0)


class Broker:
    """Answers each request with the next of ``answers``: codes by name, or an exception."""

    def __init__(self, *answers: dict[str, int] | Exception) -> None:
        self.answers, self.requests = list(answers), list[list[str]]()

    def send(self, names: list[str]) -> dict[str, RequestError]:
        self.requests.append(list(names))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return {name: error_of_code(code, None) for name, code in answer.items()}


def test_only_transient_errors_are_retried() -> None:
    broker, lines = Broker({"a": QUOTA, "b": DENIED}, {"a": QUOTA}, {}), list[str]()
    errors = request_errors.retry_each("abc", broker.send, (), lines.append)
    assert {name: error.name for name, error in errors.items()} == {"b": "TOPIC_AUTHORIZATION_FAILED"}
    assert broker.requests == [["a", "b", "c"], ["a"], ["a"]]
    assert lines[0] == "2 of 3 topics done, 1 tried again: Kafka's quota for changes of topics is used up"


def test_a_lost_connection_is_an_error_of_every_topic() -> None:
    broker = Broker(KafkaTimeoutError("no answer"), {})
    assert request_errors.retry_each("ab", broker.send, (), lambda _: None) == {}
    assert broker.requests == [["a", "b"], ["a", "b"]]


def test_an_error_that_is_final_for_the_caller_is_not_repeated() -> None:
    broker = Broker({"a": MISSING})
    errors = request_errors.retry_each("a", broker.send, ("UNKNOWN_TOPIC_OR_PARTITION",), lambda _: None)
    assert errors["a"].name == "UNKNOWN_TOPIC_OR_PARTITION"


def test_the_last_error_is_returned_after_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_errors, "_EACH_TIMEOUT_S", 0.0)
    errors = request_errors.retry_each("a", Broker({"a": QUOTA}).send, (), lambda _: None)
    assert errors["a"].name == "THROTTLING_QUOTA_EXCEEDED"


def test_an_error_has_the_name_of_the_protocol_and_the_words_of_the_broker() -> None:
    error = request_error(ThrottlingQuotaExceededError("wait"))
    assert (error.name, str(error), error.passing) == ("THROTTLING_QUOTA_EXCEEDED", "wait", True)
    assert str(error_of_code(DENIED, None)) == "TOPIC_AUTHORIZATION_FAILED"
    assert error_of_code(9_999, "new").name == "UNKNOWN"
