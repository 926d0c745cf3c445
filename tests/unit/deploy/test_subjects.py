"""Test subjects in a deploy: records read with new schemas, remains of killed deploys, and schemas to compare with."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import date
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.http_answers import Request, answering, failing, http
from tests.support.subject_changes import change
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, PartitionReplicas, Snapshot
from topicwarden.kafka.registry.read import NO_REASON
from topicwarden.kinds.announced_writes import Intent
from topicwarden.kinds.subject import before
from topicwarden.kinds.subject.before import SchemaCheckers, SubjectsBefore, _RegistryReader, subjects_before
from topicwarden.kinds.subject.change import RegistryChange, earlier_names, registry_change
from topicwarden.kinds.subject.evidence import RegistryVerdict, SubjectEvidence
from topicwarden.kinds.subject.records import RecordsOfTopics
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.problem import Location
from topicwarden.model.readability import Readability, SchemaScan
from topicwarden.model.subject import (
    NO_SUBJECTS,
    DeclaredSubject,
    DeclaredSubjects,
    DeployedSubject,
    Incompatibility,
    LiveRegistry,
    LiveSubject,
    RegisteredSchema,
    SchemaReference,
    SubjectVersion,
)
from topicwarden.model.topic import Topic
from topicwarden.specs.record_schemas.schema_compatibility import Comparison, CompatibilityVerdict
from topicwarden.specs.stacks.registry_settings import RegistrySettings


@dataclass
class Reader:
    """A reader of records that remembers what it was asked for; it fails with ``error``."""

    scans: list[SchemaScan] = field(default_factory=list)
    error: str | None = None

    def read(self, scans: Sequence[SchemaScan]) -> Sequence[Readability]:
        self.scans += scans
        return [Readability(scan.topic, scan.part, error=self.error) for scan in scans]


def evidence(change: RegistryChange, reader: Reader, *, end: int | None = 5, hidden: bool = False) -> SubjectEvidence:
    """Return what is found; ``end`` is the end of the only partition, None if it has no leader."""
    extents = {} if end is None else {0: PartitionExtent(0, end, end, None, None, None)}
    replicas = (PartitionReplicas(0, 1, (1,), (1,)),)
    live = LiveTopic(Topic("orders", 1, 1), "id", {}, replicas, extents)
    snapshot = cast(
        "Snapshot",
        SimpleNamespace(
            topics={} if hidden else {"orders": live}, hidden=frozenset({"orders"}) if hidden else frozenset()
        ),
    )
    cluster: Any = SimpleNamespace(with_extents=lambda snapshot, names: snapshot, groups=lambda names: ())
    records = RecordsOfTopics(cast("Cluster", cluster), snapshot, {}, reader)
    return records.added_to(SubjectEvidence(), change)


@pytest.mark.parametrize(
    ("name", "deployed", "live", "earlier"),
    [
        ("orders-value", ["orders-value"], ["orders-value"], ("R", "orders-R")),
        ("renamed", ["old"], ["old"], ("R", "old", "orders-R", "orders-value")),
        ("R", [], ["orders-value"], ("orders-R", "orders-value")),
        ("orders-R", ["orders-value"], ["orders-value"], ("R", "orders-value")),
    ],
)
def test_records_of_a_renamed_subject_are_read_with_the_new_schema(
    name: str, deployed: list[str], live: list[str], earlier: tuple[str, ...]
) -> None:
    reader = Reader()
    assert evidence(change(name, deployed, live), reader).readability
    assert [(scan.subject, scan.earlier) for scan in reader.scans] == [(name, earlier)]


def test_no_record_is_read_for_a_subject_that_no_record_can_name() -> None:
    reader = Reader()
    found = evidence(change("renamed", [], []), reader)
    assert not reader.scans and not found.unscanned


def test_without_a_reader_a_topic_with_records_is_not_judged_and_one_without_passes() -> None:
    changed, reader = change("orders-value", ["orders-value"], ["orders-value"]), Reader(error="pyspark is missing")
    for end in (5, None):
        (found,) = evidence(changed, reader, end=end).readability["orders-value"]
        assert found.error == "pyspark is missing"
    assert not evidence(changed, reader, end=0).readability


def test_a_topic_that_may_not_be_described_is_not_judged() -> None:
    changed = change("orders-value", ["orders-value"], ["orders-value"])
    reason = "this user may not describe orders (Describe on the topic)"
    assert evidence(changed, Reader(), hidden=True).unscanned == {"orders-value": reason}


def test_references_that_several_schemas_share_are_followed_once() -> None:
    def schema(depth: int) -> RegisteredSchema:
        below = depth + 1
        references = tuple(SchemaReference(f"{side}{below}", f"s{below}") for side in "ab" if depth < 14)
        return RegisteredSchema("avro", json.dumps({"type": "record", "name": f"R{depth}", "fields": []}), references)

    gets: Counter[str] = Counter()

    class Schemas(dict[str, RegisteredSchema]):
        def get(self, key: str, default: Any = None) -> Any:
            gets[key] += 1
            return super().get(key, default)

    changed, reader = change("orders-value", ["orders-value"], ["orders-value"]), Reader()
    subject = replace(changed.changes["orders-value"], schema=schema(0))
    schemas = Schemas({f"s{depth}": schema(depth) for depth in range(1, 15)})
    evidence(replace(changed, changes={"orders-value": subject}, schemas=schemas), reader)
    (scan,) = reader.scans
    assert len(scan.references) == 28
    assert set(gets.values()) == {2}


@pytest.mark.parametrize(
    ("version", "own", "text"),
    [
        (None, None, "declared"),  # the deploy registers it
        (3, 3, "declared"),
        (2, 2, "declared"),  # the declared schema has an earlier version than the latest
        (3, None, "latest"),
        (3, 2, "latest"),
        (2, 3, None),  # the reference has the number of a version whose text nobody has read
        (2, None, None),
        (4, 3, None),
    ],
)
def test_a_new_schema_is_read_with_the_version_that_its_reference_names(
    version: int | None, own: int | None, text: str | None
) -> None:
    changed, reader = change("orders-value", ["orders-value"], ["orders-value"]), Reader()
    schema = RegisteredSchema("avro", "{}", (SchemaReference("Money", "money", version),))
    live = LiveSubject("money", SubjectVersion(3, 103, RegisteredSchema("avro", "latest")))
    found = evidence(
        replace(
            changed,
            changes={"orders-value": replace(changed.changes["orders-value"], schema=schema)},
            registry=replace(changed.registry, subjects={**changed.registry.subjects, "money": live}),
            schemas={"money": RegisteredSchema("avro", "declared")},
            versions={"money": own} if own else {},
        ),
        reader,
    )
    assert [scan.references for scan in reader.scans] == ([{"Money": text}] if text else [])
    assert bool(found.unscanned) == (text is None)


def test_the_earlier_names_of_a_subject_are_found_once_for_all_its_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []

    def names(subject: DeclaredSubject) -> tuple[str, ...]:
        counted.append(subject.name)
        return earlier_names(subject)

    monkeypatch.setattr("topicwarden.kinds.subject.records.earlier_names", names)
    changed, reader = change("orders-value", ["orders-value"], ["orders-value"]), Reader()
    subject = changed.changes["orders-value"]
    assert subject.declared
    subject = replace(subject, declared=replace(subject.declared, uses=subject.declared.uses * 20))
    evidence(replace(changed, changes={"orders-value": subject}), reader)
    assert len(reader.scans) == 20
    assert counted == ["orders-value"]


SCHEMA = RegisteredSchema("avro", '{"type": "string"}')
DECLARED = DeclaredSubjects({"s": DeclaredSubject("s", SCHEMA, "s.avsc", Location("topics/s.yaml", 1, 1))})
DEPLOYED = {"s": DeployedSubject("s", SCHEMA)}
REGISTRY = RegistrySettings("http://registry:8081")
INTENTS = {"s": Intent.CREATE, "deleted": Intent.DELETE}


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the subjects that the registry has; it knows no others."""
    live: set[str] = set()

    def read(client: object, names: Iterable[str]) -> LiveRegistry:
        version = SubjectVersion(1, 7, SCHEMA)
        return LiveRegistry({name: LiveSubject(name, version if name in live else None) for name in names})

    monkeypatch.setattr(before, "RegistryClient", lambda settings: nullcontext(SimpleNamespace(connections=1)))
    monkeypatch.setattr(before, "read_registry", read)
    monkeypatch.setattr(before, "read_mode", lambda client, name: None)
    return live


