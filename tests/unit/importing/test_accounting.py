"""Test that no value of a foreign file gets lost, and files with unknown content."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.cases import IMPORT_CASES as CASES
from tests.support.cases import Case, cases, find_case, source, sources
from topicwarden.extensions.interchange.convert import FORMATS, ConversionResult, SourceFile, read_all
from topicwarden.extensions.interchange.live_access import access_file_text
from topicwarden.extensions.interchange.subject_drafts import draft_subjects
from topicwarden.kafka_facts.access.roles import RecognizedAccess, expand, recognize
from topicwarden.model.access import NO_TOPIC_ACCESS
from topicwarden.model.problem import Problem
from topicwarden.specs.fix import apply_fixes
from topicwarden.specs.load import LoadedSpecs
from topicwarden.specs.write import draft
from topicwarden.specs.yaml_nodes import KeyPath

# Test that an import names everything that is added to a good file, of any kind and at any place.

SINGLE = [case for case in cases(CASES, "good") if len(sources(case)) == 1]
YAML = [case for case in SINGLE if not case.name.startswith("describe") and source(case).documents]
STRUCTURED = [case for case in YAML if isinstance(source(case).documents[0].value, dict)]
COMMENTED = [case for case in STRUCTURED if not case.name.startswith("terraform")]
DESCRIBED = [case for case in cases(CASES, "good") if case.name.startswith("describe")]
VARIABLES = [find_case(CASES, "good", name) for name in ("create-topics-env", "create-topics-dockerfile")]

KEYS = st.from_regex(r"planted[A-Z][a-z]{2,5}", fullmatch=True)
SECRET = "hunter2"
VALUES = st.recursive(
    st.sampled_from([None, True, 7, 1.5, "", SECRET, f"two\nlines of {SECRET}"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=3,
)


def mappings(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    if isinstance(value, dict):
        yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        yield from mappings(item, (*path, key))


def output(imported: ConversionResult) -> str:
    """Return all that a user sees of an import: the topics with their comments, the problems and the notes."""
    problems = [problem.message for problem in (*imported.problems, *imported.notes)]
    others = [*map(str, imported.subjects), str(imported.access)]
    topics = [
        f"{one.topic.name} {dict(one.topic.config)} {' '.join(one.comments)} {one.schemas}" for one in imported.topics
    ]
    return "\n".join((*problems, *topics, *others))


def _name(value: dict[str, Any]) -> str | None:
    spec, metadata = value.get("spec"), value.get("metadata")
    topic = spec.get("topicName") if isinstance(spec, dict) else None
    return topic or (metadata.get("name") if isinstance(metadata, dict) else value.get("name"))


def named(path: KeyPath, documents: list[Any], imported: ConversionResult) -> bool:
    """Return whether the output names a field or its container: an outer field, or a whole resource."""
    seen = output(imported)
    if str(path[-1]) in seen:
        return True
    tokens = {re.sub(r" \([\d,]+ times\)| at line \d+", "", part) for part in re.split(r", |: |\n", seen)}
    value: Any = documents
    for length, part in enumerate(path[:-1], start=1):
        value = value[part]
        keys = [key for key in path[1:length] if isinstance(key, str)]
        name = _name(value) if isinstance(value, dict) else None
        if keys and any(re.search(rf"(^|\.){re.escape(keys[-1])}(\[\]( .*)?)?$", token) for token in tokens):
            return True
        if name and any(re.search(rf"(^|[ .]){re.escape(str(name))}( |$)", token) for token in tokens):
            return True
    return False


@pytest.mark.parametrize("case", STRUCTURED, ids=lambda case: case.name)
@settings(max_examples=settings().max_examples // 2)
@given(data=st.data())
def test_an_unknown_field_is_named_wherever_it_is(case: Case, data: st.DataObject) -> None:
    plain = source(case)
    documents = [one for one in yaml.safe_load_all(plain.text) if one is not None]
    where = data.draw(st.sampled_from(list(mappings(documents))))
    key = data.draw(KEYS)
    target: Any = documents
    for part in where:
        target = target[part]
    target[key] = data.draw(VALUES)
    as_json = plain.file.endswith((".json", ".tfstate"))
    text = json.dumps(documents[0]) if as_json else yaml.safe_dump_all(documents, sort_keys=data.draw(st.booleans()))
    imported = read_all([SourceFile(plain.file, text.encode())])
    assert named((*where, key), documents, imported), f"{where}\n{text}\n{output(imported)}"


@pytest.mark.parametrize("case", COMMENTED, ids=lambda case: case.name)
def test_a_comment_is_named_by_its_line(case: Case) -> None:
    plain = source(case)
    lines = plain.text.rstrip("\n").split("\n")
    commented = SourceFile(plain.file, "\n".join([*lines, "# planted"]).encode())
    assert f"line {len(lines) + 1}" in output(read_all([commented]))


@pytest.mark.parametrize("case", DESCRIBED, ids=lambda case: case.name)
@settings(max_examples=settings().max_examples // 2)
@given(data=st.data())
def test_an_unknown_part_of_a_description_is_named(case: Case, data: st.DataObject) -> None:
    plain, key = source(case), data.draw(KEYS)
    lines = plain.text.rstrip("\n").split("\n")
    number = data.draw(st.integers(0, len(lines) - 1))
    # Text in a table cell is part of a setting, or of a column, and the output names both.
    kinds = ["line", "word", "row"] if "|" in lines[number] else ["line", "word", "row", "label", "setting"]
    kind = data.draw(st.sampled_from(kinds))
    if kind == "label" or (kind == "setting" and "Configs: " not in lines[number]):
        lines[number] += f"\t{key.capitalize()}: 7"
        key = key.capitalize()
    elif kind == "setting":
        lines[number] = lines[number].replace("Configs: ", f"Configs: {key.lower()}=7,")
        key = key.lower()
    else:
        lines.insert(number, {"line": f"some {key} words", "word": key, "row": f"  {key} | {SECRET} "}[kind])
    imported = read_all([SourceFile(plain.file, "\n".join(lines).encode())])
    seen = output(imported)
    # For a skipped topic or a rejected line, the output names the whole topic or line.
    above = [found[1] for line in lines[: number + 1] if (found := re.match(r"\s*Topic: ?([\w.-]+)", line))]
    left_out = [name for name in above[-1:] if name not in {one.topic.name for one in imported.topics}]
    refused = re.search(r"is it cut off|not YAML|got none|got text", seen)
    by_line = re.search(rf"line {number + 1}\b", seen)
    assert refused or by_line or any(word.lower() in seen.lower() for word in (key, *left_out)), f"{lines}\n{seen}"


@pytest.mark.parametrize("case", VARIABLES, ids=lambda case: case.name)
@settings(max_examples=settings().max_examples // 2)
@given(data=st.data())
def test_other_variables_are_named_without_their_values(case: Case, data: st.DataObject) -> None:
    plain, key = source(case), data.draw(KEYS).upper()
    lines = plain.text.rstrip("\n").split("\n")
    number = data.draw(st.integers(0, len(lines)))
    if number and lines[number - 1].endswith("\\"):
        number -= 1
    before = data.draw(st.sampled_from(["", "export ", "ENV ", "  "]))
    kind = data.draw(st.sampled_from(["variable", "comment", "words"]))
    lines.insert(number, {"variable": f"{before}{key}={SECRET}", "comment": f"# {key}", "words": f"a {key}"}[kind])
    seen = output(read_all([SourceFile(plain.file, "\n".join(lines).encode())]))
    assert (key if kind == "variable" else f"line {number + 1}") in seen
    assert SECRET not in seen


# The files of other tools: each case of ``cases/`` is one import, with its expected result.


def notes(problems: tuple[Problem, ...]) -> str:
    return "".join(f"== note\n{problem}\n" for problem in problems)


def access_file(read: ConversionResult, access: RecognizedAccess) -> str:
    """Return the file below ``access/`` with all access that is not a topic's."""
    acls = dict.fromkeys(expand(replace(access, topics={})), True)
    entries: dict[str, Any] = {**read.access.parts, "acls": acls}
    text, refused = access_file_text(entries, None)
    assert refused == []
    return f"== access\n{text}" if text else ""


