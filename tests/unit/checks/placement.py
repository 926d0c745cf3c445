"""Define cases for the checks of where keys and records lie."""

from __future__ import annotations

from dataclasses import replace

from tests.support.subjects import counted, subject
from tests.unit.checks.cases import COMPACT, FAIL, PASS, UNDECIDABLE, Case, absent, with_counts
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.checks.common.content_faults import AT_MOST
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.key_placement import KeyPlacement, MisplacedKey, PlacementKind, PlacementStudy, ScatteredKey
from topicwarden.model.contents import (
    Contents,
    KeyContents,
    PartitionContents,
)

MURMUR2 = Contents(key=KeyContents(partitioner="murmur2"))

KEYS = PartitionCounts(records=9, keys=9)


def placed(
    kind: PlacementKind,
    *algorithms: str,
    wrong: int | None = None,
    never: int = 0,
    several: int = 0,
    failed: str = "",
    partitions: int = 6,
) -> KeyPlacement:
    """Return the placement of nine keys.

    ``wrong`` keys are not where the declared partitioner puts them, and ``never`` of them fit no partition count.
    """
    misplaced = {} if wrong is None else {2: MisplacedKey(wrong, never, 7)}
    study = PlacementStudy(
        keys=9,
        fits=(),
        scattered_keys=several,
        scattered_examples=(((0, 1), (1, 2)),),
        sample=(),
        misplaced=misplaced,
        failed=failed,
    )
    return KeyPlacement(kind, partitions, 9, dict.fromkeys(algorithms, 1 / 3), algorithms, (4, partitions), study)


def in_two_partitions(wrong: int = 2, never: int = 3) -> KeyPlacement:
    """Return keys that fit a smaller partition count in partition ``wrong``, and one that fits none in ``never``."""
    placement = placed(PlacementKind.MIXED, "murmur2", "crc32")
    assert placement.study
    misplaced = {wrong: MisplacedKey(5, 0, 7), never: MisplacedKey(1, 1, 8)}
    return replace(placement, study=replace(placement.study, misplaced=misplaced))


def scattered(records: int) -> KeyPlacement:
    """Return keys in several partitions; the hottest one has ``records``, the first at offset 5 of partition 2."""
    placement = placed(PlacementKind.ONE, "crc32", several=1)
    assert placement.study
    return replace(placement, study=replace(placement.study, hottest_scattered=ScatteredKey(records, 2, 5)))


def keys(
    placement: KeyPlacement | None, contents: Contents = MURMUR2, live: dict[str, str] | None = None
) -> AuditedTopic:
    return replace(subject(KEYS, contents=contents, live=live), placement=placement)


def unstudied(kind: PlacementKind, partitions: int = 6) -> KeyPlacement:
    return replace(placed(kind, "murmur2", partitions=partitions), study=None)


def shares(*hottest: int, placement: KeyPlacement | None = None) -> AuditedTopic:
    """Return partitions with ten records each; ``hottest`` are the record counts of their most frequent keys.

    The declared maximum share of a key is a quarter.
    """
    of = subject(contents=Contents(key=KeyContents(max_share=0.25)))
    counts = (PartitionCounts(records=10, keys=5, hottest=most, hottest_offset=3) for most in hottest)
    return replace(with_counts(of, *counts), placement=placement)


def hottest_in_each(*hottest: int) -> AuditedTopic:
    """Return partitions with ten records each; the last one has another most frequent key than the others."""
    of = shares(*hottest)
    last = len(hottest) - 1
    keyed = (replace(counts, hottest_key=int(number == last)) for number, counts in counted(of).committed.items())
    return with_counts(of, *keyed)


def skewed(*records: int) -> AuditedTopic:
    """Return partitions with these numbers of records; the declared maximum is 1.5 times the mean."""
    return with_counts(
        subject(contents=Contents(partitions=PartitionContents(max_skew=1.5))),
        *(PartitionCounts(records=one) for one in records),
    )


OWN = Contents(key=KeyContents(partition_expression="ascii(key) % partitions"))

GROWN = placed(PlacementKind.GROWN, "murmur2", wrong=5)

