"""Records carry the headers that they must.

**fail**: a record that a consumer reading committed sees lacks a header of ``contents: {headers: {required: […]}}``.
Tombstones need them as well. A header whose value is null or empty is there. A record that lacks several counts once.

Example: ``42 records that lack a required header, first at offset 3 of partition 0``, because ``40 × lacks trace-id``
and ``2 × lacks trace-id, tenant``.

Remedy: find the producer that does not set it: often one that writes past the common library, or a connector.

Source: KIP-82, ``org.apache.kafka.common.header.Headers``.
"""

from collections.abc import Iterable

from topicwarden.audit.checks.common.content_faults import judge_faults
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits

TRAITS = Traits(reads_records=True, judges_committed_records=True)


def applies(subject: AuditedTopic) -> bool:
    return bool(subject.contents.headers_required) and subject.live is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    path = ("contents", "headers", "required")
    return judge_faults(
        subject, "header", "that lack a required header", path, "find the producer that does not set it"
    )