@pytest.mark.parametrize("case", cases(CASES, "good"), ids=lambda case: case.name)
def test_good_files_are_converted_to_the_expected_yaml(case: Case, tmp_path: Path) -> None:
    read = read_all(sources(case, case.write(tmp_path)))
    assert read.problems == ()
    comments = {one.topic.name: one.comments for one in read.topics}
    schemas = {one.topic.name: one.schemas for one in read.topics}
    assert not any(one.missing for one in read.topics)
    access = recognize(read.access.acls or (), [one.topic.name for one in read.topics])
    topics = [replace(one.topic, access=access.topics.get(one.topic.name, NO_TOPIC_ACCESS)) for one in read.topics]
    subjects = draft_subjects(read.subjects, {topic.name: topic for topic in topics}, (), ())
    topics = [subjects.topics.get(topic.name, topic) for topic in topics]
    schemas |= subjects.schemas
    made = draft(topics, LoadedSpecs((), {}, ("dev",), ()), None, (), comments=comments, schemas=schemas)
    assert (made.refused, subjects.refused) == ({}, {})
    files = "".join(f"== {file.path}\n{file.text}" for file in made.files)
    files += "".join(f"== subjects/{file.path}\n{file.text}" for file in subjects.files)
    assert files + access_file(read, access) + notes(read.notes) == case.expected
    for file in made.files:
        if file.is_schema:
            continue
        assert apply_fixes(file.text.encode(), file.topic is None) == file.text.encode(), "as `check --fix` likes it"


