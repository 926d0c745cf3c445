"""Test Confluent's wire format with a real Schema Registry, and without a registry."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import trustme
import yaml

from tests.broker.contents import registry
from tests.support.registry import registry_gate
from tests.support.reports import finding
from tests.support.secured import pem
from topicwarden.model.finding import AuditReport
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import AuditFunction, auditing

BASIC = {"username": "nobody", "password": "never-asked-for"}


@pytest.fixture(scope="module")
def filled(servers: list[str], registry_url: str) -> None:
    registry.fill(servers, registry_url)


def look_with(project: Project, name: str, address: str, settings: Mapping[str, str] = BASIC) -> AuditReport:
    """Audit the registry topics on a stack that uses this registry."""
    dev = yaml.safe_load((project.stacks / "Pulumi.dev.yaml").read_text(encoding="utf-8"))
    dev["config"]["topicwarden:schemaRegistry"] = {"url": address, **settings}
    (project.stacks / f"Pulumi.{name}.yaml").write_text(yaml.safe_dump(dev), encoding="utf-8")
    with auditing(project, name) as look:
        return look(("registry.*",))


@pytest.fixture(scope="module")
def judged(project: Project, look: AuditFunction, filled: None, registry_url: str) -> AuditReport:
    return look_with(project, "registered", registry_url)


@pytest.mark.parametrize(
    ("topic", "offsets"),
    [
        (
            "registry.avro",
            {"2": "too early", "3": "does not know", "4": "another subject", "5": "of JSON", "6": "not in"},
        ),
        ("registry.json", {"2": "/id: expected integer, got string"}),
        ("registry.money", {"1": "not a Price"}),
        ("registry.linked", {"1": "/id: expected integer, got string"}),
        ("registry.protobuf", {"2": "not a Payment", "3": "path"}),
    ],
)
def test_each_record_that_violates_its_schema_has_its_reason(
    judged: AuditReport, topic: str, offsets: dict[str, str]
) -> None:
    found = finding(judged, topic, "value-schema")
    assert found.verdict is Verdict.FAIL
    assert found.evidence["records"] == len(offsets)
    for offset, reason in offsets.items():
        (line,) = (line for line in found.because if line.endswith(f"offset {offset}"))
        assert reason in line


def test_expressions_get_decoded_records(judged: AuditReport) -> None:
    assert finding(judged, "registry.avro", "expression").verdict is Verdict.PASS
    assert finding(judged, "registry.protobuf", "expression").verdict is Verdict.PASS


def test_a_registry_that_does_not_answer_makes_records_undecidable(
    project: Project, look: AuditFunction, filled: None
) -> None:
    report = look_with(project, "lost", "http://127.0.0.1:1")
    found = finding(report, "registry.json", "value-schema")
    assert found.verdict is Verdict.UNDECIDABLE
    assert "cannot be reached" in found.because[0]
    assert "never-asked-for" not in report.model_dump_json()


@pytest.mark.nightly("The suite keeps certificates in broker/schema_registry.", stays=("token",))
@pytest.mark.parametrize("token", ["of-the-registry", None], ids=["token", "certificate"])
def test_a_registry_with_a_ca_of_its_own_asks_for_a_token_or_a_certificate(
    project: Project, judged: AuditReport, registry_url: str, token: str | None
) -> None:
    ca = trustme.CA()
    certificate, key = pem(ca.issue_cert("client.example.com"))
    client = {"token": token} if token else {"clientCert": certificate, "clientKey": key}
    with registry_gate(registry_url, ca, token=token) as address:
        report = look_with(project, "gated", address, {"caCert": ca.cert_pem.bytes().decode(), **client})
        refused = look_with(project, "refused", address, {"caCert": ca.cert_pem.bytes().decode()})
    for topic in registry.TOPICS:
        expected = finding(judged, topic, "value-schema")
        assert finding(report, topic, "value-schema").evidence == expected.evidence
    assert finding(refused, "registry.json", "value-schema").verdict is Verdict.UNDECIDABLE
    assert not any(secret in report.model_dump_json() for secret in client.values())


def test_a_schema_that_a_header_names_leaves_records_undecided(judged: AuditReport) -> None:
    """Confluent's HeaderSchemaIdSerializer writes no prefix; the first value looks as if it had one."""
    for check in ("value-schema", "unique"):
        found = finding(judged, "registry.named", check)
        assert found.verdict is Verdict.UNDECIDABLE
        assert "its schema is named in the header __value_schema_id" in "".join(found.because)
    assert finding(judged, "registry.named", "value-schema").evidence["records"] == 2
