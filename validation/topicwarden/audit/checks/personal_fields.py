"""Fields with personal data are declared.

Judges topics whose values are declared as JSON. **fail**: never, because a field that looks personal may hold anything.

**pass** with a note: fields that ``contents: {personal: […]}`` does not declare look like e-mail addresses, phone
numbers, IBANs or card numbers (with their checksums) or IP addresses, or have a name such as ``first_name``. A policy
adds names: ``personal-data: {fields: […]}``. The audit looks at the first 64 of every 8,192 offsets of each partition,
and at values up to 64 KiB. It counts at most 50 fields of a partition, also in records of aborted transactions.

No value of a record is in any output, whether its field is declared or not. An object's key that looks personal itself
is written as ``*``.

Example: ``2 undeclared fields look like personal data: email (e-mail address, 64 of 64 records), …``

Confirm: consume some records, and look at the fields.

Remedy: declare the fields under ``contents.personal``, and name an owner and a retention time (rule ``personal-data``).

Prevent: review schemas for personal data.

Source: ISO 13616 (IBAN), ISO/IEC 7812-1 (card numbers).
"""

from collections import Counter
from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.evidence import Counts, Live
from topicwarden.model.message_text import counted
from topicwarden.model.verdict import Verdict

_LISTED = 10


class Required(Counts): ...


def applies(subject: Live) -> bool:
    return subject.contents.value.format == "json"


def judge(subject: Required) -> Iterable[CheckResult]:
    found = Counter[tuple[str, str]]()
    for counts in subject.counts.values():
        found.update({(field.path, field.kind): field.records for field in counts.personal})
    if not found:
        return
    sampled = sum(counts.sampled for counts in subject.counts.values())
    paths = sorted({path for path, _ in found})
    listed = [
        f"{path} ({kind}, {number:,} of {counted(sampled, 'record')})" for (path, kind), number in sorted(found.items())
    ]
    noun = "undeclared field looks" if len(paths) == 1 else "undeclared fields look"
    more = ", …" if len(listed) > _LISTED else ""
    yield CheckResult(
        Verdict.PASS,
        f"{len(paths)} {noun} like personal data: {', '.join(listed[:_LISTED])}{more}",
        path=("contents", "personal"),
        evidence={"fields": len(paths), "sampled": sampled},
    )
