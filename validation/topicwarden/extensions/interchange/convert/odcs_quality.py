"""Convert the library metric ``duplicateValues`` of ODCS into the rule ``unique``, and back.

Source: https://bitol-io.github.io/open-data-contract-standard/v3.1.0/data-quality/. Only a metric of the whole schema
object that must be 0 says the same. A unique rule with a header, the key or a period has no counterpart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from topicwarden.extensions.interchange.convert.references import Node
from topicwarden.model.contents import Contents
from topicwarden.model.record_rules import UniqueRule, path_steps
from topicwarden.specs.record_schemas import COMPILERS

QUALITY: Final = "quality"
_METRIC: Final = "duplicateValues"


def with_unique(contents: Contents, item: Node) -> Contents:
    """Return ``contents`` with the unique rules in the quality of a schema object, which it takes."""
    if contents.value.format not in COMPILERS:
        return contents  # a rule for fields would be wrong
    declared = contents.unique or ()
    added = tuple(rule for rule in dict.fromkeys(_taken(item)) if rule not in declared)
    return contents.model_copy(update={"unique": (*declared, *added)}) if added else contents


def _taken(item: Node) -> Iterator[UniqueRule]:
    listed, properties = item.child(QUALITY), item.child("properties")
    names = (
        {each.value.get("name") for _, each in properties.children() if isinstance(each.value, dict)}
        if (properties)
        else set()
    )
    for _, metric in listed.children() if listed else ():
        if not isinstance(metric.value, dict) or (fields := _fields(metric.value)) is None:
            continue
        metric.take()
        yield UniqueRule(fields=tuple(_pointer(each) if each in names else each for each in fields))


def _fields(metric: dict[str, Any]) -> list[str] | None:
    """Return the fields of a metric that says the same as a unique rule; None for other metrics."""
    rest = {name: value for name, value in metric.items() if name != "arguments"}
    arguments = metric.get("arguments")
    same = {"type": "library", "unit": "rows"} | rest == {
        "type": "library",
        "unit": "rows",
        "metric": _METRIC,
        "mustBe": 0,
    }
    fields = arguments.get("properties") if isinstance(arguments, dict) and arguments.keys() == {"properties"} else None
    texts = (
        isinstance(fields, list) and fields and all(isinstance(each, str) and all(path_steps(each)) for each in fields)
    )
    return fields if same and texts else None


def _pointer(name: str) -> str:
    """Return the path of the property ``name``: a JSON pointer if a dotted path would be another field."""
    escaped = name.replace("~", "~0").replace("/", "~1")
    return name if "." not in name and escaped == name else f"/{escaped}"


def quality(rules: Sequence[UniqueRule]) -> list[dict[str, Any]]:
    """Return the metrics that say the same as ``rules``; none if that is not possible for each of them."""
    if any(rule.header or rule.key or rule.within is not None for rule in rules):
        return []
    return [
        {"type": "library", "metric": _METRIC, "mustBe": 0, "arguments": {"properties": list(rule.fields or ())}}
        for rule in rules
    ]
