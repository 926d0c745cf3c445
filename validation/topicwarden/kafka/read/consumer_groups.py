"""Groups of all types and their committed offsets: who reads which topics, and how far."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Final

from kafka import KafkaAdminClient
from kafka.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    GroupIdNotFoundError,
    KafkaError,
    NotCoordinatorError,
    UnsupportedVersionError,
)
from kafka.protocol.admin import ListGroupsRequest

from topicwarden.kafka.connect.client_internals import broker_ids, fetches_offsets_of_several_groups, send_to_brokers
from topicwarden.kafka.connect.request_errors import retry_answers, retry_transient
from topicwarden.kafka.read.group_requests import (
    GroupDescription,
    classic_group,
    classic_groups_request,
    committed_offsets,
    committed_offsets_request,
    consumer_group,
    consumer_groups_request,
    is_streams_metadata,
    share_groups_request,
    share_offsets_request,
    start_offsets,
    streams_group,
    streams_groups_request,
)
from topicwarden.kafka.read.records_at_offsets import PROGRESS_GROUP

_WITHOUT_MEMBERS = ("Empty", "Dead")

_STREAMS_PROTOCOL = "streams"
"""Protocol type of streams groups (KIP-1071)."""

_CONSUMERS = ("consumer", _STREAMS_PROTOCOL, "")
"""Protocol types of groups that commit offsets of topics; Kafka Connect's workers and share groups do not."""

_CONNECT = "connect"
"""Protocol type of the group of Kafka Connect's workers (``WorkerGroupMember``)."""

_SHARE = "share"
"""Protocol type and group type of share groups (KIP-932)."""

_CONSUMER = "consumer"
"""Group type of consumer groups with the protocol of KIP-848."""

_PASSING: Final = frozenset(
    error.errno for error in (CoordinatorLoadInProgressError, CoordinatorNotAvailableError, NotCoordinatorError)
)
_TIMEOUT_S, _PAUSE_S = 30.0, 0.5


@dataclass(frozen=True)
class ConsumerGroup:
    """A consumer group: its state, its current members, and the next offset to read by topic and partition.

    ``assigned`` are the partitions that its members read now. ``streams`` is true for a Kafka Streams application; the
    group name is then the application id. ``hidden`` is true if only the name is known: this user lacks Describe on the
    group, or the coordinator does not report what an active group reads. ``members`` is None if the group was not
    described.
    """

    name: str
    state: str
    members: int | None
    offsets: Mapping[tuple[str, int], int] = field(default_factory=dict)
    assigned: frozenset[tuple[str, int]] = frozenset()
    streams: bool = False
    hidden: bool = False
    share: bool = False
    """True for a share group (KIP-932). Its offsets are start offsets: records from there on are not all settled."""
    hosts: frozenset[str] = frozenset()
    """The addresses of the members; empty if the group was not described."""
    type: str = ""
    """``classic``, ``consumer``, ``share`` or ``streams``; empty if the brokers do not report it (before Kafka 3.8)."""
    subscribed: frozenset[str] = frozenset()
    """The topics to which members subscribe by name, as far as brokers report it."""
    worker: bool = False
    """True for the group of Kafka Connect's workers, which reads no topic by its members."""

    @property
    def active(self) -> bool:
        """True if the group has members, or if its state is not known."""
        return self.state not in _WITHOUT_MEMBERS

    @property
    def in_use(self) -> bool:
        """True if the group has members, or committed offsets that brokers still keep.

        A consumer with ``assign()`` is no member. Brokers delete its offsets ``offsets.retention.minutes`` after its
        last commit (KIP-211), so it has committed since. The start offsets of share groups do not expire.
        """
        return self.active or (bool(self.offsets) and not self.share)

    @cached_property
    def topics(self) -> frozenset[str]:
        """The topics for which the group has committed offsets, or which it reads now."""
        return self.assigned_topics.union(self.offsets_by_topic)

    @cached_property
    def assigned_topics(self) -> frozenset[str]:
        """The topics that the members read now."""
        return frozenset(topic for topic, _ in self.assigned)

    @cached_property
    def offsets_by_topic(self) -> Mapping[str, Mapping[int, int]]:
        """The next offset to read by partition, for each topic with committed offsets."""
        found: dict[str, dict[int, int]] = {}
        for (topic, partition), offset in self.offsets.items():
            found.setdefault(topic, {})[partition] = offset
        return found


@dataclass(frozen=True)
class AllGroups:
    """All groups that this user sees. ``failures``: why groups of a broker are not known, by broker id."""

    groups: tuple[ConsumerGroup, ...] = ()
    failures: Mapping[int, KafkaError] = field(default_factory=dict)


