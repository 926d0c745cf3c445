"""Compare inferred contracts with the hidden ones, with the records that were read, and with later records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator

from tests.campaigns.inference.drawn_topics import LATER, RECORDS, DrawnTopics, import_contents, infer_again, unmet
from tests.campaigns.inference.hidden_contract import MARK, MARKED_NUMBER, PERSONAL, VARIANT, Rule
from tests.campaigns.inference.hidden_topic import ONE
from topicwarden.model.finding import Finding
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.declared_topics import checked_stack
from topicwarden.specs.schema_files import ProjectSchemas, schema_path
from topicwarden.specs.write import explicit_contents

MOST_FALSE: Final = 0.01
"""The share of topics that may fail on later records of the same contract."""
LEAST_FOUND: Final = 0.9


@dataclass
class Comparison:
    """The counts of one seed. ``hidden`` and ``found``: rules by setting or keyword.

    ``wrong``: what must not be: a broken or undecided rule on the records that were read, a sample that another library
    finds invalid, a rule that rests on one producer, a value in an output. ``false``: topics with a ``fail`` on later
    records.
    """

    topics: int
    records: int
    hidden: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    missing: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    false: dict[str, str] = field(default_factory=dict)
    validated: int = 0

    @property
    def share_found(self) -> float:
        """The share of hidden rules that were found."""
        return self.found.total() / max(1, self.hidden.total())

    @property
    def holds(self) -> bool:
        """True if the inference keeps its promises."""
        return not self.wrong and self.share_found >= LEAST_FOUND and len(self.false) <= MOST_FALSE * self.topics

    def table(self) -> str:
        """Return the counts as a table, and everything that is wrong or missing."""
        lines = [f"{self.topics} topics, {self.records:,} records read, {self.validated:,} values validated once more"]
        lines.append(f"{'rule':24}{'hidden':>8}{'found':>8}")
        lines += [f"{rule:24}{count:8}{self.found[rule]:8}" for rule, count in sorted(self.hidden.items())]
        lines.append(f"{'in all':24}{self.hidden.total():8}{self.found.total():8}  {self.share_found:.1%}")
        lines.append(f"topics with a fail on later records: {len(self.false)} ({len(self.false) / self.topics:.2%})")
        lines.append(f"wrong: {len(self.wrong)}")
        lines += [f"WRONG   {one}" for one in self.wrong]
        lines += [f"FALSE   {topic} {message}" for topic, message in self.false.items()]
        return "\n".join([*lines, *(f"MISSING {one}" for one in self.missing)])


def compare(drawn: DrawnTopics, folder: Path) -> Comparison:
    """Write records to the topics, infer their contracts in all ways, and write later records."""
    drawn.write(RECORDS)
    comparison = Comparison(len(drawn.topics), len(drawn.topics) * RECORDS)
    hidden_project = drawn.project(folder / "hidden")
    outputs = {"import without values": import_contents(hidden_project)}
    project = drawn.project(folder / "shown")
    outputs["import"] = import_contents(project, "--show-values")
    _compare_rules(drawn, project, comparison)
    for finding in unmet(project):
        comparison.wrong.append(f"on the records that were read: {_text(finding)}")
    drawn.write(LATER)
    for finding in unmet(project):
        if finding.verdict is Verdict.FAIL:
            comparison.false.setdefault(finding.topic, _text(finding))
    outputs["infer without values"] = infer_again(hidden_project, folder / "inferred-hidden")
    outputs["infer"] = infer_again(project, folder / "inferred-shown", "--show-values")
    comparison.wrong += [each for name, text in outputs.items() for each in shown_values(name, text)]
    if MARK not in outputs["import"]:
        comparison.wrong.append("no planted value is shown with --show-values")
    return comparison


def shown_values(name: str, text: str) -> Iterator[str]:
    """Yield the planted values that an output must not have; ``name`` says which output it is."""
    marks = [PERSONAL] + ([MARK, str(MARKED_NUMBER)[:6]] if "without values" in name else [])
    for mark in marks:
        if mark in text:
            at = text.index(mark)
            yield f"{name} shows a value: {text[max(0, at - 150) : at + 40]!r}"


def _text(finding: Finding) -> str:
    return f"{finding.topic} {finding.check} {finding.verdict}: {finding.message} {'; '.join(finding.because)}"


def _compare_rules(drawn: DrawnTopics, project: Project, comparison: Comparison) -> None:
    schemas = ProjectSchemas(project.root)
    declared = {each.topic.name: each for each in checked_stack(project, "dev", "compared").declarations["dev"]}
    for name, topic in drawn.topics.items():
        settings = explicit_contents(declared[name].topic.contents)
        if topic.producers == ONE:
            if settings:
                comparison.wrong.append(f"{name} has rules that rest on one producer: {settings}")
            continue
        for path, value in topic.settings.items():
            actual = settings.get(path[0], {}).get(path[1])
            _count(comparison, ".".join(path), actual == value, f"{name} {'.'.join(path)}: {value}, is {actual}")
        if topic.contract is None:
            continue
        file = schema_path(declared[name], "value")
        schema = json.loads(schemas.text(file)) if file else {}
        found = set(map(_sorted, found_rules(schema)))
        for rule in topic.contract.rules:
            is_found = has_variant(schema, rule) if rule[1] == VARIANT else _sorted(rule) in found
            _count(comparison, rule[1], is_found, f"{name} {rule}")
        _validate(name, schema, drawn.samples[name], comparison)


def _count(comparison: Comparison, rule: str, is_found: bool, text: str) -> None:
    comparison.hidden[rule] += 1
    comparison.found[rule] += is_found
    if not is_found:
        comparison.missing.append(text)


def _validate(name: str, schema: Mapping[str, Any], samples: list[bytes], comparison: Comparison) -> None:
    """Validate samples with a library that the product does not use for records, formats included."""
    validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    for sample in samples:
        comparison.validated += 1
        error = next(validator.iter_errors(json.loads(sample)), None)
        if error is not None:
            comparison.wrong.append(f"{name} has a schema that a sample breaks: {error.json_path} {error.message}")


def found_rules(schema: Mapping[str, Any], path: str = "") -> Iterator[Rule]:
    """Yield the rules of an inferred schema, as contracts write them."""
    for keyword in ("type", "format", "enum", "required"):
        if keyword in schema:
            yield path, keyword, schema[keyword]
    for name, each in schema.get("properties", {}).items():
        yield from found_rules(each, f"{path}/{name}")
    if "items" in schema:
        yield from found_rules(schema["items"], f"{path}/*")
    if "additionalProperties" in schema:
        yield from found_rules(schema["additionalProperties"], f"{path}/+")


def has_variant(schema: Mapping[str, Any], rule: Rule) -> bool:
    """Return whether the schema requires the properties of a value of the discriminator, with their types."""
    path, _, (value, types) = rule
    whole = _at(schema, path)
    for branch in schema.get("oneOf", ()):
        if value in _constants(branch):
            own = _at(branch, path)
            properties = {**_types(whole), **_types(own)}
            required = {*own.get("required", ()), *whole.get("required", ())}
            return {*types} <= required and all(properties.get(name) == types[name] for name in types)
    return False


def _at(schema: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    for name in filter(None, path.split("/")):
        schema = schema.get("properties", {}).get(name, {})
    return schema


def _types(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each["type"] for name, each in schema.get("properties", {}).items() if "type" in each}


def _constants(branch: Mapping[str, Any]) -> Iterator[Any]:
    if "const" in branch:
        yield branch["const"]
    for each in branch.get("properties", {}).values():
        yield from _constants(each)


def _sorted(rule: Rule) -> tuple[str, str, str]:
    """Return a rule without the order of names and types, which has no meaning."""
    at, keyword, value = rule
    return at, keyword, json.dumps(sorted(value, key=json.dumps) if isinstance(value, list) else value)
