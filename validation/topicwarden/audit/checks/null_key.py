"""Records have keys where they need them.

**fail**: a keyless record in a compacted topic. Brokers refuse such writes (``INVALID_RECORD``), so it dates from
before the topic was compacted, and the next cleaning destroys it without a word. Also **fail**: a keyless record where
the YAML says ``contents: {key: {required: true}}``. At least one of them is committed: what an aborted transaction
wrote is nobody's, and goes with the next cleaning anyway.

Example: ``3 records without a key (partition 0: 3, first at offset 7) in a compacted topic``.

Remedy: copy them out now if anyone needs them; find the producer that sends no key.

Source: ``LogValidator.validateKey``, ``Cleaner.shouldRetainRecord``; KAFKA-4808.
"""

from collections.abc import Iterable

from topicwarden.audit.subject import Judgement, Subject
from topicwarden.verdict import Verdict


def applies(subject: Subject) -> bool:
    return subject.compacted or subject.contents.key_required


def judge(subject: Subject) -> Iterable[Judgement]:
    keyless = {partition: counts for partition, counts in subject.counts.items() if counts.first_null_key is not None}
    if not keyless:
        return
    total = sum(counts.null_keys for counts in keyless.values())
    places = "; ".join(
        f"partition {p}: {c.null_keys}, first at offset {c.first_null_key}" for p, c in sorted(keyless.items())
    )
    records = f"{total:,} record{'s' if total > 1 else ''} without a key ({places})"
    if subject.compacted:
        yield Judgement(
            Verdict.FAIL,
            f"{records} in a compacted topic",
            path=("config", "cleanup.policy"),
            partitions=tuple(sorted(keyless)),
            because=("written before the topic was compacted; the next cleaning destroys them",),
            remedy="copy them out now if anyone needs them, or set cleanup.policy=delete before the cleaner comes",
            evidence={"null_keys": total},
        )
    else:
        yield Judgement(
            Verdict.FAIL,
            f"{records}, where a key is required",
            path=("contents", "key", "required"),
            partitions=tuple(sorted(keyless)),
            remedy="find the producer that sends no key",
            evidence={"null_keys": total},
        )