def read_groups(
    admin: KafkaAdminClient, topics: Collection[str], named: Callable[[str], bool] = lambda _: False
) -> tuple[ConsumerGroup, ...]:
    """Return the groups that have committed an offset in any of ``topics``, or read one now, with all their offsets.

    Groups whose name ``named`` accepts are returned whatever they read, also those of Kafka Connect's workers. Groups
    that may read any topic are returned, too: hidden ones, and share groups whose topics are not known. Sorted as by
    ``read_all_groups``. Raises KafkaError if a broker does not answer.
    """
    every = read_all_groups(admin)
    for failure in every.failures.values():
        raise failure
    found = [
        group if named(group.name) or group.hidden or not group.topics.isdisjoint(topics) else _unknown(group)
        for group in every.groups
    ]
    return tuple(sorted((group for group in found if group is not None), key=lambda group: group.hidden))


def _unknown(group: ConsumerGroup) -> ConsumerGroup | None:
    """Return a group that reads none of the topics, as far as it is known; None if all is known of it."""
    if group.share and not group.topics:
        return group
    if group.worker or group.members is not None:
        return None
    return ConsumerGroup(group.name, "", None, hidden=True)


def read_all_groups(admin: KafkaAdminClient) -> AllGroups:
    """Return all groups of the cluster.

    Groups are sorted by name. Share groups come after the others, then Kafka Connect's workers. Hidden groups come
    last. Without Describe on the Cluster resource, Kafka leaves groups out without an error.

    Sends one list request per broker, then for 200 groups of a coordinator at most three requests, to all brokers at
    the same time. An error of one group or one broker does not affect the others.
    """
    reader, deadline = _Reader(admin), time.monotonic() + _TIMEOUT_S
    while reader.read() and time.monotonic() < deadline:
        time.sleep(_PAUSE_S)
    return AllGroups(tuple(reader.groups()), reader.failures)


def has_connect_workers(admin: KafkaAdminClient) -> bool:
    """Return whether this user sees a group of Kafka Connect's workers."""
    return any(group["protocol_type"] == _CONNECT for group in retry_transient(admin.list_groups))


@dataclass(frozen=True)
class _Listed:
    """A group as its coordinator lists it. ``type`` is empty before Kafka 3.8, ``state`` before 2.6."""

    name: str
    protocol: str
    state: str
    type: str
    broker: int

    @property
    def share(self) -> bool:
        return _SHARE in (self.protocol, self.type)

    @property
    def streams(self) -> bool:
        return self.protocol == _STREAMS_PROTOCOL

    @property
    def commits(self) -> bool:
        return self.protocol in _CONSUMERS and not self.share

    @property
    def active(self) -> bool:
        return self.state not in _WITHOUT_MEMBERS


@dataclass(frozen=True)
class _Part:
    """One kind of request about groups: for which groups, of how many at once, and what its answer says of each."""

    applies: Callable[[_Listed], bool]
    request: Callable[[list[str]], Any]
    parsed: Callable[[Any], Any]
    at_once: int = 200


_DESCRIPTIONS: Final = (
    _Part(
        lambda group: group.commits and group.active and not group.streams and group.type != _CONSUMER,
        classic_groups_request,
        classic_group,
    ),
    _Part(
        lambda group: group.commits and group.active and group.type == _CONSUMER,
        consumer_groups_request,
        consumer_group,
    ),
    _Part(lambda group: group.streams and group.active, streams_groups_request, streams_group),
    _Part(lambda group: group.share and group.active, share_groups_request, consumer_group),
)
_STARTS: Final = _Part(lambda group: group.share, share_offsets_request, start_offsets)


