"""Test the files that are written for subjects of a Schema Registry, and registries that cannot be imported."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.http_answers import Request, answering, failing, http
from tests.support.projects import project_of
from topicwarden.extensions.interchange.convert import ConvertedSubject
from topicwarden.extensions.interchange.import_session import ImportSession, open_session
from topicwarden.extensions.interchange.live_topics import ImportableSubjects, read_subjects
from topicwarden.extensions.interchange.subject_drafts import SubjectDraft
from topicwarden.kafka.registry.same_schema import same
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.problem import Refusal
from topicwarden.model.subject import RegisteredSchema, SchemaReference
from topicwarden.model.topic import Topic
from topicwarden.policies.check_specs import check
from topicwarden.specs.record_schemas.json_text import JsonError
from topicwarden.specs.stacks.registry_settings import RegistrySettings
from topicwarden.specs.write.subject_file import readable

STACK = "config: {'topicwarden:cluster': sandbox, 'topicwarden:schemaRegistry': 'http://registry.test'}\n"
ORDERS = Topic("orders", 1, 1)
PROTO = 'syntax = "proto3";\npackage acme;\n// kept\nmessage Order {\n  string id = 1; /* and this */\n}\n'
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
NUMBERS = st.sampled_from(["0", "-0", "1.0", "1.10", "1E400", "-1e-7", "123456789012345678901234567890"])


def record(name: str, *types: str) -> str:
    fields = [{"name": f"f{number}", "type": kind} for number, kind in enumerate(types)]
    return json.dumps({"type": "record", "name": name, "fields": fields})


def subject(name: str, text: str, *references: tuple[str, int], form: str = "avro", **more: Any) -> ConvertedSubject:
    found = tuple(SchemaReference(each, each, version) for each, version in references)
    return ConvertedSubject(name, RegisteredSchema(form, text, found), **more)


def session_of(folder: Path, files: Mapping[str, str] | None = None, **more: Any) -> ImportSession:
    project = project_of(folder, files or {}, STACK)
    for path in list(folder.glob("topics/subjects/*")):  # project_of writes below topics/ only
        path.rename((folder / "subjects").joinpath(path.name))
    session = open_session(project, "dev", ())
    assert session.errors == ()
    return replace(session, **more)


def written(session: ImportSession, draft: SubjectDraft, *topics: Topic) -> dict[str, str]:
    """Write the files of a draft and of ``topics``, check them, and return the new files by path."""
    new = [draft.topics.get(topic.name, topic) for topic in topics]
    before = set(session.project.root.rglob("*"))
    session.write([*draft.files, *session.draft_files(new, "dev", schemas=draft.schemas).files])
    assert [str(problem) for problem in check(session.project, ["dev"]).errors] == []
    root = session.project.root
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in root.rglob("*")
        if path.is_file() and path not in before
    }


# Where subjects go


def test_subjects_of_new_topics_are_in_their_files_and_the_rest_is_below_subjects(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    draft = session.draft_subjects(
        [
            subject("orders-value", PROTO, form="protobuf", compatibility=Compatibility.FULL),
            subject("orders-key", '"string"'),
            subject("com.acme.Money", record("com.acme.Money", "long")),
            subject("a subject/with: ödd signs", '{"title":"T"}', form="json"),
            subject("gone-value", '"int"'),
        ],
        [ORDERS],
    )
    assert draft.subjects == 5
    files = written(session, draft, ORDERS)
    assert files["topics/orders.yaml"] == (
        "partitions: 1\nreplication_factor: 1\ncontents:\n"
        "  key:\n    format: avro\n    schema: schemas/orders-key.avsc\n    registry:\n      strategy: topic\n"
        "  value:\n    format: protobuf\n    schema: schemas/orders-value.proto\n"
        "    registry:\n      compatibility: FULL\n"
    )
    assert files["topics/schemas/orders-value.proto"] == PROTO
    assert files["topics/schemas/orders-key.avsc"] == '"string"\n'
    assert files["subjects/com.acme.yaml"] == (
        "subjects:\n  com.acme.Money: {format: avro, schema: schemas/com.acme.Money.avsc}\n"
    )
    assert '  "a subject/with: ödd signs": {' in files["subjects/imported.yaml"]
    assert "schemas/a-subject-with-dd-signs.json" in files["subjects/imported.yaml"]
    assert "gone-value: {format: avro" in files["subjects/imported.yaml"]


@pytest.mark.parametrize(
    ("names", "declared"),
    [
        (("orders-com.acme.A",), "topic-record"),
        (("orders-com.acme.A", "orders-value"), "topic"),
        (("orders-com.acme.A", "orders-com.acme.B"), None),
        (("com.acme.A",), None),
        (("orders-other",), None),
    ],
)
def test_the_strategy_follows_from_the_name(tmp_path: Path, names: tuple[str, ...], declared: str | None) -> None:
    session = session_of(tmp_path)
    found = [subject(name, record(f"com.acme.{name[-1]}")) for name in names]
    draft = session.draft_subjects(found, [ORDERS])
    text = written(session, draft, ORDERS)["topics/orders.yaml"]
    assert ("registry" in text, f"strategy: {declared}" in text) == ((True, True) if declared else (False, False))
    assert {each.name for each in found} == open_session(session.project, "dev", ()).subjects.subjects.keys()


def test_references_to_the_latest_version_of_a_declared_subject_have_no_version(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    draft = session.draft_subjects(
        [
            subject("A", record("A"), version=2),
            subject("orders-value", record("O", "A", "E"), ("A", 2), ("E", 1)),
            subject("old", record("Old", "A"), ("A", 1)),
        ],
        [ORDERS],
        {"E": 1},
    )
    files = written(session, draft, ORDERS)
    references = files["topics/orders.yaml"].partition("references:\n")[2]
    assert " ".join(references.split()) == "- name: A subject: A - name: E subject: E version: 1"
    assert "references: [{name: A, subject: A, version: 1}]" in files["subjects/imported.yaml"]


def test_existing_files_are_kept_and_declared_subjects_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "subjects" / "schemas").mkdir(parents=True)
    (tmp_path / "subjects" / "schemas" / "com.acme.B.avsc").write_text("mine\n")
    (tmp_path / "subjects" / "com.acme.yaml").write_text("subjects: {com.acme.A: {format: avro, schema: a.avsc}}\n")
    (tmp_path / "subjects" / "a.avsc").write_text(record("com.acme.A"))
    session = session_of(tmp_path, {"orders.yaml": "partitions: 1\nreplication_factor: 1\n"})
    found = [subject(name, record(name)) for name in ("com.acme.A", "com.acme.B")]
    draft = session.draft_subjects([*found, subject("orders-value", '"int"')], [ORDERS])
    files = written(session, draft, ORDERS)
    assert files.keys() == {
        "subjects/com.acme-2.yaml",
        "subjects/imported.yaml",
        "subjects/schemas/com.acme.B-2.avsc",
        "subjects/schemas/orders-value.avsc",
    }, "a declared topic keeps its file, so its subject is below subjects/"
    assert (tmp_path / "subjects" / "schemas" / "com.acme.B.avsc").read_text() == "mine\n"


def test_subjects_that_no_file_can_declare_are_named_with_those_that_refer_to_them(tmp_path: Path) -> None:
    large = json.dumps({"type": "enum", "name": "L", "symbols": ["S"], "doc": "x" * (5 << 20)})
    bomb = '{"type":"array","items":' * 300 + '"int"' + "}" * 300
    session = session_of(tmp_path)
    draft = session.draft_subjects(
        [
            subject("large", large),
            subject("broken", '{"type": "record"'),
            subject("no schema", '{"type": "record", "name": "R"}'),
            subject("proto", "message {", form="protobuf"),
            subject("bomb", bomb),
            subject("odd", '{"type": "enum", "name": "O", "symbols": ["S"], "doc": "\ud800"}'),
            subject("thrift", "x", form="thrift"),
            subject("one", record("One", "Two"), ("two", 1)),
            subject("two", record("Two", "One"), ("one", 1)),
            subject("using", record("U", "L"), ("large", 1)),
            subject("using that", record("V", "U"), ("using", 1)),
            subject("line\nbreak", '"int"'),
            subject("good", record("G")),
        ],
        [],
    )
    assert (draft.subjects, {file.path for file in draft.files}) == (1, {"imported.yaml", "schemas/good.avsc"})
    assert draft.refused["large"].startswith("its schema has 5,242,938 bytes, and a schema file may have 1MiB")
    assert draft.refused["line\nbreak"] == "its name has a character that is not printable"
    assert "is not JSON" in draft.refused["broken"]
    assert "is not an Avro schema" in draft.refused["no schema"]
    assert "is not a valid .proto file" in draft.refused["proto"]
    assert "nested too deeply" in draft.refused["bomb"]
    assert draft.refused["odd"] == "its schema has a character that no file can have"
    assert draft.refused["thrift"] == "its format thrift is not Avro, JSON Schema or Protobuf"
    assert "circular" in draft.refused["one"]
    assert "circular" in draft.refused["two"]
    assert draft.refused["using"] == "it refers to large, which was not imported"
    assert draft.refused["using that"] == "it refers to using, which was not imported"


# The text of schemas


def json_texts(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    space = st.sampled_from(["", " ", "\n\t"])
    texts = TEXTS.flatmap(lambda text: st.sampled_from([json.dumps(text), json.dumps(text, ensure_ascii=False)]))
    lists = st.tuples(st.lists(inner, max_size=4), space).map(lambda e: f"[{e[1]}{f',{e[1]}'.join(e[0])}{e[1]}]")
    pairs = st.tuples(texts, space, inner).map(lambda pair: f"{pair[0]}{pair[1]}:{pair[1]}{pair[2]}")
    return lists | st.lists(pairs, max_size=4).map(lambda each: "{" + " , ".join(each) + "}")


SCALARS = st.sampled_from(["null", "true", '"\\u00e9\\ud83d\\ude00"']) | NUMBERS | TEXTS.map(json.dumps)


@given(st.recursive(SCALARS, json_texts))
def test_a_readable_schema_is_the_same_json(text: str) -> None:
    repeated = []

    def pairs(found: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        repeated.extend([found] if len(dict(found)) < len(found) else [])
        return found

    def exact(source: str) -> Any:
        return json.loads(source, parse_float=str, parse_int=str, object_pairs_hook=pairs)

    made = readable("json", text)
    assert exact(made) == exact(text)
    assert readable("json", made) == made
    if not repeated:  # only a registry can tell what a repeated key means
        assert same(RegisteredSchema("json", text), RegisteredSchema("json", made))


def test_text_that_is_not_json_is_refused() -> None:
    for text in ("", "{", "[1,]", "NaN", '"\x01"', "nul", '{"a": 1} 2'):
        with pytest.raises(JsonError):
            readable("avro", text)


# Reading a registry


Answers = dict[str, Any]


def registry(answers: Answers) -> Callable[[Request], bytes]:
    def answer(request: Request) -> bytes:
        path = unquote(request.path)
        if path in answers:
            found = answers[path]
            return found if isinstance(found, bytes) else http(found)
        return failing("404 Not Found", 40401, "not found")

    return answer


def version(text: str, number: int = 1, references: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"version": number, "id": 1, "schema": text, **({"references": references} if references else {})}


ANSWERS: Answers = {
    "/subjects": ["orders-value", "other-value", "Money", "scope.A", "denied", "thrift", "old"],
    "/config": {"compatibilityLevel": "BACKWARD"},
    "/mode": {"mode": "READWRITE"},
    "/subjects/orders-value/versions/latest": version(
        record("O", "Money"), 1, [{"name": "Money", "subject": "Money", "version": 3}]
    ),
    "/config/orders-value": {"compatibilityLevel": "NONE"},
    "/config/orders-value?defaultToGlobal=true": {"compatibilityLevel": "NONE"},
    "/config/Money": {"compatibilityLevel": "NONE"},
    "/config/Money?defaultToGlobal=true": {"compatibilityLevel": "BACKWARD"},
    "/subjects/other-value/versions/latest": version('"int"'),
    "/subjects/Money/versions/latest": version(record("Money"), 3),
    "/subjects/scope.A/versions/latest": version('"long"'),
    "/subjects/denied/versions/latest": failing("403 Forbidden", 40301, "denied"),
    "/subjects/thrift/versions/latest": {**version("x"), "schemaType": "THRIFT"},
    "/subjects/old/versions/latest": version(
        record("X", "Gone"), 1, [{"name": "Gone", "subject": "Gone", "version": 1}]
    ),
}


def read(session: ImportSession, answers: Answers, topics: list[str], selected: list[str]) -> ImportableSubjects:
    with answering(registry(answers)) as server:
        return read_subjects(session, RegistrySettings(server.url), topics, selected)


def test_subjects_are_read_with_their_own_levels_and_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    found = read(session_of(tmp_path), ANSWERS, ["orders", "other"], ["orders"])
    assert {each.name: (each.version, each.compatibility) for each in found.subjects} == {
        "orders-value": (1, Compatibility.NONE),
        "Money": (3, None),  # Apicurio's answer for a subject without a level of its own
        "scope.A": (1, None),
        "old": (1, None),
    }
    assert found.latest["other-value"] == 1
    assert found.refused.keys() == {"denied", "thrift", "Gone"}
    assert "denied" in found.refused["denied"]
    assert "Avro, JSON Schema or Protobuf" in found.refused["thrift"]
    assert "soft delete" in found.refused["Gone"]


def test_patterns_and_scopes_select_subjects_with_those_that_they_refer_to(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    patterns = replace(session, patterns=("orders",))
    assert {each.name for each in read(patterns, ANSWERS, ["orders", "other"], ["orders"]).subjects} == {
        "orders-value",
        "Money",
    }
    scope = replace(session.scope, patterns=("scope.*",))
    found = read(replace(session, scope=scope), ANSWERS, ["orders"], [])
    assert {each.name for each in found.subjects} == {"scope.A"}


@pytest.mark.parametrize(
    ("path", "answer", "message"),
    [
        ("/subjects", failing("401 Unauthorized", 401, "no"), "needs credentials"),
        ("/subjects", http({"subjects": []}), "unknown form"),
        ("/config", failing("500 Internal Server Error", 50001, "no storage"), "cannot use its storage"),
        ("/subjects", b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", "answered HTML"),
    ],
)
def test_a_registry_that_cannot_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, answer: bytes, message: str
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    session = session_of(tmp_path)
    with pytest.raises(Refusal, match=message):
        read(session, ANSWERS | {path: answer}, ["orders"], ["orders"])


def test_a_registry_that_is_down_is_refused(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    with answering(registry(ANSWERS)) as server:
        url = server.url
    with pytest.raises(Refusal, match="cannot be reached"):
        read_subjects(session, RegistrySettings(url), [], [])
