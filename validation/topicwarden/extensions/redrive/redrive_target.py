"""Decide whether a topic may receive the records of a finding, and into which partition each one goes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.partition_functions import PARTITIONERS
from topicwarden.kafka.read.records_at_offsets import PROGRESS_GROUP, StoredRecord
from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.kafka.write.transactional_copy import RecordCopy
from topicwarden.model.access import ANY_PRINCIPAL
from topicwarden.model.message_text import quoted
from topicwarden.model.problem import Refusal
from topicwarden.model.topic import Topic

_DEFAULT_PARTITIONER: Final = "murmur2"


@dataclass(frozen=True)
class RedriveTarget:
    """The topic that receives the copies: as declared, as it is, and the number of partitions of the source."""

    declared: Topic
    live: LiveTopic
    source_partitions: int

    @property
    def name(self) -> str:
        return self.declared.name

    def copy_of(self, source: StoredRecord, repaired: StoredRecord, headers: Iterable[tuple[str, bytes]]) -> RecordCopy:
        """Return the copy of ``repaired``, which is ``source`` as the repair function returned it.

        ``headers`` say where it comes from. Raises Refusal if the declaration of the target does not allow the record.
        """
        kept = [(name, value) for name, value in repaired.headers if value is not None]
        if len(kept) < len(repaired.headers):
            raise Refusal(
                f"{source.location}: the record has a header without a value, which kafka-python cannot write: "
                "remove it with --with"
            )
        if problem := self._problem(repaired):
            raise Refusal(f"{source.location}: {self.name} does not allow the record: {problem}")
        partition = self._partition(source, repaired)
        return RecordCopy(source.location, partition, source.timestamp, repaired.key, repaired.value, (*kept, *headers))

    def _problem(self, record: StoredRecord) -> str | None:
        contents = self.declared.contents
        if record.key is None and (self.live.topic.compacted or self.declared.compacted):
            return "it has no key, and the topic is compacted"
        if record.key is None and contents.key.required:
            return "it has no key, and contents.key.required is true"
        most = contents.records.max_bytes
        if most is not None and record.size > most:
            return f"expected at most {most:,} bytes (contents.records.max_bytes), got {record.size:,}"
        names = {name for name, _ in record.headers}
        missing = [name for name in contents.headers.required or () if name not in names]
        return f"it lacks the header {quoted(missing[0])} (contents.headers.required)" if missing else None

    def _partition(self, source: StoredRecord, repaired: StoredRecord) -> int:
        """Return the source's partition if both topics have as many and the key is unchanged; else that of the key."""
        number = self.live.topic.partitions
        if number == self.source_partitions and repaired.key == source.key:
            return source.partition
        if repaired.key is None:
            return source.partition % number
        key = self.declared.contents.key
        if key.partition_expression or key.partition_function:
            raise Refusal(
                f"{source.location}: {self.name} declares a partitioner of its own, so the partition of the key is not "
                f"known: use a target with {self.source_partitions} partitions, and keep the keys"
            )
        return PARTITIONERS[key.partitioner or _DEFAULT_PARTITIONER](repaired.key, number)

    @property
    def unverified(self) -> str | None:
        """The declared contents that the redrive does not verify, as a remark; None if there are none."""
        contents = self.declared.contents
        parts = [part for part in ("key", "value") if contents.encoding(part).format is not None]
        rules = [f"{part}s" for part in parts] + (["expressions"] if contents.expressions else [])
        if not rules:
            return None
        return f"not verified: {' and '.join(rules)} of the copies; audit {self.name} afterwards"


def allowed_target(target: Topic, connection: Connection, transactional_id: str) -> str | None:
    """Return a remark if brokers alone decide whether this user may write to the topic; None if the YAML allows it.

    Raises Refusal if the YAML declares other producers.
    """
    grants = target.access.produce
    if not grants:
        return f"{target.name} declares no producers (access.produce): the brokers decide whether this user may write"
    if connection.username is None or connection.aws is not None:
        return (
            "the principal of this user is not known from the settings of the stack: the brokers decide whether it is "
            f"a producer of {target.name}"
        )
    principal = f"User:{connection.username}"
    own = [grant for grant in grants if grant.principal in (principal, ANY_PRINCIPAL)]
    if not own:
        declared = ", ".join(sorted({grant.principal for grant in grants}))
        raise Refusal(
            f"{target.name} is not written by {principal}: expected it among the declared producers (access.produce), "
            f"got {declared}; add {{principal: {principal}, transactional_id: {PROGRESS_GROUP}, prefix: true}}"
        )
    for grant in own:
        if grant.name == transactional_id or (grant.prefix and transactional_id.startswith(grant.name or "")):
            return None
    return (
        f"no declared producer of {target.name} has the transactional id {PROGRESS_GROUP}* (prefix: true): the brokers "
        "decide whether this user may use it"
    )