class _Reader:
    """Reads groups. ``read`` is called again as long as coordinators move or load."""

    def __init__(self, admin: KafkaAdminClient) -> None:
        several = fetches_offsets_of_several_groups(admin)
        self._offsets = _Part(
            lambda group: group.commits,
            partial(committed_offsets_request, several=several),
            committed_offsets,
            200 if several else 1,
        )
        self._admin = admin
        self._listed: dict[str, _Listed] = {}
        self._found: dict[_Part, dict[str, Any]] = {}
        self.failures: dict[int, KafkaError] = {}

    def read(self) -> bool:
        """Read the groups; return whether some were not read because their coordinator moved or loaded."""
        lists = {broker: [ListGroupsRequest(min_version=0)] for broker in broker_ids(self._admin)}
        listing = retry_answers(lists, self._send)
        self.failures = {broker: answer for broker, (answer,) in listing.items() if isinstance(answer, KafkaError)}
        self._listed = {
            str(group.group_id): _Listed(
                str(group.group_id),
                str(group.protocol_type or ""),
                str(getattr(group, "group_state", None) or ""),
                str(getattr(group, "group_type", None) or "").lower(),
                broker,
            )
            for broker, (answer,) in listing.items()
            if broker not in self.failures
            for group in answer.groups
            if group.protocol_type or not str(group.group_id).startswith(PROGRESS_GROUP)  # reads nothing
        }
        sent = list(self._requests())
        requests: dict[int, list[Any]] = {}
        for broker, part, names in sent:
            requests.setdefault(broker, []).append(part.request(names))
        # The errors are those of groups: a broker before Kafka 3.0 has that of the only group in the whole answer.
        answers = {broker: iter(each) for broker, each in retry_answers(requests, self._send, lambda _: 0).items()}
        passing = [self._take(broker, part, names, next(answers[broker])) for broker, part, names in sent]
        return any(passing)

    def _requests(self) -> Iterator[tuple[int, _Part, list[str]]]:
        """Yield what is requested of each broker, and the names of its groups."""
        for part in (self._offsets, *_DESCRIPTIONS, _STARTS):
            names: dict[int, list[str]] = {}
            for group in self._listed.values():
                if part.applies(group) and group.name not in self._found.get(part, {}):
                    names.setdefault(group.broker, []).append(group.name)
            for broker, each in names.items():
                for start in range(0, len(each), part.at_once):
                    yield broker, part, each[start : start + part.at_once]

    def _send(self, requests: Mapping[int, Sequence[Any]]) -> dict[int, list[Any]]:
        return send_to_brokers(self._admin, requests)

    def _take(self, broker: int, part: _Part, names: list[str], answer: Any) -> bool:
        """Remember what an answer says of groups; return whether some of them may be read soon."""
        if isinstance(answer, KafkaError):
            if not isinstance(answer, UnsupportedVersionError):
                self.failures[broker] = answer
            return False
        passing = False
        for name, group in _groups(answer, names):
            if group.error_code == 0:
                self._found.setdefault(part, {})[name] = part.parsed(group)
            elif group.error_code == GroupIdNotFoundError.errno:
                self._listed.pop(name, None)  # deleted since the list
            else:
                passing = passing or group.error_code in _PASSING
        return passing

    def groups(self) -> Iterator[ConsumerGroup]:
        """Yield the groups as they are known."""
        offsets, starts = self._found.get(self._offsets, {}), self._found.get(_STARTS, {})
        descriptions = {name: each for part in _DESCRIPTIONS for name, each in self._found.get(part, {}).items()}
        hidden = list[ConsumerGroup]()
        listed = sorted(self._listed.values(), key=lambda group: (not group.commits, not group.share, group.name))
        for group in listed:
            described = descriptions.get(group.name)
            committed = offsets.get(group.name, {})
            if group.commits and (group.name not in offsets or (group.active and not described and not committed)):
                hidden.append(ConsumerGroup(group.name, "", None, hidden=True))
            else:
                yield _group(group, committed, starts.get(group.name, {}), described)
        yield from hidden


def _groups(answer: Any, names: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the groups of an answer, which is itself the only one before Kafka 3.0."""
    for group in answer.groups or ():
        yield str(group.group_id), group
    if not answer.groups and len(names) == 1:
        yield names[0], answer


def _group(
    listed: _Listed,
    committed: Mapping[tuple[str, int], tuple[int, str]],
    starts: Mapping[tuple[str, int], int],
    described: GroupDescription | None,
) -> ConsumerGroup:
    offsets = starts if listed.share else {partition: offset for partition, (offset, _) in committed.items()}
    reported = listed.share or not listed.commits or not listed.active
    return ConsumerGroup(
        listed.name,
        state=described.state if described else listed.state if reported else "",
        members=described.members if described else None if listed.active else 0,
        offsets=offsets,
        assigned=described.assigned if described else frozenset(),
        hosts=described.hosts if described else frozenset(),
        type=_STREAMS_PROTOCOL if listed.streams else _SHARE if listed.share else listed.type,
        subscribed=described.subscribed if described else frozenset(),
        share=listed.share,
        worker=listed.protocol == _CONNECT,
        streams=listed.streams
        or (described is not None and described.streams)
        or any(is_streams_metadata(metadata) for _, metadata in committed.values()),
    )