CASES = (
    Case(
        "key-partition",
        "one key that was never in place",
        keys(placed(PlacementKind.MIXED, "murmur2", "crc32", wrong=5, never=1)),
        (FAIL,),
        evidence={"keys": 9, "misplaced": 5, "never": 1, "score_murmur2": 0.3333, "score_crc32": 0.3333},
        partitions=(2,),
        says="two kinds of producer, murmur2 and crc32 (today's keys: murmur2 33.33%, crc32 33.33%) (murmur2: Java",
    ),
    Case(
        "key-partition",
        "never in place, though partitions were added",
        keys(placed(PlacementKind.GROWN, "murmur2", wrong=5, never=1)),
        (FAIL,),
    ),
    Case("key-partition", "in place before partitions were added", keys(GROWN), ()),
    Case(
        "key-partition",
        "in place for another partitioner before partitions were added",
        keys(placed(PlacementKind.GROWN, "crc32", wrong=5)),
        (UNDECIDABLE,),
        says="one partitioner, crc32, over 4, then 6 partitions: partitions were added since",
    ),
    Case(
        "key-partition",
        "in place for some smaller count",
        keys(placed(PlacementKind.MIXED, "murmur2", "crc32", wrong=1)),
        (UNDECIDABLE,),
        says="each fits murmur2 for a smaller number of partitions than 6",
    ),
    Case(
        "key-partition",
        "in place for an expression and some smaller count",
        keys(placed(PlacementKind.GROWN, "murmur2", wrong=5), OWN),
        (UNDECIDABLE,),
    ),
    Case(
        "key-partition",
        "in place for crc32 before partitions were added",
        keys(placed(PlacementKind.GROWN, "crc32", wrong=5), Contents(key=KeyContents(partitioner="crc32"))),
        (),
    ),
    Case(
        "key-partition",
        "out of place today",
        keys(placed(PlacementKind.ONE, "murmur2", wrong=1)),
        (UNDECIDABLE,),
        says="every key is where murmur2 puts it",
    ),
    Case(
        "key-partition",
        "out of place for a function",
        keys(placed(PlacementKind.OWN, wrong=1, never=1), Contents(key=KeyContents(partition_function="module:place"))),
        (FAIL,),
        says="not where module:place puts them",
    ),
    Case(
        "key-partition",
        "never in place in one of two partitions",
        keys(in_two_partitions()),
        (FAIL,),
        evidence={"misplaced": 6, "never": 1},
        partitions=(2, 3),
        says="one at offset 8 of partition 3 1 of them do not fit murmur2 for any number of partitions up to 6 that",
    ),
    Case(
        "key-partition",
        "never in place in the first of two partitions",
        keys(in_two_partitions(wrong=3, never=2)),
        (FAIL,),
        says="one at offset 8 of partition 2",
    ),
    Case("key-partition", "all in place", keys(placed(PlacementKind.ONE, "murmur2", wrong=0)), ()),
    Case("key-partition", "no answer", keys(placed(PlacementKind.OWN, failed="no answer"), OWN), (UNDECIDABLE,)),
    Case("key-partition", "not studied", keys(unstudied(PlacementKind.ONE)), ()),
    Case("key-partition", "no keys", keys(unstudied(PlacementKind.NONE)), ()),
    Case("key-partition", "keys that nobody counted", keys(None), (UNDECIDABLE,), says="not counted by key"),
    Case(
        "key-partition",
        "not declared",
        keys(placed(PlacementKind.MIXED, "murmur2", "crc32", wrong=5, never=1), Contents()),
        None,
    ),
    Case("key-partition", "not on the cluster", absent(keys(GROWN)), None),
    Case(
        "key-in-several-partitions",
        "one",
        keys(placed(PlacementKind.SCATTERED, several=1)),
        (FAIL,),
        partitions=(0, 1),
        evidence={"keys": 9, "keys_in_several": 1},
        says="1 key is in several partitions, one at offset 1 of partition 0 and offset 2 of partition 1 no known",
    ),
    Case(
        "key-in-several-partitions",
        "two",
        keys(placed(PlacementKind.SCATTERED, several=2)),
        (FAIL,),
        says="2 keys are in several partitions, ",
    ),
    Case(
        "key-in-several-partitions",
        "one, in a topic that is not compacted",
        keys(placed(PlacementKind.SCATTERED, several=1)),
        (FAIL,),
        says="some are in several partitions use the same partitioner in all producers, then copy the latest values",
    ),
    Case(
        "key-in-several-partitions",
        "one, which compaction cannot merge",
        keys(placed(PlacementKind.SCATTERED, several=1), Contents(), COMPACT),
        (FAIL,),
        says="never merges partitions",
    ),
    Case(
        "key-in-several-partitions",
        "one, since partitions were added",
        keys(placed(PlacementKind.GROWN, "murmur2", several=1)),
        (FAIL,),
        says="partitions were added since copy the latest values into a new topic",
    ),
    Case(
        "key-in-several-partitions",
        "one, of two kinds of producer",
        keys(placed(PlacementKind.MIXED, "murmur2", "crc32", several=1)),
        (FAIL,),
        says="use the same partitioner in all producers",
    ),
    Case("key-in-several-partitions", "none", keys(placed(PlacementKind.OWN)), (PASS,)),
    Case(
        "key-in-several-partitions",
        "one partitioner",
        keys(unstudied(PlacementKind.ONE)),
        (PASS,),
        evidence={"keys": 9},
    ),
    Case("key-in-several-partitions", "one partition", keys(placed(PlacementKind.OWN, several=1, partitions=1)), ()),
    Case("key-in-several-partitions", "no keys", keys(placed(PlacementKind.NONE, several=1)), ()),
    Case("key-in-several-partitions", "keys that nobody counted", keys(None), (UNDECIDABLE,)),
    Case(
        "key-in-several-partitions",
        "neither declared nor compacted",
        keys(placed(PlacementKind.SCATTERED, several=1), Contents()),
        None,
    ),
    Case(
        "key-in-several-partitions",
        "not on the cluster",
        absent(keys(placed(PlacementKind.SCATTERED, several=1))),
        None,
    ),
    Case(
        "partition-skew",
        "above the bound",
        skewed(4, 1),
        (FAIL,),
        partitions=(0,),
        evidence={"skew": 1.6, "records": 4, "mean": 2.5},
    ),
    Case("partition-skew", "above the bound, rounded", skewed(5, 1, 1), (FAIL,), evidence={"skew": 2.143, "mean": 2.3}),
    Case("partition-skew", "at the bound", skewed(1, 3), ()),
    Case("partition-skew", "no records", skewed(0, 0), ()),
    Case("partition-skew", "not declared", with_counts(subject(), PartitionCounts(records=9), PartitionCounts()), None),
    Case("partition-skew", "not on the cluster", absent(skewed(4, 1)), None),
    Case(
        "hot-key",
        "above the share",
        shares(6, 1),
        (FAIL,),
        partitions=(0,),
        evidence={"share": 0.3, "records": 6, "offset": 3},
    ),
    Case("hot-key", "at the share", shares(1, 5), ()),
    Case(
        "hot-key",
        "above the share, in each of two partitions",
        hottest_in_each(6, 2, 1),
        (FAIL,),
        partitions=(0, 1),
        evidence={"share": 0.2667, "records": 8, "offset": 3},
        says="one key has 26.7% of the records, declared at most 25.0%: 6 in partition 0, 2 in partition 1, first at",
    ),
    Case(
        "hot-key",
        "above the share in two partitions, and maybe in more",
        replace(hottest_in_each(6, 2, 1), placement=unstudied(PlacementKind.GROWN)),
        (FAIL,),
        says="one key has at least 26.7% of the records",
    ),
    Case(
        "hot-key",
        "above the share with records that may be aborted",
        with_counts(
            shares(6),
            PartitionCounts(records=10, hottest=6, hottest_offset=3),
            PartitionCounts(records=10, hottest=1, at_most=True),
        ),
        (UNDECIDABLE,),
        evidence={"share": 0.3, "counted": AT_MOST},
        says=f"{AT_MOST} audit fewer topics at once",
    ),
    Case(
        "hot-key",
        "above the share in all partitions together",
        shares(5, 1, placement=unstudied(PlacementKind.SCATTERED)),
        (UNDECIDABLE,),
        evidence={"share": 0.25, "share at most": 0.3},
    ),
    Case(
        "hot-key",
        "above the share in all of three partitions together",
        shares(4, 4, 3, placement=unstudied(PlacementKind.SCATTERED)),
        (UNDECIDABLE,),
        evidence={"share": 0.1333, "share at most": 0.3667},
    ),
    Case(
        "hot-key",
        "at the share in all partitions together",
        shares(4, 1, placement=unstudied(PlacementKind.SCATTERED)),
        (),
    ),
    Case(
        "hot-key",
        "the hottest key in several partitions is below the share",
        shares(5, 1, placement=scattered(5)),
        (),
    ),
    Case(
        "hot-key",
        "above the share in several partitions, in none of them the hottest",
        shares(4, 4, 3, placement=scattered(8)),
        (FAIL,),
        partitions=(2,),
        evidence={"share": 0.2667, "records": 8, "offset": 5},
        says="one key has 26.7% of the records, declared at most 25.0%: 8 in several partitions, first at offset 5",
    ),
    Case(
        "hot-key",
        "above it together, and each key has one partition",
        shares(5, 1, placement=placed(PlacementKind.OWN)),
        (),
    ),
    Case("hot-key", "above it together, by one partitioner", shares(5, 1, placement=unstudied(PlacementKind.ONE)), ()),
    Case(
        "hot-key",
        "above it together, and nobody studied the keys",
        shares(5, 1, placement=unstudied(PlacementKind.GROWN)),
        (UNDECIDABLE,),
    ),
    Case(
        "hot-key", "above it together, in one partition", shares(5, 1, placement=unstudied(PlacementKind.GROWN, 1)), ()
    ),
    Case("hot-key", "above it together, and nobody knows where keys lie", shares(5, 1), ()),
    Case(
        "hot-key",
        "no records",
        with_counts(subject(contents=Contents(key=KeyContents(max_share=0.25))), PartitionCounts(), PartitionCounts()),
        (),
    ),
    Case("hot-key", "not declared", with_counts(subject(), PartitionCounts(records=10, hottest=9)), None),
    Case("hot-key", "not on the cluster", absent(shares(6, 1)), None),
)
