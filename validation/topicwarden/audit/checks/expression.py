"""Records are as the YAML's expressions demand.

**fail**: an expression of ``contents: {expressions: [{id, require, message}]}`` is not true of a record that a
consumer reading committed sees. It is [CEL](https://cel.dev) over ``key`` and ``value``, decoded by their declared
formats (bytes without one), ``headers`` (texts by name) and ``timestamp``. ``undecidable`` where an expression gives
neither true nor false, or cannot be evaluated: a field that is not there, a text where a number is needed;
``has(value.field)`` asks first. Also ``undecidable``: a key or value beyond the limits of ``value-schema``, or a JSON
number that CEL cannot hold, such as ``1e-400``, which is not 0. A tombstone's ``value`` is null: what cannot be
evaluated for it is passed over. A record whose key or value is malformed is left to ``key-schema`` and
``value-schema``.

Example: ``2 records of which positive-amount is not true, first at offset 8 of partition 0``.

Remedy: what the expression's ``message`` says.

Source: CEL's [language definition](https://github.com/google/cel-spec).
"""

from collections.abc import Iterable

from topicwarden.audit.checks.common.content_faults import judge_faults
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits

TRAITS = Traits(reads_records=True, judges_committed_records=True)


def applies(subject: AuditedTopic) -> bool:
    return bool(subject.contents.expressions) and subject.live is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    path = ("contents", "expressions")
    for one in subject.contents.expressions:
        what = f"of which {one.id} is not true"
        yield from judge_faults(subject, f"expression:{one.id}", what, path, one.message or "find the producer")