def found(
    declared: DeclaredSubjects = NO_SUBJECTS,
    deployed: dict[str, DeployedSubject] | None = None,
    settings: RegistrySettings | None = REGISTRY,
) -> SubjectsBefore:
    checkers = SchemaCheckers(lambda: [])
    return subjects_before(settings, declared, deployed or {}, date(2027, 1, 1), checkers=checkers, intents=INTENTS)


def test_a_subject_that_nobody_declares_any_more_is_named(live: set[str]) -> None:
    live.add("s")
    (problem,) = found().unfinished.orphans
    assert problem.message.startswith("subject s: a deploy that was killed created this")


def test_a_subject_that_was_never_written_or_is_in_the_state_is_not_named(live: set[str]) -> None:
    assert (found().unfinished.intents, found().unfinished.orphans) == ({}, ())
    live.add("s")
    assert found(deployed=DEPLOYED).unfinished.intents == {}


def test_a_subject_that_is_declared_again_is_adopted_and_stays_announced(live: set[str]) -> None:
    live.add("s")
    again = found(DECLARED)
    assert (again.unfinished.intents, again.unfinished.orphans) == ({"s": Intent.CREATE}, ())
    assert again.created == []


def test_a_new_subject_is_announced_before_it_is_registered(live: set[str]) -> None:
    assert found(DECLARED).created == ["s"]