@pytest.mark.parametrize("case", cases(CASES, "bad"), ids=lambda case: case.name)
def test_every_invalid_entry_is_a_problem_at_its_location(case: Case) -> None:
    read = read_all(sources(case))
    missing = [problem for one in read.topics for problem in one.missing.values()]
    problems = "".join(f"{problem}\n" for problem in sorted([*read.problems, *missing]))
    assert problems + notes(read.notes) == case.expected


def test_every_format_has_a_good_and_a_bad_file() -> None:
    read = {
        name: [case for case in cases(CASES, "good") if all(map(one.recognises, sources(case)))]
        for name, one in FORMATS.items()
    }
    assert all(read.values())
    for case in cases(CASES, "good"):
        assert case.name.startswith(next(name for name, found in read.items() if case in found))
    for name in FORMATS:
        assert any(case.name.startswith(name) for case in cases(CASES, "bad"))


def test_a_forced_format_must_match_the_file() -> None:
    strimzi = source(find_case(CASES, "good", "strimzi"))
    assert read_all([strimzi], "strimzi") == read_all([strimzi])
    [problem] = read_all([strimzi], "describe").problems
    message = "expected topics in the format describe, got none; select the format with --from-format"
    assert str(problem) == f"kafka-topics.yaml:1:1: {message} [value]"


def test_a_topic_declared_twice_is_reported_with_both_locations() -> None:
    two = [source(find_case(CASES, "good", name)) for name in ("terraform-state", "terraform-show")]
    assert [problem.message for problem in read_all(two).problems] == [
        "systemd_logs is declared twice, first at terraform.tfstate:22:21; keep one",
        "orders.placed is declared twice, first at terraform.tfstate:44:21; keep one",
    ]


def test_a_note_counts_comments_that_are_too_many_to_list() -> None:
    strimzi = source(find_case(CASES, "good", "strimzi"))
    commented = SourceFile(strimzi.file, strimzi.data + b"# more\n" * 1000)
    [note] = [note for note in read_all([commented]).notes if "comments" in note.message]
    assert note.message.endswith(", and 980 more lines")


@pytest.mark.parametrize("line_break", ["\r", "\r\n", "\x85", "\u2028", "\u2029"])
def test_locations_are_right_after_every_line_break_of_yaml(line_break: str) -> None:
    lines = ("# a", "# b", "services:", "  kafka:", "    environment:", "      KAFKA_CREATE_TOPICS: 'a:1:1,b:x:1'", "")
    compose = SourceFile("compose.yaml", line_break.join(lines).encode())
    read = read_all([compose])
    assert [topic.topic.name for topic in read.topics] == ["a"]
    assert [str(problem.location) for problem in read.problems] == ["compose.yaml:6:35"]


LONG = "1" * 5_000
STRIMZI = "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaTopic\nmetadata: {name: a}\n"
LONG_NUMBERS = {
    "c.env": f"KAFKA_CREATE_TOPICS=a:{LONG}:1\n",
    "count.yaml": STRIMZI + f"spec: {{partitions: '{LONG}', replicas: 1}}\n",
    "setting.yaml": STRIMZI + f"spec: {{partitions: 1, replicas: 1, config: {{retention.ms: '{LONG}'}}}}\n",
    "list.txt": f"Topic: a\tPartitionCount: 1\tReplicationFactor: {LONG}\tConfigs: \n"
    "\tTopic: a\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n",
    "subject.yaml": "apiVersion: schemaregistry.jikkou.io/v1\nkind: SchemaRegistrySubject\nmetadata: {name: s}\n"
    f"spec: {{schemaType: AVRO, schema: '\"int\"', references: [{{name: a, subject: b, version: '{LONG}'}}]}}\n",
}


@pytest.mark.parametrize("file", LONG_NUMBERS)
def test_a_number_of_thousands_of_digits_is_a_problem(file: str) -> None:
    [problem] = read_all([SourceFile(file, LONG_NUMBERS[file].encode())]).problems
    assert problem.rule in ("value", "config-value")


def test_every_character_can_be_escaped_as_json_escapes_it() -> None:
    names = ["\U0001f600", "\\\U0001f600\U0001f601", "\\\\ud83d\\ude00", "\U0010ffff/"]
    channels = {
        name: {"address": f"t{number}", "bindings": {"kafka": {"partitions": 1, "replicas": 1}}, "description": name}
        for number, name in enumerate(names)
    }
    document = {"asyncapi": "3.0.0", "info": {}, "channels": channels}
    document["servers"] = {"s": {"host": "k", "protocol": "kafka"}}
    read = read_all([SourceFile("a.json", json.dumps(document).encode())])
    assert read.problems == ()
    assert [topic.topic.description for topic in read.topics] == names


def test_half_of_an_escaped_character_is_a_problem_with_its_remedy() -> None:
    [problem] = read_all([SourceFile("a.json", b'{"asyncapi": "3.0.0", "info": "\\ud83d"}')]).problems
    assert "YAML has no surrogates; write the character itself" in problem.message
