"""A key lives in one partition.

**fail**: in a compacted topic, a key that a consumer reading committed sees has records in two partitions or more.
Compaction works by partition: it keeps the last record of each, so that the key has several latest values for ever, and
which one a reader ends with is chance. Also **fail** where the YAML declares a partitioner: order and joins by key are
lost. Other topics are not looked at, as their records are not counted by key.

Why is told from the keys themselves: partitions were added since (old keys fit a smaller count), two kinds of producer
(each key fits one of two algorithms), or neither. Where one known algorithm explains every key in its place, no key
can lie in two, and nothing is read again. A ``pass`` says which algorithm that is.

Example: ``1,204 keys lie in several partitions, one at offset 17 of partition 0 and offset 5 of partition 3``, because
``one partitioner, murmur2, over 4, then 6 partitions: partitions were added since``.

Remedy: after partitions were added, copy the topic into a new one by its latest values. With two kinds of producer,
give them one partitioner first.

Source: ``Cleaner.doClean`` (a log is cleaned on its own), ``BuiltInPartitioner.partitionForKey``, KIP-195.
"""

from collections.abc import Iterable

from topicwarden.audit.checks.key_partition import scores_of, told
from topicwarden.audit.keys.key_placement import PlacementKind
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits(reads_records=True, needs_settings=True)


def applies(subject: AuditedTopic) -> bool:
    return subject.live is not None and (subject.compacted or subject.contents.places_keys)


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    placement = subject.placement
    if placement is None or placement.kind is PlacementKind.NONE or placement.partitions == 1:
        return
    evidence = {"keys": placement.keys, **scores_of(placement)}
    if placement.study is None or not placement.study.scattered_keys:
        yield CheckResult(Verdict.PASS, told(placement), evidence=evidence)
        return
    several = placement.study.scattered_keys
    places = placement.study.scattered_examples
    example = " and ".join(f"offset {offset} of partition {partition}" for partition, offset in places[0])
    grown = placement.kind is PlacementKind.GROWN
    yield CheckResult(
        Verdict.FAIL,
        f"{several:,} key{'s lie' if several > 1 else ' lies'} in several partitions, one at {example}",
        path=("config", "cleanup.policy") if subject.compacted else ("contents", "key"),
        partitions=tuple(sorted({partition for place in places for partition, _ in place})),
        because=(
            told(placement),
            *(
                ["compaction keeps the last record of each partition: it can never merge them"]
                if subject.compacted
                else []
            ),
        ),
        remedy=(
            "copy the topic into a new one by its latest values"
            if grown
            else "give all producers one partitioner, then copy the topic into a new one"
        ),
        evidence={"keys_in_several": several, **evidence},
    )
