"""Each key is in the partition that the declared partitioner selects.

**fail**: the YAML declares a partitioner (``contents: {key: {partitioner: …}}``, or a custom one as
``partition_expression`` or ``partition_function``), and a key is in a partition that the partitioner does not select,
neither for the current number of partitions nor for any smaller number that the topic can have had. Kafka only ever
adds partitions, so the key was never in the right place. A record after the previous audit was written when the topic
had at least as many partitions as then. So was a record behind many keys of its partition that fit murmur2 for the
current number, more than can by chance (an error of less than 2⁻⁶⁴). Keys that fit a smaller number pass if all keys
show, in order of their offsets, that partitions were added; this needs twenty keys for each number. Otherwise they are
``undecidable``, because the earlier numbers are not known. Only keys count that a consumer reading committed sees.

A producer learns of new partitions after ``metadata.max.age.ms`` (5 minutes). What it writes until then is misplaced
too, and fails: its key has later records in another partition.

| declared | rule | producers |
|---|---|---|
| ``murmur2`` | ``(murmur2(key) & 0x7fffffff) % n`` | Java, franz-go, kafka-python, librdkafka's ``murmur2_random`` |
| ``crc32`` | ``crc32(key) % n``; an empty key anywhere | librdkafka's default, ``consistent_random`` |
| ``fnv1a``, ``sarama`` | ``abs(int32(fnv1a(key))) % n`` | Sarama's default, librdkafka's ``fnv1a_random`` |

Example: ``1,226 of 1,500 keys are not where murmur2 puts them, one at offset 0 of partition 5``, because ``635 of them
do not fit murmur2 for any number of partitions up to 6`` and ``every key is where crc32 puts it``.

Confirm: ``kafka-console-consumer --topic T --partition P --offset O --max-messages 1 --property print.key=true`` prints
the key; compute its partition with the declared partitioner.

Remedy: use the same partitioner in all producers of the topic; for librdkafka, ``partitioner=murmur2_random``. Joins
are wrong until the topic is written again: keys do not move.

Prevent: declare ``contents.key.partitioner``, and set the same one in the library that all producers share.

Source: ``BuiltInPartitioner.partitionForKey``, ``Utils.murmur2``; ``rd_kafka_msg_partitioner_consistent_random`` of
librdkafka, ``NewHashPartitioner`` of Sarama.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.placement_conclusion import conclusion_text, score_evidence
from topicwarden.audit.evidence import Live, Placement
from topicwarden.audit.scan.key_placement import PlacementKind
from topicwarden.audit.scan.partitioner_bits import DECLARED_ALGORITHMS
from topicwarden.model.message_text import share
from topicwarden.model.verdict import Verdict


class Required(Placement): ...


_REMEDY = "use the same partitioner in all producers, and write the topic again: keys do not move"


def applies(subject: Live) -> bool:
    return subject.contents.key.placed


def judge(subject: Required) -> Iterable[CheckResult]:
    placement = subject.placement
    if placement.study is None:
        return
    path, name = _declared_partitioner(subject)
    study = placement.study
    if study.failed:
        yield CheckResult(
            Verdict.UNDECIDABLE, study.failed, path=path, remedy="test the partitioner with one key, then audit again"
        )
        return
    misplaced = sum(keys.keys for keys in study.misplaced.values())
    never = sum(keys.unexplained for keys in study.misplaced.values())
    grown = placement.kind is PlacementKind.GROWN and placement.algorithms == (name,)
    if not misplaced or (not never and grown):
        return
    partition, first = max(study.misplaced.items(), key=lambda item: (item[1].unexplained, item[1].keys))
    yield CheckResult(
        Verdict.FAIL if never else Verdict.UNDECIDABLE,
        f"{share(misplaced, placement.keys, 'key', 'are')} not where {name} puts them, "
        f"one at offset {first.offset} of partition {partition}",
        path=path,
        partitions=tuple(sorted(study.misplaced)),
        because=(
            (
                f"{never:,} of them do not fit {name} for any number of partitions up to {placement.partitions} "
                "that the topic can have had at the time"
                if never
                else f"each fits {name} for a smaller number of partitions than {placement.partitions}"
            ),
            conclusion_text(placement),
        ),
        remedy=_REMEDY,
        evidence={"keys": placement.keys, "misplaced": misplaced, "never": never, **score_evidence(placement)},
    )


def _declared_partitioner(subject: Required) -> tuple[tuple[str, ...], str]:
    contents = subject.contents
    if contents.key.partition_function:
        return ("contents", "key", "partition_function"), contents.key.partition_function
    if contents.key.partition_expression:
        return ("contents", "key", "partition_expression"), "the declared expression"
    return ("contents", "key", "partitioner"), DECLARED_ALGORITHMS[contents.key.partitioner or "murmur2"]
