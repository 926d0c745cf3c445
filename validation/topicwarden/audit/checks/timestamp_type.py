"""Timestamps tell the time that is declared: of the producer, or of the broker.

**fail**: the topic's ``message.timestamp.type`` in force is not the declared ``contents: {timestamps: {type: …}}``, and
its latest committed records show it. A broker stamps by the configuration in force (``LogValidator``), so records of
the other type that lie before are lawful: they were written before the configuration was changed. ``undecidable`` where
the configuration may not be seen.

Example: ``the last record of partition 0, offset 99, is stamped CreateTime; declared LogAppendTime``.

Remedy: declare ``message.timestamp.type`` under ``config`` and deploy; what is written already stays as it is.

Source: KIP-32, ``LogValidator``.
"""

from collections.abc import Iterable

from topicwarden.audit.checks.common.content_faults import unless_at_most
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits(reads_records=True, judges_committed_records=True)
_SETTING = "message.timestamp.type"
_PATH = ("contents", "timestamps", "type")


def applies(subject: AuditedTopic) -> bool:
    return subject.contents.timestamp_type is not None and subject.live is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    assert subject.live
    declared, in_force = subject.contents.timestamp_type, subject.live.topic.config.get(_SETTING)
    wrong: dict[int, tuple[int, str]] = {}
    for partition, counts in sorted(subject.committed.items()):
        if counts.timestamp_types:
            name, last = max(counts.timestamp_types.items(), key=lambda item: item[1].last_offset)
            if name != declared:
                wrong[partition] = last.last_offset, name
    if not wrong or in_force == declared:
        return
    partition, (offset, name) = next(iter(wrong.items()))
    seen = f"the last record of partition {partition}, offset {offset}, is stamped {name}; declared {declared}"
    if in_force is None:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            f"{seen}, but whether the configuration says so is not known",
            path=_PATH,
            partitions=tuple(wrong),
            remedy="grant DescribeConfigs on the topic",
        )
        return
    judgement = CheckResult(
        Verdict.FAIL,
        seen,
        path=_PATH,
        partitions=tuple(wrong),
        because=(f"{_SETTING}={in_force} is in force, and brokers stamp by it",),
        remedy=f"declare config: {{{_SETTING}: {declared}}} and deploy; what is written already stays as it is",
        evidence={"offset": offset, "seen": name, "in_force": in_force},
    )
    yield unless_at_most((subject.committed[number] for number in wrong), judgement)
