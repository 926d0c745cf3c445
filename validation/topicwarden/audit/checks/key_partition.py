"""Each key lies where the declared partitioner puts it.

**fail**: the YAML declares a partitioner (``contents: {key: {partitioner: …}}``, or one's own as
``partition_expression`` or ``partition_function``), and a key lies where that would not put it, neither for today's
number of partitions nor for any smaller one: partitions are only ever added, so it cannot have been lawful at any
time. Keys that fit a smaller count are lawful where all of them tell of partitions that were added since, in order of
their offsets; else they are ``undecidable``: nobody knows which counts were in force. Only keys count that a
consumer reading committed sees.

| declared | rule | producers |
|---|---|---|
| ``murmur2`` | ``(murmur2(key) & 0x7fffffff) % n`` | Java, franz-go, kafka-python, librdkafka's ``murmur2_random`` |
| ``crc32`` | ``crc32(key) % n``; an empty key anywhere | librdkafka's default, ``consistent_random`` |
| ``fnv1a``, ``sarama`` | ``abs(int32(fnv1a(key))) % n`` | Sarama's default, librdkafka's ``fnv1a_random`` |

Example: ``1,226 of 1,500 keys lie where murmur2 does not put them, one at offset 0 of partition 5``, because ``635 of
them lie where it would put them for no count up to 6`` and ``every key lies where crc32 puts it``.

Remedy: give all producers of the topic one partitioner; for librdkafka, ``partitioner=murmur2_random``. A join reads
wrong until the topic is written anew: keys do not move.

Source: ``BuiltInPartitioner.partitionForKey``, ``Utils.murmur2``; ``rd_kafka_msg_partitioner_consistent_random`` of
librdkafka, ``NewHashPartitioner`` of Sarama.
"""

from collections.abc import Iterable

from topicwarden.audit.keys.key_placement import KeyPlacement, PlacementKind
from topicwarden.audit.scan.partitioner_bits import ALGORITHMS_BY_NAME, DECLARED_ALGORITHMS
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits(reads_records=True)
_REMEDY = "give all producers one partitioner, and write the topic anew: keys do not move"


def applies(subject: AuditedTopic) -> bool:
    return subject.contents.places_keys and subject.live is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    placement = subject.placement
    if placement is None or placement.study is None:
        return
    path, name = _declared(subject)
    study = placement.study
    if study.failed:
        yield CheckResult(Verdict.UNDECIDABLE, study.failed, path=path, remedy="try it on one key; then audit again")
        return
    wrong, never = (
        sum(each.keys for each in study.misplaced.values()),
        sum(e.unexplained for e in study.misplaced.values()),
    )
    grown = placement.kind is PlacementKind.GROWN and placement.algorithms == (name,)
    if not wrong or (not never and grown):
        return
    partition, first = max(study.misplaced.items(), key=lambda item: (item[1].unexplained, item[1].keys))
    yield CheckResult(
        Verdict.FAIL if never else Verdict.UNDECIDABLE,
        f"{wrong:,} of {placement.keys:,} keys lie where {name} does not put them, "
        f"one at offset {first.offset} of partition {partition}",
        path=path,
        partitions=tuple(sorted(study.misplaced)),
        because=(
            (
                f"{never:,} of them lie where it would put them for no count up to {placement.partitions}"
                if never
                else f"each would be right for some smaller count than {placement.partitions}"
            ),
            told(placement),
        ),
        remedy=_REMEDY,
        evidence={"keys": placement.keys, "misplaced": wrong, "never": never, **scores_of(placement)},
    )


def told(placement: KeyPlacement) -> str:
    """The conclusion in words."""
    names = " and ".join(placement.algorithms)
    shares = ", ".join(f"{name} {placement.scores[name]:.2%}" for name in placement.algorithms)
    match placement.kind:
        case PlacementKind.ONE:
            return f"every key lies where {' or '.join(placement.algorithms)} puts it"
        case PlacementKind.GROWN:
            counts = ", then ".join(map(str, placement.partition_counts))
            return f"one partitioner, {names}, over {counts} partitions: partitions were added since"
        case PlacementKind.MIXED:
            producers = "; ".join(f"{name}: {ALGORITHMS_BY_NAME[name].producers}" for name in placement.algorithms)
            return f"two kinds of producer, {names} (today's keys: {shares}) ({producers})"
        case PlacementKind.OWN:
            return "no known partitioner put the keys here, but each lies in one partition: it has one of its own"
        case PlacementKind.SCATTERED:
            return "no known partitioner put the keys here, and some lie in several partitions"
        case PlacementKind.NONE:
            return "there are no keys"


def _declared(subject: AuditedTopic) -> tuple[tuple[str, ...], str]:
    contents = subject.contents
    if contents.partition_function:
        return ("contents", "key", "partition_function"), contents.partition_function
    if contents.partition_expression:
        return ("contents", "key", "partition_expression"), "the declared expression"
    return ("contents", "key", "partitioner"), DECLARED_ALGORITHMS[contents.partitioner or "murmur2"]


def scores_of(placement: KeyPlacement) -> dict[str, float]:
    """The share of keys that each algorithm explains at today's count, as evidence."""
    return {f"score_{name}": round(share, 4) for name, share in placement.scores.items()}
