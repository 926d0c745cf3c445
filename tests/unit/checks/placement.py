"""Define cases for the checks of where keys and records lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tests.support.subjects import counted, subject
from tests.unit.checks.cases import COMPACT, FAIL, PASS, UNDECIDABLE, Case, absent, with_counts
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.checks.common.content_faults import AT_MOST
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.key_placement import KeyPlacement, MisplacedKey, PlacementStudy, ScatteredKey
from topicwarden.model.contents import (
    Contents,
    KeyContents,
    PartitionContents,
)

MURMUR2 = Contents(key=KeyContents(partitioner="murmur2"))

KEYS = PartitionCounts(records=9, keys=9)


ONE = {"murmur2": 1.0}
SHARES = {"murmur2": 0.6, "crc32": 0.3333}


def placed(
    scores: Mapping[str, float] = SHARES,
    *,
    wrong: int | None = None,
    never: int = 0,
    proven: int = 0,
    several: int = 0,
    failed: str = "",
    partitions: int = 6,
) -> KeyPlacement:
    """Return the placement of nine keys.

    ``wrong`` keys are not where the declared partitioner puts them. ``never`` of them fit no partition count, and
    ``proven`` of them were written when producers knew all partitions.
    """
    misplaced = {} if wrong is None else {2: MisplacedKey(wrong, never, proven, 7)}
    study = PlacementStudy(
        keys=9,
        fits=(),
        scattered_keys=several,
        scattered_examples=(((0, 1), (1, 2)),),
        misplaced=misplaced,
        failed=failed,
    )
    return KeyPlacement(partitions, 9 if scores else 0, scores, study)


def in_two_partitions(wrong: int = 2, never: int = 3) -> KeyPlacement:
    """Return keys that fit a smaller partition count in partition ``wrong``, and one that fits none in ``never``."""
    placement = placed()
    assert placement.study
    misplaced = {wrong: MisplacedKey(5, 0, 0, 7), never: MisplacedKey(1, 1, 0, 8)}
    return replace(placement, study=replace(placement.study, misplaced=misplaced))


def scattered(records: int) -> KeyPlacement:
    """Return keys in several partitions; the hottest one has ``records``, the first at offset 5 of partition 2."""
    placement = placed(ONE, several=1)
    assert placement.study
    return replace(placement, study=replace(placement.study, hottest_scattered=ScatteredKey(records, 2, 5)))


def keys(
    placement: KeyPlacement | None, contents: Contents = MURMUR2, live: dict[str, str] | None = None
) -> AuditedTopic:
    return replace(subject(KEYS, contents=contents, live=live), placement=placement)


def unstudied(scores: Mapping[str, float] = SHARES, partitions: int = 6) -> KeyPlacement:
    return replace(placed(scores, partitions=partitions), study=None)


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

FEWER = placed(wrong=5)

CASES = (
    Case(
        "key-partition",
        "one key that was never in place",
        keys(placed(wrong=5, never=1)),
        (FAIL,),
        evidence={"keys": 9, "misplaced": 5, "fit_none": 1, "proven": 0, "score_murmur2": 0.6, "score_crc32": 0.3333},
        partitions=(2,),
        says="no known partitioner explains every key with 6 partitions: murmur2 60.00%, crc32 33.33%",
    ),
    Case(
        "key-partition",
        "one key of a time when producers knew all partitions",
        keys(placed(wrong=5, proven=1)),
        (FAIL,),
        evidence={"misplaced": 5, "fit_none": 0, "proven": 1},
        says="written at least topicwarden:metadataMaxAge after an audit saw 6 partitions: 1; this assumes that all",
    ),
    Case(
        "key-partition",
        "in place for some smaller count",
        keys(FEWER),
        (UNDECIDABLE,),
        says="keys that fit fewer partitions than 6: 5; they may be from before partitions were added, or from a",
    ),
    Case(
        "key-partition",
        "one key in place for some smaller count",
        keys(placed(wrong=1)),
        (UNDECIDABLE,),
        says="1 of 9 keys is not where murmur2 puts it, one at offset 7 of partition 2",
    ),
    Case("key-partition", "in place for an expression and some smaller count", keys(FEWER, OWN), (UNDECIDABLE,)),
    Case(
        "key-partition",
        "out of place for a function",
        keys(placed(wrong=2, never=1), Contents(key=KeyContents(partition_function="module:place"))),
        (FAIL,),
        says="not where module:place puts them",
    ),
    Case(
        "key-partition",
        "never in place in one of two partitions",
        keys(in_two_partitions()),
        (FAIL,),
        evidence={"misplaced": 6, "fit_none": 1},
        partitions=(2, 3),
        says="one at offset 8 of partition 3 keys that do not fit murmur2 for any number of partitions up to 6: 1 keys",
    ),
    Case(
        "key-partition",
        "never in place in the first of two partitions",
        keys(in_two_partitions(wrong=3, never=2)),
        (FAIL,),
        says="one at offset 8 of partition 2",
    ),
    Case("key-partition", "all in place", keys(placed(ONE)), ()),
    Case("key-partition", "no answer", keys(placed(failed="no answer"), OWN), (UNDECIDABLE,)),
    Case("key-partition", "not studied", keys(unstudied(ONE)), ()),
    Case("key-partition", "no keys", keys(unstudied({})), ()),
    Case("key-partition", "keys that nobody counted", keys(None), (UNDECIDABLE,), says="not counted by key"),
    Case(
        "key-partition",
        "not declared",
        keys(placed(wrong=5, never=1), Contents()),
        None,
    ),
    Case("key-partition", "not on the cluster", absent(keys(FEWER)), None),
    Case(
        "key-in-several-partitions",
        "one",
        keys(placed(several=1)),
        (FAIL,),
        partitions=(0, 1),
        evidence={"keys": 9, "keys_in_several": 1},
        says="1 key is in several partitions, one at offset 1 of partition 0 and offset 2 of partition 1 no known",
    ),
    Case(
        "key-in-several-partitions",
        "two",
        keys(placed(several=2)),
        (FAIL,),
        says="2 keys are in several partitions, ",
    ),
    Case(
        "key-in-several-partitions",
        "one, in a topic that is not compacted",
        keys(placed(several=1)),
        (FAIL,),
        says="copy the latest values into a new topic; if no partitions were added, use the same partitioner in all",
    ),
    Case(
        "key-in-several-partitions",
        "one, which compaction cannot merge",
        keys(placed(several=1), Contents(), COMPACT),
        (FAIL,),
        says="never merges partitions",
    ),
    Case("key-in-several-partitions", "none", keys(placed()), (PASS,)),
    Case(
        "key-in-several-partitions",
        "one partitioner",
        keys(unstudied(ONE)),
        (PASS,),
        evidence={"keys": 9},
    ),
    Case("key-in-several-partitions", "one partition", keys(placed(several=1, partitions=1)), ()),
    Case("key-in-several-partitions", "no keys", keys(placed({}, several=1)), ()),
    Case("key-in-several-partitions", "keys that nobody counted", keys(None), (UNDECIDABLE,)),
    Case(
        "key-in-several-partitions",
        "neither declared nor compacted",
        keys(placed(several=1), Contents()),
        None,
    ),
    Case(
        "key-in-several-partitions",
        "not on the cluster",
        absent(keys(placed(several=1))),
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
        "just above the share",
        with_counts(shares(0), PartitionCounts(records=10_000, keys=5, hottest=2_503, hottest_offset=3)),
        (FAIL,),
        says="one key has 25.03% of the records, declared at most 25%",
    ),
    Case(
        "partition-skew", "just above the bound", skewed(751, 249), (FAIL,), says="holds 1.502 times the mean, declared"
    ),
    Case(
        "hot-key",
        "above the share, in each of two partitions",
        hottest_in_each(6, 2, 1),
        (FAIL,),
        partitions=(0, 1),
        evidence={"share": 0.2667, "records": 8, "offset": 3},
        says="one key has 26.7% of the records, declared at most 25%: 6 in partition 0, 2 in partition 1, first at",
    ),
    Case(
        "hot-key",
        "above the share in two partitions, and maybe in more",
        replace(hottest_in_each(6, 2, 1), placement=unstudied()),
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
        shares(5, 1, placement=unstudied()),
        (UNDECIDABLE,),
        evidence={"share": 0.25, "share at most": 0.3},
    ),
    Case(
        "hot-key",
        "above the share in all of three partitions together",
        shares(4, 4, 3, placement=unstudied()),
        (UNDECIDABLE,),
        evidence={"share": 0.1333, "share at most": 0.3667},
    ),
    Case(
        "hot-key",
        "at the share in all partitions together",
        shares(4, 1, placement=unstudied()),
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
        says="one key has 26.7% of the records, declared at most 25%: 8 in several partitions, first at offset 5",
    ),
    Case(
        "hot-key",
        "above it together, and each key has one partition",
        shares(5, 1, placement=placed()),
        (),
    ),
    Case("hot-key", "above it together, by one partitioner", shares(5, 1, placement=unstudied(ONE)), ()),
    Case(
        "hot-key",
        "above it together, and nobody studied the keys",
        shares(5, 1, placement=unstudied()),
        (UNDECIDABLE,),
    ),
    Case("hot-key", "above it together, in one partition", shares(5, 1, placement=unstudied(partitions=1)), ()),
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
