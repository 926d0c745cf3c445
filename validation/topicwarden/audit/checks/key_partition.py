"""Each key is in the partition that the declared partitioner selects.

**fail**: the YAML declares a partitioner (``contents: {key: {partitioner: …}}``, or a custom one as
``partition_expression`` or ``partition_function``), and a key is in a partition that it does not select. One of these
must hold:

- The partitioner does not select the partition for any smaller number of partitions either. Kafka only ever adds
  partitions.
- The key has a record at or after a log end that an audit saw at least ``topicwarden:metadataMaxAge`` (24 h, a setting
  of the stack) after the first audit that saw today's number of partitions. A producer learns of new partitions after
  its ``metadata.max.age.ms``, which is 5 minutes by default and which no broker reports. The finding names this
  assumption, and remains as long as the history and the records.

**undecidable**: each misplaced key fits some smaller number of partitions, which the topic may have had. The finding
has the share of keys that each known partitioner explains; no share proves who placed a key. Only keys count that a
consumer reading committed sees.

| declared | rule | producers |
|---|---|---|
| ``murmur2`` | ``(murmur2(key) & 0x7fffffff) % n`` | Java, franz-go, kafka-python, librdkafka's ``murmur2_random`` |
| ``crc32`` | ``crc32(key) % n``; an empty key anywhere | librdkafka's default, ``consistent_random`` |
| ``fnv1a``, ``sarama`` | ``abs(int32(fnv1a(key))) % n`` | Sarama's default, librdkafka's ``fnv1a_random`` |

Example: ``1,226 of 1,500 keys are not where murmur2 puts them, one at offset 0 of partition 5``, because ``keys
that do not fit murmur2 for any number of partitions up to 6: 635`` and ``every key is where crc32 puts it``.

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
from topicwarden.audit.checks.common.content_faults import placement_text, score_evidence
from topicwarden.audit.evidence import Live, Placement
from topicwarden.audit.scan.partitioner_bits import DECLARED_ALGORITHMS
from topicwarden.model.message_text import share
from topicwarden.model.verdict import Verdict


class Required(Placement): ...


_UNDECIDED_REMEDY = "if no partitions were added, use the same partitioner in all producers"
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
    if not study.misplaced:
        return
    misplaced = sum(keys.keys for keys in study.misplaced.values())
    fit_none = sum(keys.fit_none for keys in study.misplaced.values())
    proven = sum(keys.proven for keys in study.misplaced.values())
    partition, first = max(study.misplaced.items(), key=lambda item: (item[1].fit_none + item[1].proven, item[1].keys))
    yield CheckResult(
        Verdict.FAIL if fit_none or proven else Verdict.UNDECIDABLE,
        f"{share(misplaced, placement.keys, 'key', 'are')} not where {name} puts {'it' if misplaced == 1 else 'them'}, "
        f"one at offset {first.offset} of partition {partition}",
        path=path,
        partitions=tuple(sorted(study.misplaced)),
        because=(
            *_reasons(name, placement.partitions, misplaced, fit_none, proven),
            placement_text(placement),
        ),
        remedy=_REMEDY if fit_none or proven else _UNDECIDED_REMEDY,
        evidence={
            "keys": placement.keys,
            "misplaced": misplaced,
            "fit_none": fit_none,
            "proven": proven,
            **score_evidence(placement),
        },
    )


def _reasons(name: str, partitions: int, misplaced: int, fit_none: int, proven: int) -> Iterable[str]:
    if fit_none:
        yield f"keys that do not fit {name} for any number of partitions up to {partitions}: {fit_none:,}"
    if proven:
        yield (
            "keys that fit fewer partitions, with a record that was written at least topicwarden:metadataMaxAge after "
            f"an audit saw {partitions} partitions: {proven:,}; this assumes that all producers had refreshed their "
            "metadata by then"
        )
    if misplaced > fit_none + proven:
        yield (
            f"keys that fit fewer partitions than {partitions}: {misplaced - fit_none - proven:,}; they may be from "
            "before partitions were added, or from a producer that had not noticed them yet"
        )


def _declared_partitioner(subject: Required) -> tuple[tuple[str, ...], str]:
    contents = subject.contents
    if contents.key.partition_function:
        return ("contents", "key", "partition_function"), contents.key.partition_function
    if contents.key.partition_expression:
        return ("contents", "key", "partition_expression"), "the declared expression"
    return ("contents", "key", "partitioner"), DECLARED_ALGORITHMS[contents.key.partitioner or "murmur2"]
