"""Ask a broker what one of its users may do, in bulk, with the requests that tell it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Final, TypeAlias

from kafka.protocol.admin import (
    CreatePartitionsRequest,
    DeleteGroupsRequest,
    DeleteRecordsRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    DescribeTransactionsRequest,
    IncrementalAlterConfigsRequest,
)
from kafka.protocol.consumer import FetchRequest, HeartbeatRequest
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.producer import EndTxnRequest, InitProducerIdRequest, ProduceRequest

from tests.campaigns.authorizer.wire import OPERATION_CODES, Connection
from topicwarden.kafka_facts.access.operations import SUPPORTED_OPERATIONS
from topicwarden.model.access import CLUSTER, Operation, Resource, ResourceType

Question: TypeAlias = tuple[Resource, Operation]
Answer: TypeAlias = tuple[Question, bool]

TOPIC_REFUSED, GROUP_REFUSED, CLUSTER_REFUSED, TRANSACTIONAL_ID_REFUSED = 29, 30, 31, 53
"""The errors ``*_AUTHORIZATION_FAILED``."""
_TOPIC_CONFIGS, _GROUP_CONFIGS = 2, 32


ANY_TOPIC: Final = Resource(ResourceType.TOPIC, "")
"""Stands for the question whether a client may get a producer ID: IdempotentWrite, or Write on any topic."""


def ask(client: Connection, resources: Sequence[Resource], *, group_configs: bool) -> Iterator[Answer]:
    """Yield what the client may do, from several requests for many questions.

    No topic and no group of ``resources`` exists, so that nothing changes. ``group_configs`` is whether this version of
    Kafka has settings of groups.
    """
    topics = [each for each in resources if each.type is ResourceType.TOPIC]
    groups = [each for each in resources if each.type is ResourceType.GROUP]
    transactional = [each for each in resources if each.type is ResourceType.TRANSACTIONAL_ID]
    if resources:
        yield from _topics(client, topics)
        yield from _groups(client, groups, group_configs)
        yield from _transactional(client, transactional)
    yield from _cluster(client)


def _topics(client: Connection, topics: Sequence[Resource]) -> Iterator[Answer]:
    names = [topic.name for topic in topics]
    metadata = client.send(
        MetadataRequest[8](
            topics=[MetadataRequest.MetadataRequestTopic(name=name) for name in names],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=True,
        )
    )
    answered = [(each.name, each.error_code == TOPIC_REFUSED, each.authorized_operations) for each in metadata.topics]
    yield from _described(ResourceType.TOPIC, names, answered)
    yield from _configs(client, topics, _TOPIC_CONFIGS, TOPIC_REFUSED)
    partitions = CreatePartitionsRequest.CreatePartitionsTopic
    created = client.send(
        CreatePartitionsRequest[1](
            topics=[partitions(name=name, count=2, assignments=None) for name in names],
            timeout_ms=1_000,
            validate_only=True,
        )
    )
    yield from _of_partitions(Operation.ALTER, ((each.name, each.error_code) for each in created.results))
    produced = client.send(
        ProduceRequest[3](
            transactional_id=None,
            acks=1,
            timeout_ms=1_000,
            topic_data=[
                ProduceRequest.TopicProduceData(
                    name=name,
                    partition_data=[ProduceRequest.TopicProduceData.PartitionProduceData(index=0, records=b"")],
                )
                for name in names
            ],
        )
    )
    yield from _of_partitions(
        Operation.WRITE, ((each.name, each.partition_responses[0].error_code) for each in produced.responses)
    )
    partition = FetchRequest.FetchTopic.FetchPartition
    fetched = client.send(
        FetchRequest[4](
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1,
            isolation_level=0,
            topics=[
                FetchRequest.FetchTopic(
                    topic=name, partitions=[partition(partition=0, fetch_offset=0, partition_max_bytes=1)]
                )
                for name in names
            ],
        )
    )
    yield from _of_partitions(
        Operation.READ, ((each.topic, each.partitions[0].error_code) for each in fetched.responses)
    )
    record = DeleteRecordsRequest.DeleteRecordsTopic
    deleted = client.send(
        DeleteRecordsRequest[1](
            topics=[
                record(name=name, partitions=[record.DeleteRecordsPartition(partition_index=0, offset=0)])
                for name in names
            ],
            timeout_ms=1_000,
        )
    )
    yield from _of_partitions(Operation.DELETE, ((each.name, each.partitions[0].error_code) for each in deleted.topics))


def _of_partitions(operation: Operation, errors: Iterable[tuple[str, int]]) -> Iterator[Answer]:
    for name, error in errors:
        assert error, f"the topic {name} exists"
        yield (Resource(ResourceType.TOPIC, name), operation), error != TOPIC_REFUSED


def _groups(client: Connection, groups: Sequence[Resource], configs: bool) -> Iterator[Answer]:
    names = [group.name for group in groups]
    described = client.send(DescribeGroupsRequest[5](groups=names, include_authorized_operations=True))
    answered = [
        (each.group_id, each.error_code == GROUP_REFUSED, each.authorized_operations) for each in described.groups
    ]
    supported = SUPPORTED_OPERATIONS[ResourceType.GROUP]
    of_configs = (Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS)
    operations = [each for each in supported if configs or each not in of_configs]
    yield from _described(ResourceType.GROUP, names, answered, operations)
    if configs:
        yield from _configs(client, groups, _GROUP_CONFIGS, GROUP_REFUSED)
    for group in groups:
        beat = client.send(HeartbeatRequest[3](group_id=group.name, generation_id=1, member_id="nobody"))
        yield (group, Operation.READ), beat.error_code != GROUP_REFUSED
    deleted = client.send(DeleteGroupsRequest[1](groups_names=names))
    for result in deleted.results:
        yield (Resource(ResourceType.GROUP, result.group_id), Operation.DELETE), result.error_code != GROUP_REFUSED


def _configs(client: Connection, resources: Sequence[Resource], kind: int, refused: int) -> Iterator[Answer]:
    entity = DescribeConfigsRequest.DescribeConfigsResource
    described = client.send(
        DescribeConfigsRequest[4](
            resources=[entity(resource_type=kind, resource_name=each.name, configuration_keys=[]) for each in resources]
        )
    )
    by_name = {each.name: each for each in resources}
    for result in described.results:
        yield (by_name[result.resource_name], Operation.DESCRIBE_CONFIGS), result.error_code != refused
    alter = IncrementalAlterConfigsRequest.AlterConfigsResource
    altered = client.send(
        IncrementalAlterConfigsRequest[0](
            resources=[alter(resource_type=kind, resource_name=each.name, configs=[]) for each in resources],
            validate_only=True,
        )
    )
    for result in altered.responses:
        yield (by_name[result.resource_name], Operation.ALTER_CONFIGS), result.error_code != refused


def _cluster(client: Connection) -> Iterator[Answer]:
    described = client.send(DescribeClusterRequest[0](include_cluster_authorized_operations=True))
    codes = described.authorized_operations
    yield from _described(ResourceType.CLUSTER, [CLUSTER.name], [(CLUSTER.name, not codes, codes)])
    producer = client.send(InitProducerIdRequest[2](transactional_id=None, transaction_timeout_ms=60_000))
    yield (ANY_TOPIC, Operation.IDEMPOTENT_WRITE), producer.error_code != CLUSTER_REFUSED


def _transactional(client: Connection, ids: Sequence[Resource]) -> Iterator[Answer]:
    described = client.send(DescribeTransactionsRequest[0](transactional_ids=[each.name for each in ids]))
    for state in described.transaction_states:
        resource = Resource(ResourceType.TRANSACTIONAL_ID, state.transactional_id)
        yield (resource, Operation.DESCRIBE), state.error_code != TRANSACTIONAL_ID_REFUSED
    for each in ids:
        ended = client.send(
            EndTxnRequest[1](transactional_id=each.name, producer_id=1, producer_epoch=0, committed=True)
        )
        yield (each, Operation.WRITE), ended.error_code != TRANSACTIONAL_ID_REFUSED


def _described(
    kind: ResourceType,
    names: Sequence[str],
    answered: Sequence[tuple[str, bool, Set[int] | None]],
    operations: Sequence[Operation] = (),
) -> Iterator[Answer]:
    """Yield the answers of names, each with whether Describe is refused, and the numbers of all allowed operations."""
    assert sorted(name for name, _, _ in answered) == sorted(names)
    for name, refused, codes in answered:
        resource = Resource(kind, name)
        yield (resource, Operation.DESCRIBE), not refused
        if not refused:
            assert codes is not None, f"no authorized operations of {resource}"
            for operation in operations or SUPPORTED_OPERATIONS[kind]:
                yield (resource, operation), OPERATION_CODES[operation] in codes
