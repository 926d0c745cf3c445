"""Test that deploys register, adopt, change and delete exactly the declared subjects, on a real registry and engine."""

from __future__ import annotations

import base64
import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.engine.subjects.conftest import SubjectStack
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.registry.write import register, set_compatibility, soft_delete
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.planned_change import Action, RegistryPlan, Severity
from topicwarden.model.subject import RegisteredSchema
from topicwarden.toolchain import Toolchain


def schema(*fields: str, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return an Avro record with these fields of strings; ``optional`` ones have a default."""
    return {
        "type": "record",
        "name": "Order",
        "fields": [
            *({"name": name, "type": "string"} for name in fields),
            *({"name": name, "type": "string", "default": ""} for name in optional),
        ],
    }


def avro(value: Mapping[str, Any]) -> RegisteredSchema:
    return RegisteredSchema("avro", json.dumps(value))


def subjects(stack: SubjectStack) -> RegistryPlan:
    plan = stack.plan().registry
    assert plan is not None
    return plan


def test_a_subject_is_created_changed_and_released(stack: SubjectStack) -> None:
    stack.declare(schema("id"))
    plan = subjects(stack)
    assert [(each.subject, each.action) for each in plan.subjects] == [(f"{stack.name}.orders-value", Action.CREATE)]
    stack.up()
    first = stack.versions()
    assert len(first) == 1 and stack.level() == "BACKWARD"
    (state,) = stack.in_state().values()
    assert (state["version"], state["schemaId"]) == first[0]

    assert not subjects(stack).subjects
    reordered = json.dumps(schema("id"), indent=4)  # another spelling of the same schema
    stack.write({"topics/schemas/order.avsc": reordered})
    assert not subjects(stack).subjects
    assert "unchanged" in stack.up() and stack.versions() == first

    stack.declare(schema("id", optional=("note",)), "{compatibility: FULL}")
    (changed,) = subjects(stack).subjects
    assert changed.action is Action.UPDATE and changed.severity is None
    assert any(line.startswith("+") and '"note"' in line for line in changed.difference)
    stack.up()
    second = stack.versions()
    assert second[0] == first[0] and len(second) == 2 and stack.level() == "FULL"

    stack.declare(schema("id"), "true")
    (removed,) = subjects(stack).subjects
    assert removed.action is Action.RELEASE
    output = stack.up()
    assert "stays in the Schema Registry" in output
    assert stack.versions() == second and not stack.in_state()


def test_an_incompatible_schema_is_refused_before_anything_is_deployed(stack: SubjectStack) -> None:
    stack.declare(schema("id"))
    stack.up()
    before = stack.versions()
    stack.declare(schema("id", "amount"))
    stack.write({"topics/other.yaml": "{topic: NAME.other, owner: team, partitions: 1, replication_factor: 1}\n"})
    output = stack.refused("plan", "--stack", "dev")
    assert "incompatible" in output and "topics/orders.yaml:1" in output
    assert "amount" in output or "READER_FIELD_MISSING" in output
    assert "incompatible" in stack.refused()
    assert stack.versions() == before
    assert f"{stack.name}.other" not in stack.pulumi("stack export")


def test_a_subject_that_exists_as_declared_is_adopted_without_a_write(stack: SubjectStack) -> None:
    subject = f"{stack.name}.orders-value"
    register(stack.client, subject, avro(schema("id")))
    set_compatibility(stack.client, subject, Compatibility.BACKWARD)
    before = stack.versions()
    stack.declare(schema("id"))
    (adopted,) = subjects(stack).subjects
    assert adopted.action is Action.ADOPT
    with read_only(stack):
        stack.up()
    assert stack.versions() == before and list(stack.in_state()) == [subject]


def test_changes_by_hand_are_reverted_or_reported(stack: SubjectStack) -> None:
    subject = f"{stack.name}.orders-value"
    stack.declare(schema("id"))
    stack.up()
    set_compatibility(stack.client, subject, Compatibility.NONE)
    (changed,) = subjects(stack).subjects
    assert changed.action is Action.UPDATE
    stack.up()
    assert stack.level() == "BACKWARD" and not subjects(stack).subjects

    register(stack.client, subject, avro(schema("id", optional=("note",))))
    (foreign,) = subjects(stack).subjects
    assert (foreign.action, foreign.severity) == (Action.DRIFT, Severity.DANGER)
    assert "foreign-version" in stack.up() and len(stack.versions()) == 2
    stack.up("--refresh")

    stack.declare(schema("id", optional=("note",)))
    stack.up()
    stack.declare(schema("id"))  # a registry does not make an older version the latest
    output = stack.refused()
    assert "version 2 is the latest" in output and len(stack.versions()) == 2

    soft_delete(stack.client, subject)
    stack.declare(schema("id", optional=("note",)))
    (gone,) = subjects(stack).subjects
    assert gone.action is Action.CREATE
    stack.up()
    assert stack.versions()


MONEY = {"type": "record", "name": "Money", "namespace": "com.acme", "fields": [{"name": "amount", "type": "long"}]}
PRICE = {
    "type": "record",
    "name": "Price",
    "namespace": "com.acme",
    "fields": [{"name": "value", "type": "com.acme.Money"}],
}
SHARED = """
subjects:
  NAME.money: {format: avro, schema: schemas/money.avsc, compatibility: NONE}
  NAME.price:
    {format: avro, schema: schemas/price.avsc, references: [{name: com.acme.Money, subject: NAME.money}]}
"""


def declare_shared(stack: SubjectStack, money: Mapping[str, Any], text: str = SHARED) -> None:
    stack.write(
        {
            "topics/orders.yaml": "{topic: NAME.orders, owner: team, partitions: 1, replication_factor: 1}\n",
            "subjects/shared.yaml": text,
            "subjects/schemas/money.avsc": json.dumps(money),
            "subjects/schemas/price.avsc": json.dumps(PRICE),
        }
    )


def test_references_follow_the_versions_that_the_deploy_registers(stack: SubjectStack) -> None:
    declare_shared(stack, MONEY)
    stack.up()
    price = f"{stack.name}.price"
    references = stack.client.get("subjects", price, "versions", "latest")["references"]
    assert references == [{"name": "com.acme.Money", "subject": f"{stack.name}.money", "version": 1}]
    assert not subjects(stack).subjects

    with_default = {"name": "currency", "type": "string", "default": "EUR"}
    declare_shared(stack, {**MONEY, "fields": [*MONEY["fields"], with_default]})
    plan = subjects(stack)
    assert [each.action for each in plan.subjects] == [Action.UPDATE, Action.UPDATE]
    stack.up()
    references = stack.client.get("subjects", price, "versions", "latest")["references"]
    assert references == [{"name": "com.acme.Money", "subject": f"{stack.name}.money", "version": 2}]
    assert not subjects(stack).subjects


@pytest.mark.nightly("The suite keeps references that follow new versions, and compatible and incompatible schemas.")
def test_a_schema_with_references_may_change_if_it_stays_compatible(stack: SubjectStack) -> None:
    """Apicurio resolves no references of Avro when it only compares, so the checkers compare."""
    declare_shared(stack, MONEY, SHARED.replace("price.avsc, ", "price.avsc, compatibility: BACKWARD, "))
    stack.up()
    for field, compatible in (
        ({"name": "note", "type": "string", "default": ""}, True),
        ({"name": "method", "type": "string"}, False),
    ):
        changed = json.dumps({**PRICE, "fields": [*PRICE["fields"], field]})
        stack.write({"subjects/schemas/price.avsc": changed})
        (plan,) = subjects(stack).subjects
        refused = [(each.kind, each.because) for each in plan.consequences if each.severity is Severity.REFUSED]
        assert [kind for kind, _ in refused] == ([] if compatible else ["incompatible"]), refused
        if not compatible:
            ((_, because),) = refused
            assert "method" in because[0]
            assert "no default" in because[0]


def test_a_subject_is_soft_deleted_only_if_its_last_deploy_allowed_that(stack: SubjectStack) -> None:
    deletable = SHARED + "allow: [delete-subject]\n"
    declare_shared(stack, MONEY, deletable)
    stack.up()
    price_only = "subjects:\n" + SHARED[SHARED.index("  NAME.price") :] + "allow: [delete-subject]\n"
    pinned = price_only.replace("subject: NAME.money", "subject: NAME.money, version: 1")
    declare_shared(stack, MONEY, pinned)
    output = stack.refused()
    assert "delete-subject" in output and f"{stack.name}.price" in output and stack.versions("NAME.money")

    (stack.project.root / "subjects/shared.yaml").unlink()
    plan = subjects(stack)
    assert [(each.action, each.severity) for each in plan.subjects] == [(Action.DELETE, Severity.DANGER)] * 2
    output = stack.up()
    assert not stack.versions("NAME.price") and not stack.in_state()
    # Apicurio counts soft-deleted referrers.
    assert not stack.versions("NAME.money") or "deleted subjects, which this registry still counts" in output


ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "com.acme",
    "fields": [{"name": "price", "type": "com.acme.Price"}],
}


@pytest.mark.nightly("The suite keeps the deletion of one that refers to another.")
def test_subjects_that_refer_to_each_other_are_removed_together(stack: SubjectStack) -> None:
    order = (
        "  NAME.order:\n    {format: avro, schema: schemas/order.avsc, references: "
        "[{name: com.acme.Price, subject: NAME.price}, {name: com.acme.Money, subject: NAME.money}]}\n"
    )
    stack.write({"subjects/schemas/order.avsc": json.dumps(ORDER)})
    declare_shared(stack, MONEY, SHARED + order + "allow: [delete-subject]\n")
    stack.up()
    (stack.project.root / "subjects/shared.yaml").unlink()
    plan = subjects(stack)
    assert {each.subject: bool(each.consequences[0].because) for each in plan.subjects} == {
        f"{stack.name}.{name}": name != "order" for name in ("money", "order", "price")
    }
    output = stack.up()
    assert not stack.versions("NAME.order") and not stack.in_state()
    for name in ("price", "money"):  # Apicurio counts soft-deleted referrers
        assert not stack.versions(f"NAME.{name}") or f"subject {stack.name}.{name} stays" in output


def test_a_renamed_subject_is_judged_against_the_records_and_versions_of_the_earlier_one(
    stack: SubjectStack, sandbox: Sandbox
) -> None:
    stack.declare(schema("id"))
    stack.up()
    ((_, id),) = stack.versions()
    producer = Producer({"bootstrap.servers": ",".join(sandbox.bootstrap_servers)})
    producer.produce(f"{stack.name}.orders", b"\0" + id.to_bytes(4, "big") + b"\x02a")
    assert producer.flush(30) == 0
    stack.declare(schema("id", "amount"), "{subject: NAME.renamed}")
    found = {each.subject: each for each in subjects(stack).subjects}[f"{stack.name}.renamed"]
    refused = {each.kind: each.message for each in found.consequences if each.severity is Severity.REFUSED}
    assert f"version 1 of {stack.name}.orders-value, which readers use until now" in refused["incompatible"]
    assert refused["break-readers"].startswith(f"1 of 1 retained records of {stack.name}.orders cannot be read")
    output = stack.refused()
    assert "break-readers" in output and not stack.versions("NAME.renamed")


def test_only_a_plan_with_a_new_schema_starts_a_jvm_and_none_starts_spark(
    stack: SubjectStack, sandbox: Sandbox, tools: Toolchain, tmp_path: Path
) -> None:
    stack.declare(schema("id"))
    stack.up()
    ((_, id),) = stack.versions()
    producer = Producer({"bootstrap.servers": ",".join(sandbox.bootstrap_servers)})
    producer.produce(f"{stack.name}.orders", b"\0" + id.to_bytes(4, "big") + b"\x02a")
    assert producer.flush(30) == 0
    java, started = tmp_path / "bin" / "java", tmp_path / "started"
    java.parent.mkdir()
    java.write_text(f'#!/bin/sh\necho "$@" >> {started}\nexec {tools.java.resolve()} "$@"\n', encoding="utf-8")
    java.chmod(0o755)
    stack.shell = replace(stack.shell, variables={**stack.shell.variables, "JAVA_HOME": str(tmp_path)})

    stack.declare(schema("id"), more=", config: {retention.ms: 1d}")
    assert not subjects(stack).subjects and not started.exists()

    stack.declare(schema("id", optional=("note",)))
    (changed,) = subjects(stack).subjects
    assert changed.action is Action.UPDATE and not changed.consequences
    assert "TotalsProcess" in started.read_text(encoding="utf-8")
    assert "org.apache.spark.deploy.SparkSubmit" not in started.read_text(encoding="utf-8")


def test_pulumi_destroy_leaves_subjects_that_may_not_be_deleted(stack: SubjectStack) -> None:
    stack.declare(schema("id"), more=", allow: [delete]")
    stack.up()
    before = stack.versions()
    assert "stays in the Schema Registry" in stack.pulumi("destroy --yes --skip-preview")
    assert stack.versions() == before and not stack.in_state()

    stack.up()
    done = stack.shell.in_process("destroy", "--stack", "dev", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert stack.versions() == before and not stack.in_state()

    stack.declare(schema("id"), more=", allow: [delete, delete-subject]")
    stack.up()
    done = stack.shell.in_process("destroy", "--stack", "dev", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not stack.versions() and not stack.in_state()


def test_plain_pulumi_deploys_subjects_and_writes_no_credential(
    stack: SubjectStack, sandbox: Sandbox, registry_url: str
) -> None:
    password = "hunter2-never-written"
    with gate(registry_url, password=password) as url:
        stack.set_registry({"url": url, "username": "deployer"}, sandbox.bootstrap_servers)
        stack.shell = replace(stack.shell, variables={**stack.shell.variables, "PULUMI_CONFIG_PASSPHRASE": "own"})
        stack.pulumi(f"config set --path --secret topicwarden:schemaRegistry.password {password}")
        stack.declare(schema("id"))
        printed = stack.pulumi("preview") + stack.pulumi("up --yes --debug --logtostderr -v=9")
        assert stack.versions() and stack.level() == "BACKWARD"
        printed += stack.pulumi("refresh --yes") + stack.pulumi("up --yes") + stack.pulumi("stack export")
        assert password not in printed
        assert len(stack.versions()) == 1


@pytest.mark.nightly("The suite keeps the registry that does not answer.", stays=("nothing",))
@pytest.mark.parametrize("answer", ["nothing", "401", "html"])
def test_topics_are_deployed_without_a_registry_and_the_next_run_continues(
    stack: SubjectStack, registry_url: str, answer: str
) -> None:
    with broken_registry(answer) as url:
        stack.set_registry(url)
        stack.declare(schema("id"))
        report = stack.plan()
        assert report.registry is not None and not report.registry.judged
        assert any("not judged" in line for line in report.unseen) and not report.deployable
        output = stack.refused()
        assert "not deployed: " in output and f"{stack.name}.orders-value" in output
        assert f"{stack.name}.orders" in stack.pulumi("stack export") and not stack.in_state()
    stack.set_registry(registry_url)
    stack.up()
    assert stack.versions() and stack.in_state()
    with broken_registry(answer) as url:
        stack.set_registry(url)
        assert "not judged" in stack.up()  # nothing changes, so nothing is refused
    assert stack.in_state()


def test_a_read_only_registry_refuses_subjects_only(stack: SubjectStack) -> None:
    stack.declare(schema("id"))
    with read_only(stack):
        plan = subjects(stack)
        assert [each.kind for each in plan.consequences] == ["read-only-registry"]
        assert "READONLY" in stack.refused()
        assert f"{stack.name}.orders" in stack.pulumi("stack export") and not stack.in_state()
    stack.up()
    assert stack.versions()


def test_a_subject_waits_for_the_topic_that_failed(stack: SubjectStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cluster, "refused_changes", lambda self, changes: {})  # as if nobody had asked
    stack.declare(schema("id"))
    # A controller refuses more partitions in one request.
    (stack.project.root / "topics/orders.yaml").write_text(
        (stack.project.root / "topics/orders.yaml").read_text().replace("partitions: 1", "partitions: 12000")
    )
    stack.write(
        {
            "subjects/shared.yaml": "subjects: {NAME.money: {format: avro, schema: schemas/money.avsc}}\n",
            "subjects/schemas/money.avsc": json.dumps(MONEY),
        }
    )
    output = stack.refused()
    assert "was not deployed" in output
    assert not stack.versions() and stack.versions("NAME.money")


@contextmanager
def read_only(stack: SubjectStack) -> Iterator[None]:
    """Refuse all writes of the registry within the block."""
    stack.client.put("mode", body={"mode": "READONLY"})
    try:
        yield
    finally:
        stack.client.put("mode", body={"mode": "READWRITE"})


@contextmanager
def broken_registry(answer: str) -> Iterator[str]:
    """Yield the URL of a server that answers every request like this."""
    if answer == "nothing":
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            port = unused.getsockname()[1]
        yield f"http://127.0.0.1:{port}"
        return

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401 if answer == "401" else 200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<html>Sign in</html>")

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with serving(Handler) as address:
        yield address


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve all methods with the ``do_GET`` of ``handler``; yield the address."""
    for method in ("POST", "PUT", "DELETE"):
        setattr(handler, f"do_{method}", handler.do_GET)  # type: ignore[attr-defined]
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@contextmanager
def gate(url: str, *, password: str) -> Iterator[str]:
    """Yield an address of the registry at ``url`` that needs a password."""
    expected = "Basic " + base64.b64encode(f"deployer:{password}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
            if self.headers.get("Authorization") != expected:
                self.answer(401, b"{}")
                return
            headers = {"Content-Type": self.headers.get("Content-Type") or "application/json"}
            request = urllib.request.Request(url + self.path, body, headers, method=self.command)
            try:
                with urllib.request.urlopen(request, timeout=30) as response:
                    self.answer(response.status, response.read())
            except urllib.error.HTTPError as error:
                self.answer(error.code, error.read())

        def answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with serving(Handler) as address:
        yield address


SLASHES = """subjects:
  google/protobuf/timestamp.proto: {format: protobuf, schema: schemas/timestamp.proto}
  NAME/currency.proto:
    format: protobuf
    schema: schemas/currency.proto
    references: [{name: google/protobuf/timestamp.proto, subject: google/protobuf/timestamp.proto}]
allow: [delete-subject]
"""
TIMESTAMP = (
    'syntax = "proto3";\npackage google.protobuf;\noption java_package = "com.google.protobuf";\n'
    "message Timestamp {\n  int64 seconds = 1;\n  int32 nanos = 2;\n}\n"
)
CURRENCY = (
    'syntax = "proto3";\npackage acme.common;\nimport "google/protobuf/timestamp.proto";\n'
    "message Currency { string code = 1; .google.protobuf.Timestamp at = 2; }\n"
)
SETTLED = (
    'syntax = "proto3";\npackage acme.pay;\nimport "NAME/currency.proto";\n'
    "message Settled { string id = 1; acme.common.Currency currency = 2; }\n"
)
PAY = (
    "{topic: NAME.pay, owner: team, partitions: 1, replication_factor: 1, contents: {value: {format: protobuf, "
    "schema: schemas/settled.proto, message: Settled, registry: "
    "{references: [{name: NAME/currency.proto, subject: NAME/currency.proto}]}}}}\n"
)


@pytest.mark.nightly("The suite keeps the units of the addresses.")
def test_subjects_with_slashes_are_deployed_imported_and_removed(stack: SubjectStack) -> None:
    files = {
        "subjects/shared.yaml": SLASHES,
        "subjects/schemas/timestamp.proto": TIMESTAMP,
        "subjects/schemas/currency.proto": CURRENCY,
        "topics/pay.yaml": PAY,
        "topics/schemas/settled.proto": SETTLED,
    }
    stack.write(files)
    checked = stack.shell.topicwarden("check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    stack.up()
    assert stack.versions("NAME/currency.proto") and stack.versions("NAME.pay-value")
    assert not subjects(stack).subjects

    declared = (stack.project.root / "subjects/shared.yaml").read_text()
    (stack.project.root / "subjects/shared.yaml").unlink()
    (stack.project.root / "topics/pay.yaml").unlink()
    imported = stack.shell.topicwarden("import", "--stack", "dev", "--files-only", "--schemas", f"{stack.name}.pay")
    assert imported.returncode == 0, imported.stdout + imported.stderr
    [file] = [path for path in (stack.project.root / "subjects").glob("*.yaml") if "currency" in path.read_text()]
    assert f"{stack.name}/currency.proto:" in file.read_text()
    for path in (*(stack.project.root / "subjects").glob("*.yaml"), *(stack.project.root / "topics").rglob("*.yaml")):
        path.unlink()
    (stack.project.root / "subjects/shared.yaml").write_text(declared)
    stack.write({"topics/pay.yaml": PAY.replace("partitions", "allow: [delete, delete-subject], partitions")})
    stack.up()
    (stack.project.root / "subjects/shared.yaml").unlink()
    (stack.project.root / "topics/pay.yaml").unlink()
    stack.write({"topics/other.yaml": "{topic: NAME.other, owner: team, partitions: 1, replication_factor: 1}\n"})
    output = stack.up()
    assert not stack.versions("NAME.pay-value") and not stack.in_state()
    assert not stack.versions("NAME/currency.proto") or "deleted subjects, which this registry still counts" in output
