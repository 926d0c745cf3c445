"""Each key is in one partition.

**fail**: in a compacted topic, a key has records in two or more partitions (as a consumer reading committed sees them).
Each partition is compacted on its own and keeps its last record. So the key has several latest values, and it is chance
which of them a reader ends with. Also **fail** if the YAML declares a partitioner: the order by key, and joins, are
broken. Other topics are not checked, because their records are not counted by key.

Keys that were written before and after partitions were added are in two partitions, and so are those of two kinds of
producer. The finding has the share of keys that each known partitioner explains; no share proves the cause. If one
known algorithm explains the partition of every key, no key can be in two, and nothing is read again. A ``pass`` names
the algorithm.

Example: ``1,204 keys are in several partitions, one at offset 17 of partition 0 and offset 5 of partition 3``, because
``no known partitioner explains every key with 6 partitions: murmur2 61.20%, crc32 16.80%``.

Confirm: ``kafka-console-consumer --topic T --partition P --offset O --max-messages 1 --property print.key=true`` for
the two offsets of the finding prints the same key.

Remedy: copy the latest values into a new topic. If no partitions were added, configure the same partitioner in all
producers first.

Prevent: choose the number of partitions for years; declare ``contents.key.partitioner``.

Source: ``Cleaner.doClean`` (each log is cleaned on its own), ``BuiltInPartitioner.partitionForKey``, KIP-195.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.content_faults import placement_text, score_evidence
from topicwarden.audit.evidence import Placement, SettingsOrContents
from topicwarden.model.verdict import Verdict


class Required(SettingsOrContents, Placement): ...


def applies(subject: SettingsOrContents) -> bool:
    return subject.compacted or subject.contents.key.placed


def judge(subject: Required) -> Iterable[CheckResult]:
    placement = subject.placement
    if not placement.keys or placement.partitions == 1:
        return
    evidence = {"keys": placement.keys, **score_evidence(placement)}
    if placement.study is None or not placement.study.scattered_keys:
        yield CheckResult(Verdict.PASS, placement_text(placement), evidence=evidence)
        return
    several = placement.study.scattered_keys
    positions = placement.study.scattered_examples
    example = " and ".join(f"offset {offset} of partition {partition}" for partition, offset in positions[0])
    yield CheckResult(
        Verdict.FAIL,
        f"{several:,} key{'s are' if several > 1 else ' is'} in several partitions, one at {example}",
        path=("config", "cleanup.policy") if subject.compacted else ("contents", "key"),
        partitions=tuple(sorted({partition for position in positions for partition, _ in position})),
        because=(
            placement_text(placement),
            *(
                ["compaction keeps the last record of each partition: it never merges partitions"]
                if subject.compacted
                else []
            ),
        ),
        remedy=(
            "copy the latest values into a new topic; if no partitions were added, use the same partitioner in all "
            "producers first"
        ),
        evidence={"keys_in_several": several, **evidence},
        relevant_settings=() if subject.contents.key.placed else ("cleanup.policy",),
    )
