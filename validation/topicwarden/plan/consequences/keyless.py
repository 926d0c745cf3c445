"""A topic becomes compacted: records without a key are destroyed, and of each key only the newest stays.

From then on Kafka refuses a record without a key; those that are there are dropped by the first cleaning,
without a word (``LogCleaner.shouldRetainRecord``).
"""

from collections.abc import Iterable

from topicwarden.change import Consequence, Weight
from topicwarden.plan.change import Change
from topicwarden.plan.consequences.said import count, records_of
from topicwarden.plan.evidence import Asks, Evidence
from topicwarden.topic import Allowance


def asks(change: Change, now: int) -> Asks | None:
    if change.before is None or change.after is None or change.before.compacted or not change.after.compacted:
        return None
    return Asks(tail=True)


def foretell(change: Change, evidence: Evidence) -> Iterable[Consequence]:
    assert change.live
    tail = evidence.tail
    allowed = change.allows(Allowance.SHRINK_RETENTION)
    if tail is None:
        weight, seen, measured = Weight.DANGER, "how many could not be seen", "the topic may not be read by this user"
    else:
        total = records_of(change.live)
        share = tail.keyless / tail.records if tail.records else 0.0
        about = tail.keyless if tail.whole else round(share * total)
        exact = "" if tail.whole else "about "
        seen = f"{exact}{count(about, 'record')} of {'' if tail.whole else 'up to '}{total:,}"
        measured = (
            f"all {count(tail.records, 'record')} were read"
            if tail.whole
            else f"estimated from the newest {count(tail.records, 'record')}, {tail.keyless:,} of them without a key"
        )
        weight = Weight.NOTE if not tail.keyless else Weight.DANGER if allowed else Weight.REFUSED
    yield Consequence(
        kind="keyless",
        weight=weight,
        message=f"the topic becomes compacted: records without a key are destroyed ({seen}), and producers that send "
        "such are refused",
        because=[
            "the first cleaning drops them without a word",
            "of every key only the newest record is kept from then on",
        ],
        measured=measured,
        remedy="give every record a key first; or write `allow: [shrink-retention]` into the YAML if the loss was "
        "thought over"
        if weight is Weight.REFUSED
        else "",
        evidence={"keyless": tail.keyless if tail else None, "records_read": tail.records if tail else 0},
        place=change.at("config", "cleanup.policy"),
    )
