"""``kafka:index/topic:Topic``: created, changed, read and deleted many at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

from topicwarden.kafka.connect.request_errors import RequestError, retry_each
from topicwarden.kafka.read.topic_reads import (
    TopicProperties,
    all_replicas,
    list_topics,
    open_brokers,
    read_topics,
    wait_until_visible,
)
from topicwarden.kafka.write.admin_session import AdminSession
from topicwarden.kafka.write.topic_admin import NewTopic, add_partitions, alter_settings, create_topics, delete_topics
from topicwarden.kinds.access_resource import AccessResource
from topicwarden.kinds.announced_writes import Intent
from topicwarden.kinds.batches import Batches, EngineCalls
from topicwarden.kinds.properties import Properties
from topicwarden.kinds.resource_type import Kind, PropertyType, PulumiType, as_texts
from topicwarden.kinds.topic.broker_choice import NewTopicPlacement, racks_of
from topicwarden.model.access import Part
from topicwarden.model.message_text import counted
from topicwarden.model.planned_change import PlanSection

_RECORDS: Final = 8_000
"""Metadata records of one request. The controller refuses more than 10,000 (``MAX_RECORDS_PER_USER_OP``, KIP-919)."""
_DELETED: Final = 1_000
_READ: Final = 2_000

_PLACEMENT_REFUSED: Final = (
    "INVALID_REPLICATION_ASSIGNMENT",
    "INVALID_REQUEST",
    "POLICY_VIOLATION",
    "UNKNOWN",
)
"""Errors that a service, or a policy class of the brokers, may have for brokers that the client chose."""

_EXISTS: Final = "TOPIC_ALREADY_EXISTS"
_MISSING: Final = "UNKNOWN_TOPIC_OR_PARTITION"
_DISABLED: Final = "TOPIC_DELETION_DISABLED"
_DISABLED_TEXT: Final = "the cluster deletes no topics: set delete.topic.enable=true on its controllers"


def _at_least_one(value: float) -> str | None:
    return None if value >= 1 else f"expected at least 1, got {value:g}"


def _decreased(olds: Properties, news: Properties) -> tuple[str, ...]:
    """Return the property that only a new topic can have: Kafka removes no partitions."""
    before, after = olds.get("partitions"), news.get("partitions")
    smaller = isinstance(before, float) and isinstance(after, float) and after < before
    return ("partitions",) if smaller or isinstance(after, str) else ()


GET_TOPIC: Final = "kafka:index:getTopic"
GET_TOPICS: Final = "kafka:index:getTopics"
REQUIRE_CLUSTER: Final = "kafka:index:requireCluster"
"""A function that only this provider has: it refuses to write to any cluster but the one with this id."""

SET_TYPE: Final = "topicwarden:index:TopicSet"
DOMAIN_TYPE: Final = "topicwarden:index:Domain"
TOPIC_TYPE: Final = "kafka:index/topic:Topic"
TOPIC_PATH: Final = f"{SET_TYPE}${DOMAIN_TYPE}${TOPIC_TYPE}"
"""The types in the URN of a topic that the program registers, the outermost first."""

TOPIC: Final = PulumiType(
    token=TOPIC_TYPE,
    properties={
        "name": PropertyType(replaces=True),
        "partitions": PropertyType(Kind.NUMBER, required=True, check=_at_least_one),
        "replicationFactor": PropertyType(Kind.NUMBER, required=True, check=_at_least_one),
        "config": PropertyType(Kind.MAP),
    },
    id_of=lambda properties: str(properties["name"]),
    raw_state=lambda _: {"obj": {"ps": {"config": {"map": {}}}}},
    named="name",
    replaces_if=_decreased,
)


class Topics:
    """The topics of one cluster.

    ``progress`` shows a line about work that takes long. ``announce`` records what is about to be sent.
    ``check_adoption`` may refuse to adopt a topic that exists. ``calls`` are the engine's calls, of all types of
    resources.
    """

    def __init__(
        self,
        session: AdminSession,
        progress: Callable[[str], None],
        announce: Callable[[Intent, Iterable[str]], None],
        check_adoption: Callable[[str], Awaitable[None]],
        calls: EngineCalls,
    ) -> None:
        self._session, self._progress, self._announce = session, progress, announce
        self._check_adoption = check_adoption
        self._placement: NewTopicPlacement | None = None
        self._creates = Batches(
            self._create, _RECORDS, lambda topic: 1 + topic.partitions + len(topic.config), calls=calls
        )
        self._deletes = Batches[str, None, None](self._delete, _DELETED, calls=calls)
        self._settings = Batches(self._alter, _RECORDS, len, calls=calls)
        self._partitions = Batches(self._add_partitions, _RECORDS, lambda count: count, calls=calls)
        self._reads = Batches(self._read, _READ, calls=calls)
        self._visible = Batches(self._wait, _RECORDS, calls=None)

    async def create(self, inputs: Properties) -> None:
        """Create a topic, or adopt one that exists just as declared."""
        topic = NewTopic(
            inputs["name"], int(inputs["partitions"]), int(inputs["replicationFactor"]), as_texts(_config(inputs))
        )
        try:
            await self._creates.submit(topic.name, topic)
        except RequestError as error:
            if error.name != _EXISTS:
                raise
            await self._check_adoption(topic.name)
            state = await self._reads.submit(topic.name, None)
            declared = TopicProperties(topic.partitions, topic.replication_factor, topic.config)
            if state is None or not state.agrees(declared):
                raise RequestError(_EXISTS, _differs(topic, state)) from None
        await self._visible.submit(topic.name, TopicProperties(topic.partitions, topic.replication_factor))

    async def update(self, name: str, olds: Properties, news: Properties) -> None:
        """Change settings and add partitions; settings that nobody declared stay as they are."""
        if olds.get("replicationFactor") != news["replicationFactor"]:
            raise ValueError(
                f"replicas of {name} are not changed here: expected {olds.get('replicationFactor'):g} as deployed, "
                f"got {news['replicationFactor']:g}; `topicwarden rebalance` moves replicas"
            )
        before, after = as_texts(_config(olds)), as_texts(_config(news))
        changes = {**dict.fromkeys(before.keys() - after.keys()), **after} if before != after else {}
        partitions = int(news["partitions"])
        if changes:
            await self._settings.submit(name, changes)
        if partitions > int(olds["partitions"]):
            await self._partitions.submit(name, partitions)
        await self._visible.submit(name, TopicProperties(partitions, int(news["replicationFactor"]), changes))

    async def read(self, name: str, declared: Properties | None) -> Properties | None:
        """Return the topic's properties with the ``declared`` settings (None: all of its own); None if it is gone."""
        known = None if declared is None else as_texts(_config(declared))
        state = await self._reads.submit(name, None if known is None else frozenset(known))
        if state is None:
            return None
        properties: Properties = {
            "name": name,
            "partitions": float(state.partitions),
            "replicationFactor": float(state.replication_factor),
        }
        without_config = declared is not None and declared.get("config") is None
        return properties if without_config else {**properties, "config": state.config_like(known or {})}

    async def delete(self, name: str, properties: Properties) -> None:
        """Delete a topic; one that does not exist counts as deleted."""
        await self._deletes.submit(name, None)
        await self._visible.submit(name, None)

    async def invoke(self, function: str, arguments: Properties) -> Properties:
        """Return the result of ``getTopic`` or ``getTopics`` of the official provider."""
        if function == GET_TOPIC:
            name = str(arguments["name"])
            found = await self.read(name, None)
            if found is None:
                raise ValueError(f"topic {name} does not exist")
            return {"id": name, **found}
        names = await asyncio.to_thread(self._session.request, list_topics)
        topics = await asyncio.gather(*(self.read(name, None) for name in names))
        return {
            "id": str(len(names)),
            "lists": [{"topicName": topic.pop("name"), **topic} for topic in topics if topic is not None],
        }

    def _create(self, topics: Mapping[str, NewTopic]) -> Mapping[str, Exception | None]:
        admin = self._session.writing_admin()
        self._announce(Intent.CREATE, topics)
        placed = {name: self._placed(topic) for name, topic in topics.items()}
        errors = self._retry(placed, lambda names: create_topics(admin, [placed[name] for name in names]), "Create")
        refused = [name for name, error in errors.items() if error.name in _PLACEMENT_REFUSED]
        if refused:
            errors = {name: error for name, error in errors.items() if name not in refused}
            errors |= self._retry(
                refused, lambda names: create_topics(admin, [topics[name] for name in names]), "Create"
            )
        return errors

    def _placed(self, topic: NewTopic) -> NewTopic:
        if self._placement is None:
            racks = racks_of(self._session.request(open_brokers))
            self._placement = NewTopicPlacement(racks, self._session.request(all_replicas))
        return replace(topic, replicas=self._placement.assign(topic.partitions, topic.replication_factor))

    def _delete(self, topics: Mapping[str, None]) -> Mapping[str, Exception | None]:
        admin = self._session.writing_admin()
        self._announce(Intent.DELETE, topics)
        errors = self._retry(topics, lambda names: delete_topics(admin, names), "Delete", final=(_MISSING,))
        return {
            name: RequestError(_DISABLED, _DISABLED_TEXT) if error.name == _DISABLED else error
            for name, error in errors.items()
            if error.name != _MISSING
        }

    def _alter(self, changes: Mapping[str, Mapping[str, str | None]]) -> Mapping[str, Exception | None]:
        admin = self._session.writing_admin()
        return self._retry(
            changes, lambda names: alter_settings(admin, {name: changes[name] for name in names}), "AlterConfigs"
        )

    def _add_partitions(self, counts: Mapping[str, int]) -> Mapping[str, Exception | None]:
        admin = self._session.writing_admin()
        errors = self._retry(
            counts, lambda names: add_partitions(admin, {name: counts[name] for name in names}), "Alter"
        )
        refused = {name: () for name, error in errors.items() if error.name == "INVALID_PARTITIONS"}
        states = self._session.request(read_topics, refused, self._session.service) if refused else {}
        for name, state in states.items():
            if isinstance(state, TopicProperties) and state.partitions == counts[name]:
                del errors[name]  # an earlier request, whose answer was lost, has added them
        return errors

    def _read(self, settings: Mapping[str, Collection[str] | None]) -> Mapping[str, TopicProperties | Exception | None]:
        admin, service = self._session.admin, self._session.service
        states: dict[str, TopicProperties | None] = {}

        def read(names: list[str]) -> dict[str, RequestError]:
            found = read_topics(admin, {name: settings[name] for name in names}, service)
            states.update({name: state for name, state in found.items() if not isinstance(state, RequestError)})
            return {name: state for name, state in found.items() if isinstance(state, RequestError)}

        errors = self._retry(settings, read, "Describe and DescribeConfigs")
        return {**states, **errors}

    def _wait(self, expected: Mapping[str, TopicProperties | None]) -> Mapping[str, None]:
        if late := self._session.request(wait_until_visible, expected, self._session.service):
            self._progress(f"{counted(len(late), 'topic')}, such as {min(late)}: a broker does not show the change yet")
        return {}

    def _retry(
        self,
        names: Iterable[str],
        send: Callable[[list[str]], dict[str, RequestError]],
        permission: str,
        final: Collection[str] = (),
    ) -> dict[str, RequestError]:
        """Return the errors of ``send``, which needs the ``permission`` on each topic."""
        errors = retry_each(names, send, final, self._progress)
        for error in errors.values():
            error.permission = permission
        return errors


def _config(properties: Properties) -> Properties:
    return properties.get("config") or {}


def _differs(topic: NewTopic, state: TopicProperties | None) -> str:
    return (
        f"topic {topic.name} exists and is not as declared: expected {_properties_text(topic)}, got "
        f"{'a topic that this user may not describe' if state is None else _properties_text(state)}; "
        f"`topicwarden import {topic.name}` adopts it"
    )


def _properties_text(topic: NewTopic | TopicProperties) -> str:
    counts = f"{counted(topic.partitions, 'partition')}, {counted(topic.replication_factor, 'replica')}"
    return f"{counts} and {dict(topic.config)}"


RESOURCE: Final = AccessResource(
    Part("topics"),
    (TOPIC,),
    lambda name: (name,),
    lambda _, topic: dict(topic),
    lambda properties: str(properties["name"]),
    dict,
    lambda target: Topics(target.session, target.progress, target.announce, target.check_adoption, target.calls),
    named=str,
    component=f"{SET_TYPE}${DOMAIN_TYPE}",
    section=PlanSection.TOPICS,
)
