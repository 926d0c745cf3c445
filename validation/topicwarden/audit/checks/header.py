"""Every record has the required headers.

**fail**: a record that a consumer reading committed sees lacks a header of ``contents: {headers: {required: […]}}``.
Tombstones need the headers too. A header with a null or empty value is present. A record that lacks several headers
counts once.

Example: ``42 records without a required header, first at offset 3 of partition 0``, because ``40 × lacks trace-id``
and ``2 × lacks trace-id, tenant``.

Confirm: ``kafka-console-consumer --topic T --partition P --offset O --max-messages 1 --property print.headers=true``
prints the headers of the finding's offset.

Remedy: find the producer that does not set the header; often it bypasses the common library, or is a connector.

Prevent: set the header in a library, or an interceptor, that all producers share.

Source: KIP-82, ``org.apache.kafka.common.header.Headers``.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.content_faults import judge_faults
from topicwarden.audit.evidence import CommittedCounts, Live


class Required(CommittedCounts): ...


def applies(subject: Live) -> bool:
    return bool(subject.contents.headers.required)


def judge(subject: Required) -> Iterable[CheckResult]:
    path = ("contents", "headers", "required")
    return judge_faults(
        subject, "header", "without a required header", path, "find the producer that does not set the header"
    )
