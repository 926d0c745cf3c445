"""Import the subjects of a real Schema Registry, and compare what the files declare with what is registered.

``TOPICWARDEN_SUBJECTS`` asks for more subjects, ``TOPICWARDEN_SEED`` for other ones.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.projects import project_of
from topicwarden.extensions.interchange.import_session import open_session
from topicwarden.extensions.interchange.live_topics import read_subjects
from topicwarden.kafka.registry.client import RegistryClient
from topicwarden.kafka.registry.read import find_version, read_registry
from topicwarden.kafka.registry.registry_error import RegistryError
from topicwarden.kafka.registry.same_schema import same
from topicwarden.kafka.registry.write import register, set_compatibility
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.project import Project
from topicwarden.model.subject import DeclaredSubject, RegisteredSchema, SchemaReference, SubjectVersion
from topicwarden.model.topic import Topic
from topicwarden.policies.check_specs import check
from topicwarden.specs.stacks.registry_settings import RegistrySettings

SUBJECTS = int(os.environ.get("TOPICWARDEN_SUBJECTS", "80"))
SEED = int(os.environ.get("TOPICWARDEN_SEED", "7"))


@dataclass
class Filled:
    """A registry that was filled with random subjects: their versions, compatibility levels, and the topics."""

    client: RegistryClient
    topics: dict[str, Topic] = field(default_factory=dict)
    versions: dict[str, list[SubjectVersion]] = field(default_factory=dict)
    levels: dict[str, Compatibility] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    """The name by which schemas refer to a subject."""


@dataclass(frozen=True)
class _Writer:
    """Writes random schemas of one format with the number ``number``, on top of ``targets``.

    ``extra`` fields make a further version.
    """

    number: int
    targets: list[str]

    @property
    def choose(self) -> random.Random:
        return random.Random(self.number)

    def avro(self, extra: int) -> tuple[str, str]:
        fields: list[dict[str, Any]] = [{"name": "id", "type": self.choose.choice(["string", "long", "bytes"])}]
        fields += [{"name": f"r{index}", "type": name} for index, name in enumerate(self.targets)]
        fields += [
            {"name": f"x{index}", "type": ["null", "double"], "default": None, "doc": f'é {index} "quoted"'}
            for index in range(extra)
        ]
        symbols = [f"S{index}" for index in range(self.choose.randint(1, 30))]
        fields.append({"name": "kind", "type": {"type": "enum", "name": f"Kind{self.number}", "symbols": symbols}})
        schema = {"type": "record", "name": f"Record{self.number}", "namespace": "com.acme", "fields": fields}
        return f"com.acme.Record{self.number}", json.dumps(schema, indent=self.choose.choice([None, 1, 4]))

    def json(self, extra: int) -> tuple[str, str]:
        properties: dict[str, Any] = {"amount": {"type": "number", "minimum": 0.5, "maximum": 1e21}}
        properties |= {f"r{index}": {"$ref": name} for index, name in enumerate(self.targets)}
        properties |= {f"x{index}": {"type": ["string", "null"], "pattern": "^é+$"} for index in range(extra)}
        schema = {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": f"Record{self.number}",
            "type": "object",
            "properties": properties,
        }
        return f"record_{self.number}.json", json.dumps(schema, indent=self.choose.choice([None, 2]))

    def protobuf(self, extra: int) -> tuple[str, str]:
        imports = "".join(f'import "{name}";\n' for name in self.targets)
        fields = [f"  string id = 1; // {self.number}"]
        for index, name in enumerate(self.targets):
            fields.append(f"  acme.Record{name.removeprefix('record_').removesuffix('.proto')} r{index} = {index + 2};")
        fields += [f"  /* {index} */ string x{index} = {20 + index};" for index in range(extra)]
        text = f'syntax = "proto3";\npackage acme;\n{imports}\n// A record\nmessage Record{self.number} {{\n'
        return f"record_{self.number}.proto", text + "\n".join(fields) + "\n}\n"


def _subject_name(choose: random.Random, number: int, record: str, topics: Mapping[str, Topic]) -> str:
    topic = choose.choice(sorted(topics))
    forms = [
        f"{topic}-value",
        f"{topic}-key",
        f"{topic}-{record}",
        record,
        f"free {number}/é",
        f"elsewhere{number}-value",
    ]
    return choose.choice(forms)


def fill(client: RegistryClient) -> Filled:
    """Register ``SUBJECTS`` random subjects of three formats, with references to each other, some to old versions."""
    choose = random.Random(SEED)
    filled = Filled(client, {f"orders.t{index}": Topic(f"orders.t{index}", 1, 1) for index in range(90)})
    by_format: dict[str, list[str]] = {"avro": [], "json": [], "protobuf": []}
    for number in range(SUBJECTS):
        form = choose.choice(sorted(by_format))
        known = by_format[form]
        targets = choose.sample(known, min(len(known), choose.choice([0, 0, 1, 2])))
        writer = _Writer(number, [filled.names[each] for each in targets])
        write = {"avro": writer.avro, "json": writer.json, "protobuf": writer.protobuf}[form]
        record, text = write(0)
        full_name = {"avro": record, "json": f"Record{number}", "protobuf": f"acme.Record{number}"}[form]
        name = _subject_name(choose, number, full_name, filled.topics)
        if name in filled.versions:
            name = f"again{number}"
        references = tuple(
            SchemaReference(filled.names[each], each, choose.choice(filled.versions[each]).version) for each in targets
        )
        if choose.random() < 0.4:
            filled.levels[name] = choose.choice(list(Compatibility))
            set_compatibility(client, name, filled.levels[name])
        found = [register(client, name, RegisteredSchema(form, text, references))]
        if choose.random() < 0.5 and (form == "avro" or filled.levels.get(name) is Compatibility.NONE):
            found.append(register(client, name, RegisteredSchema(form, write(2)[1], references)))
        filled.versions[name], filled.names[name] = found, record
        by_format[form].append(name)
    return filled


def empty(client: RegistryClient) -> None:
    """Delete all subjects for good, because an import reads those of other tests: first what no other refers to."""
    while names := client.get("subjects", query={"deleted": "true"}):
        deleted = 0
        for name in names:
            with suppress(RegistryError):  # it is deleted already
                client.delete("subjects", name)
            with suppress(RegistryError):  # another subject refers to it
                client.request("DELETE", ("subjects", name), query={"permanent": "true"})
                deleted += 1
        assert deleted, names


@pytest.fixture(scope="module")
def filled(registry_url: str) -> Iterator[Filled]:
    with RegistryClient(RegistrySettings(registry_url)) as client:
        empty(client)
        filled = fill(client)
        client.put("config", body={"compatibility": "FULL"})  # so that a subject's own NONE makes a difference
        yield filled
        client.put("config", body={"compatibility": "NONE"})
        empty(client)


def imported(folder: Path, filled: Filled, url: str) -> tuple[Project, int]:
    """Import all subjects into a new project; return it, and the number of new subjects."""
    settings = f"config: {{'topicwarden:cluster': sandbox, 'topicwarden:schemaRegistry': '{url}'}}\n"
    project = project_of(folder, {}, settings)
    session = open_session(project, "dev", ())
    assert session.errors == ()
    names = list(filled.topics)
    found = read_subjects(session, RegistrySettings(url), names, names)
    draft = session.draft_subjects(found.subjects, filled.topics.values(), found.latest)
    assert (found.refused, draft.refused) == ({}, {})
    topics = [draft.topics.get(name, topic) for name, topic in filled.topics.items()]
    files = session.draft_files(topics, "dev", schemas=draft.schemas)
    assert files.refused == {}
    session.write([*draft.files, *files.files])
    return project, draft.subjects


def pinned(subject: DeclaredSubject, filled: Filled) -> RegisteredSchema:
    """Return the declared schema with the versions that a deploy would write into its references."""
    references = tuple(
        replace(each, version=each.version or filled.versions[each.subject][-1].version)
        for each in subject.schema.references
    )
    return replace(subject.schema, references=references)


def test_an_import_declares_exactly_what_is_registered(tmp_path: Path, filled: Filled, registry_url: str) -> None:
    project, number = imported(tmp_path, filled, registry_url)
    assert number == len(filled.versions) == SUBJECTS
    checked = check(project, ["dev"])
    assert [str(problem) for problem in checked.errors] == []
    declared = checked.subjects["dev"].subjects
    live = read_registry(filled.client, list(declared))
    assert declared.keys() == filled.versions.keys()
    kinds = set()
    for name, subject in declared.items():
        latest = live.subjects[name].latest
        assert latest is not None
        assert latest.version == filled.versions[name][-1].version
        schema = pinned(subject, filled)
        assert same(schema, latest.schema), name
        found = find_version(filled.client, name, schema)
        assert found is not None
        assert (found.version, found.id) == (latest.version, latest.id)
        assert subject.compatibility == filled.levels.get(name)
        kinds.add((schema.format, bool(subject.uses), any(each.version for each in subject.schema.references)))
    assert len({(form, used) for form, used, _ in kinds}) == 6, "each format, in topics and below subjects/"
    assert any(old for _, _, old in kinds), "references to older versions"
    assert imported(tmp_path, filled, registry_url)[1] == 0
