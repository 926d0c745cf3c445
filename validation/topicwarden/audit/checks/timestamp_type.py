"""Timestamps have the declared type: set by the producer, or by the broker.

**fail**: the effective ``message.timestamp.type`` of the topic is not the declared
``contents: {timestamps: {type: …}}``, and the latest committed records confirm this. Brokers set timestamps by the
effective configuration (``LogValidator``). So earlier records of the other type are valid: they were written before the
configuration was changed. **undecidable**: the configuration is not visible.

Example: ``the last record of partition 0, offset 99, has type CreateTime; declared LogAppendTime``.

Confirm: ``kafka-console-consumer --topic T --partition P --offset O --max-messages 1 --property print.timestamp=true``
prints ``CreateTime`` or ``LogAppendTime``.

Remedy: declare ``message.timestamp.type`` under ``config`` and deploy; existing records keep their timestamps.

Prevent: declare ``message.timestamp.type`` before the first record.

Source: KIP-32, ``LogValidator``.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.content_faults import undecidable_if_upper_bound
from topicwarden.audit.evidence import CommittedCounts, Live
from topicwarden.model.verdict import Verdict


class Required(CommittedCounts): ...


_SETTING = "message.timestamp.type"
_PATH = ("contents", "timestamps", "type")


def applies(subject: Live) -> bool:
    return subject.contents.timestamps.type is not None


def judge(subject: Required) -> Iterable[CheckResult]:
    declared, effective = subject.contents.timestamps.type, subject.live.topic.config.get(_SETTING)
    wrong: dict[int, tuple[int, str]] = {}
    for partition, counts in sorted(subject.committed.items()):
        if counts.timestamp_types:
            name, last = max(counts.timestamp_types.items(), key=lambda item: item[1].last_offset)
            if name != declared:
                wrong[partition] = last.last_offset, name
    if not wrong or effective == declared:
        return
    partition, (offset, name) = next(iter(wrong.items()))
    message = f"the last record of partition {partition}, offset {offset}, has type {name}; declared {declared}"
    if effective is None:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            f"{message}, but the configuration is not visible",
            path=_PATH,
            partitions=tuple(wrong),
            remedy="grant DescribeConfigs on the topic",
        )
        return
    result = CheckResult(
        Verdict.FAIL,
        message,
        path=_PATH,
        partitions=tuple(wrong),
        because=(f"{_SETTING}={effective} is in effect, and brokers set timestamps by it",),
        remedy=f"declare config: {{{_SETTING}: {declared}}} and deploy; existing records keep their timestamps",
        evidence={"offset": offset, "actual": name, "in_force": effective},
        relevant_settings=(_SETTING,),
    )
    yield undecidable_if_upper_bound((subject.committed[number] for number in wrong), result)
