"""The rules of an audit that compare records, as the reader and Spark apply them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from topicwarden.audit.scan.contracts import encoding
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.model.contents import OrderedRule, ReferenceRule, UniqueRule, path_steps
from topicwarden.model.subject import DeclaredSubjects
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.schema_files import ProjectSchemas

_IDENTITIES_OF_A_BUCKET: Final = 1 << 14
_MOST_BUCKETS: Final = 1 << 12
DeclaredRule: TypeAlias = OrderedRule | UniqueRule | ReferenceRule


@dataclass(frozen=True)
class ComparedRule:
    """A rule of a topic, by its ``number`` in the scan, and its name such as ``unique:0``."""

    number: int
    topic: str
    name: str
    declared: DeclaredRule
    keys: str | None = None
    """The format of the keys that records refer to."""

    def for_java(self, now: int, buckets: int) -> dict[str, Any]:
        """Return the rule as ``FieldRules.java`` reads it, for an audit at ``now`` (ms)."""
        if isinstance(self.declared, ReferenceRule):
            field = [{"field": path_steps(self.declared.field)}]
            old = now - self.declared.grace_ms
            return {"rule": self.number, "kind": "REFERENCES", "parts": field, "keys": self.keys, "old_before": old}
        if isinstance(self.declared, OrderedRule):
            field = [{"field": path_steps(self.declared.field)}]
            return {"rule": self.number, "kind": "ORDERED", "parts": field, "strict": self.declared.strict}
        parts: list[dict[str, Any]] = [{"field": path_steps(path)} for path in self.declared.fields or ()]
        parts += [{"header": self.declared.header}] if self.declared.header else []
        parts += [{}] if self.declared.key else []
        # Which of the records of a period repeat an identity depends on their order in time: each has a row.
        within = self.declared.within
        own = {"buckets": buckets} if within is None else {"within": within}
        return {"rule": self.number, "kind": "UNIQUE", "parts": parts, **own}

    def for_keys(self, rules: int) -> dict[str, Any]:
        """Return the rule for the keys that records refer to. Its number is that of the rule plus all ``rules``."""
        return {"rule": self.number + rules, "kind": "REFERENCED", "parts": [], "keys": self.keys}


def compared_rules(
    declarations: Mapping[str, Declaration],
    ranges: Iterable[OffsetRange],
    now: int,
    schemas: ProjectSchemas,
    subjects: DeclaredSubjects,
) -> tuple[list[ComparedRule], dict[str, dict[str, Any]]]:
    """Return the rules of the ``declarations``, and by topic what ``FieldRules.java`` reads.

    ``ranges`` are the offsets to read, and ``now`` (ms) is when their ends were.
    """
    sizes: Counter[str] = Counter()
    for each in ranges:
        sizes[each.topic] += each.size
    rules: list[ComparedRule] = []
    topics: dict[str, dict[str, Any]] = {}
    for declaration in declarations.values():
        topic, contents = declaration.topic.name, declaration.topic.contents
        declared: dict[str, tuple[DeclaredRule, ...]] = {
            "ordered": contents.ordered or (),
            "unique": contents.unique or (),
            "references": contents.references or (),
        }
        own = [
            ComparedRule(number, topic, name, rule, _key_format(rule, declarations))
            for number, (name, rule) in enumerate(
                ((f"{kind}:{number}", rule) for kind, each in declared.items() for number, rule in enumerate(each)),
                len(rules),
            )
        ]
        if own:
            rules += own
            value = encoding(declaration, "value", schemas, subjects)
            if value.get("format") == "json" and "registry" not in value:
                value.pop("schema", None)  # value-schema judges it
            buckets = min(_MOST_BUCKETS, -(-sizes[topic] // _IDENTITIES_OF_A_BUCKET))
            topics[topic] = {"value": value, "rules": [rule.for_java(now, buckets) for rule in own]}
    for rule in rules:
        if isinstance(rule.declared, ReferenceRule) and rule.keys:
            name = rule.declared.topic
            referenced = topics.setdefault(name, {"rules": []})
            referenced["key"] = encoding(declarations[name], "key", schemas, subjects)
            referenced["rules"].append(rule.for_keys(len(rules)))
    return rules, topics


def _key_format(rule: DeclaredRule, declarations: Mapping[str, Declaration]) -> str | None:
    """Return the declared format of the keys that a rule refers to; None if their topic is not read."""
    if not isinstance(rule, ReferenceRule) or rule.topic not in declarations:
        return None
    return declarations[rule.topic].topic.contents.key.format
