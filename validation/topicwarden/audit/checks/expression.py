"""Every record satisfies the expressions in the YAML.

**fail**: an expression of ``contents: {expressions: [{id, require, message}]}`` is false for a record that a consumer
reading committed sees. Expressions are [CEL](https://cel.dev) over ``key`` and ``value``, decoded by their declared
formats (bytes without a format), ``headers`` (texts by name) and ``timestamp``. A message of Protocol Buffers has CEL's
own semantics: ``has(value.field)`` is false for an absent field, an enum is a number, ``3000000000u`` is unsigned. An
Avro enum is text, and a logical type is seen as the type that encodes it: a decimal is bytes, ``timestamp-millis`` an
integer.
**undecidable**: an expression returns neither true nor false, or cannot be evaluated, for example because a field is
missing or has the wrong type, or the record has no timestamp; ``has(value.field)`` tests for a field. Also
**undecidable**: a key or value exceeds the limits of ``value-schema``, or has a JSON number that CEL cannot represent,
such as ``1e-400``. The ``value`` of a tombstone is null. If an expression cannot be evaluated for a tombstone, the
record is skipped. ``key-schema`` and ``value-schema`` report records whose key or value is malformed.

Example: ``2 records that do not satisfy positive-amount, first at offset 8 of partition 0``.

Confirm: ``kafka-console-consumer --topic T --partition P --offset O --max-messages 1 --property print.value=true``
prints the value of the finding's offset.

Remedy: the ``message`` of the expression.

Prevent: check the same condition in the producer, before it sends.

Source: CEL's [language definition](https://github.com/google/cel-spec).
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.content_faults import judge_faults
from topicwarden.audit.evidence import CommittedCounts, Live


class Required(CommittedCounts): ...


def applies(subject: Live) -> bool:
    return bool(subject.contents.expressions)


def judge(subject: Required) -> Iterable[CheckResult]:
    path = ("contents", "expressions")
    for expression in subject.contents.expressions or ():
        what = f"that do not satisfy {expression.id}"
        remedy = expression.message or "find the producer"
        yield from judge_faults(subject, f"expression:{expression.id}", what, path, remedy)