@pytest.mark.parametrize(
    ("registry", "subject", "refused"),
    [("READWRITE", "IMPORT", True), ("READONLY", None, True), ("READONLY", "READWRITE", False)],
)
def test_the_mode_that_applies_to_a_subject_decides_whether_it_is_deployed(
    registry: str, subject: str | None, refused: bool
) -> None:
    modes = {"/mode": registry, "/mode/s?defaultToGlobal=true": subject}

    def answer(request: Request) -> bytes:
        if request.path == "/config":
            return http({"compatibilityLevel": "FULL"})
        mode = modes.get(request.path)
        return http({"mode": mode}) if mode else failing("404 Not Found", 40401, "Subject 's' not found.")

    with answering(answer) as server:
        prediction = found(DECLARED, settings=RegistrySettings(server.url)).prediction
    reasons = {"s": f"the registry refuses the change in mode {subject or registry}"} if refused else {}
    assert prediction is not None
    assert prediction.undeployed == reasons


def test_a_subject_that_no_registry_shows_may_exist() -> None:
    (problem,) = found(settings=None).unfinished.orphans
    assert "subject s" in problem.message


def _no_checkers() -> list[str]:
    raise AssertionError("no checker is needed")


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the subjects that the registry, which refuses each schema, is asked about."""
    names: list[str] = []

    def refusal(client: Any, subject: str, schema: RegisteredSchema, level: Any) -> tuple[str, ...]:
        names.append(subject)
        return ("/fields/0: no default",)

    monkeypatch.setattr(before, "refusal", refusal)
    monkeypatch.setattr(before, "read_mode", lambda client, name: None)
    return names


def verdict(name: str, deployed: list[str], live: list[str]) -> RegistryVerdict:
    reader = _RegistryReader(SimpleNamespace(connections=1), SchemaCheckers(_no_checkers))  # type: ignore[arg-type]
    return reader.evidence(change(name, deployed, live)).verdicts[name]


@pytest.mark.parametrize(
    ("name", "deployed", "live", "with_"),
    [
        ("orders-value", ["orders-value"], ["orders-value"], "orders-value"),
        ("renamed", ["old"], ["old"], "old"),
        ("R", [], ["orders-value"], "orders-value"),
        ("orders-value", [], ["orders-R"], "orders-R"),
    ],
)
def test_a_renamed_subject_is_compared_with_the_one_that_readers_use(
    compared: list[str], name: str, deployed: list[str], live: list[str], with_: str
) -> None:
    found = verdict(name, deployed, live)
    assert (compared, found.reasons) == ([with_], ("/fields/0: no default",))
    assert found.subject is not None and found.subject.name == with_


def test_the_first_subject_of_a_topic_is_compared_with_none(compared: list[str]) -> None:
    assert verdict("orders-value", [], []) == RegistryVerdict()
    assert not compared


def test_each_version_is_compared_with_the_references_that_it_was_registered_with(
    monkeypatch: pytest.MonkeyPatch, compared: list[str]
) -> None:
    texts = {1: '"int"', 2: '"string"'}
    schemas = [RegisteredSchema("avro", '"C"', (SchemaReference("C", "c", version),)) for version in texts]
    requested: list[Comparison] = []

    def incompatibilities(comparisons: Sequence[Comparison], _: object) -> list[CompatibilityVerdict]:
        requested.extend(comparisons)
        return [CompatibilityVerdict()]

    monkeypatch.setattr(before, "registered_versions", lambda *_: [SubjectVersion(1, 1, schemas[0])])
    monkeypatch.setattr(before, "incompatibilities", incompatibilities)

    def get(*path: str) -> dict[str, object]:
        return {"subject": path[1], "version": int(path[3]), "id": 1, "schema": texts[int(path[3])]}

    reader = _RegistryReader(cast("Any", SimpleNamespace(get=get)), SchemaCheckers(lambda: []))
    live = LiveSubject("s", SubjectVersion(1, 1, schemas[0]))
    reader._compatible(live, schemas[1], Compatibility.BACKWARD, Compatibility.BACKWARD)
    (comparison,) = requested
    assert (comparison.new.references, comparison.earlier[0].references) == ({"C": texts[2]}, {"C": texts[1]})


def test_a_schema_is_compared_with_references_that_the_deploy_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed ``money`` (NONE) may break ``bills`` (BACKWARD), which refers to it through ``line``."""

    def schema(text: str, *references: SchemaReference) -> RegisteredSchema:
        return RegisteredSchema("avro", json.dumps(text), references)

    def registered(name: str, schema: RegisteredSchema) -> LiveSubject:
        return LiveSubject(name, SubjectVersion(1, 1, schema), Compatibility.BACKWARD)

    money, line = SchemaReference("Money", "money"), SchemaReference("Line", "line")
    old = {
        "money": schema("long"),
        "line": schema("Money", replace(money, version=1)),
        "bills": schema("Line", replace(line, version=1)),
    }
    new = {"money": schema("string"), "line": schema("Money", money), "bills": schema("Line", line)}
    levels = {"money": Compatibility.NONE}
    declared = {
        name: DeclaredSubject(name, each, f"{name}.avsc", Location("subjects/a.yaml"), compatibility=levels.get(name))
        for name, each in new.items()
    }
    compared = registry_change(
        DeclaredSubjects(declared),
        {name: DeployedSubject(name, each) for name, each in old.items()},
        LiveRegistry({name: registered(name, each) for name, each in old.items()}),
        today=date(2026, 11, 24),
    )
    requested: list[Comparison] = []

    def incompatibilities(comparisons: Sequence[Comparison], _: object) -> list[CompatibilityVerdict]:
        requested.extend(comparisons)
        return [CompatibilityVerdict((Incompatibility("/", "expected long", backward=True),))]

    def get(*path: str) -> dict[str, object]:
        references = [vars(each) for each in old[path[1]].references]
        return {"version": 1, "id": 1, "schema": old[path[1]].text, "references": references}

    monkeypatch.setattr(before, "registered_versions", lambda client, name: [SubjectVersion(1, 1, old[name])])
    monkeypatch.setattr(before, "incompatibilities", incompatibilities)
    monkeypatch.setattr(before, "read_mode", lambda client, name: None)
    client = cast("Any", SimpleNamespace(connections=1, get=get))
    verdicts = _RegistryReader(client, SchemaCheckers(lambda: [])).evidence(compared).verdicts
    assert verdicts["money"] == RegistryVerdict()
    assert verdicts["bills"].reasons == verdicts["line"].reasons == ("/: expected long",)
    bills = next(each for each in requested if each.new.text == '"Line"')
    assert bills.new.references == {"Line": '"Money"', "Money": '"string"'}
    assert bills.earlier[0].references == {"Line": '"Money"', "Money": '"long"'}
    assert bills.level is Compatibility.BACKWARD


def test_the_checkers_give_the_reasons_of_a_registry_that_gives_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Apicurio gives none for JSON Schema. Its refusal counts, also if the checkers find none either."""
    schema = RegisteredSchema("json", "{}")
    live = LiveSubject("s", SubjectVersion(1, 1, schema))
    reader = _RegistryReader(cast("Any", None), SchemaCheckers(lambda: []))
    monkeypatch.setattr(before, "registered_versions", lambda *_: [SubjectVersion(1, 1, schema)])
    monkeypatch.setattr(before, "refusal", lambda *_: NO_REASON)
    added = (Incompatibility("/properties/zip", "added"),)
    for found, reasons in (added, ("/properties/zip: added",)), ((), NO_REASON):
        monkeypatch.setattr(before, "incompatibilities", lambda *_, found=found: [CompatibilityVerdict(found)])
        verdict = reader._compatible(live, schema, Compatibility.BACKWARD, Compatibility.BACKWARD)
        assert verdict.reasons == reasons
        assert verdict.judge.startswith("the registry")
