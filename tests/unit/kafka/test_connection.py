"""Test the conversion of stack settings to a connection, for all clients."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.sasl import sasl_settings
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project


def project(folder: Path, settings: str) -> Project:
    (folder / "stacks").mkdir()
    (folder / "stacks" / "Pulumi.prod.yaml").write_text(settings)
    return Project(folder)


def test_the_providers_names_reach_every_client_and_the_password_no_message(tmp_path: Path) -> None:
    connection = connect_to(
        project(
            tmp_path,
            """
            config:
              kafka:bootstrapServers: [a:9093, b:9093]
              kafka:saslMechanism: scram-sha512
              kafka:saslUsername: alice
              kafka:saslPassword: 'se"cret'
            """,
        ),
        "prod",
    )
    java = connection.for_java()
    assert java["bootstrap.servers"] == "a:9093,b:9093"
    assert java["security.protocol"] == "SASL_SSL"
    assert java["sasl.mechanism"] == "SCRAM-SHA-512"
    assert connection.principal == "User:alice"
    assert replace(connection, sasl_mechanism=None).principal is None
    assert java["sasl.jaas.config"].endswith('ScramLoginModule required username="alice" password="se\\"cret";')
    assert "cret" not in repr(connection)


def test_servers_may_be_json_as_pulumi_config_writes_them(tmp_path: Path) -> None:
    settings = "config: {'kafka:bootstrapServers': '[\"a:9092\"]', 'kafka:tlsEnabled': 'false'}"
    connection = connect_to(project(tmp_path, settings), "prod")
    assert connection.bootstrap_servers == ("a:9092",)
    assert connection.security_protocol == "PLAINTEXT"


@pytest.mark.parametrize(
    ("settings", "output"),
    [
        ("config: {}", "names no cluster: set kafka:bootstrapServers"),
        ("", "names no cluster"),
        ("config: [", "not YAML"),
        ("config: 3", "cannot be read as stack settings"),
        ("config: {'topicwarden:cluster': sandbox}", "start it with `topicwarden sandbox up`"),
        (
            "config: {'kafka:bootstrapServers': [a:1], 'kafka:saslMechanism': magic, 'kafka:saslUsername': u, "
            "'kafka:saslPassword': p}",
            "expected one of plain",
        ),
        ("config: {'kafka:bootstrapServers': [a]}", 'expected addresses such as kafka-1.example.com:9092, got "a"'),
        ("config: {'kafka:bootstrapServers': [a:1], 'kafka:tlsEnabled': 'yes'}", "expected true or false"),
        ("config: {'kafka:bootstrapServers': [a:1], 'kafka:tlsEnable': true}", "did you mean kafka:tlsEnabled?"),
        (
            "config: {'kafka:bootstrapServers': [a:1], 'kafka:caCertFile': gone.pem}",
            'there is no file "gone.pem" below',
        ),
    ],
)
def test_a_wrong_address_is_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, output: str
) -> None:
    monkeypatch.delenv("TOPICWARDEN_CACHE", raising=False)
    with pytest.raises(Refusal) as refusal:
        connect_to(project(tmp_path, settings), "prod")
    assert output in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(("stack", "hint"), [("staging", ""), ("prd", "; did you mean prod?")])
def test_an_unknown_stack_is_refused_as_check_does(tmp_path: Path, stack: str, hint: str) -> None:
    with pytest.raises(Refusal, match=f"^{re.escape(f'no stack {stack}; stacks: prod{hint}')}$"):
        connect_to(project(tmp_path, "config: {}"), stack)


@pytest.mark.parametrize(
    ("settings", "output"),
    [
        ("'kafka:saslPassword': x", "needs kafka:saslUsername"),
        ("'kafka:saslUsername': x", "needs kafka:saslPassword"),
        ("'kafka:saslUsername': x, 'kafka:saslPassword': 0123", 'kafka:saslPassword: "0123" is no text in YAML 1.1'),
        ("'kafka:saslUsername': yes, 'kafka:saslPassword': x", 'kafka:saslUsername: "yes" is no text in YAML 1.1'),
        ("'kafka:saslUsername': 7, 'kafka:saslPassword': x", "kafka:saslUsername: expected text"),
    ],
)
def test_credentials_are_text(tmp_path: Path, settings: str, output: str) -> None:
    stack_project = project(
        tmp_path, f"config: {{'kafka:bootstrapServers': [a:1], 'kafka:saslMechanism': plain, {settings}}}"
    )
    with pytest.raises(Refusal, match=output) as refused:
        connect_to(stack_project, "prod")
    assert "83" not in str(refused.value)


def test_every_problem_is_in_one_message_line_by_line(tmp_path: Path) -> None:
    settings = "config: {'kafka:bootstrapServers': [a:9093], 'kafka:saslMechanism': magic, 'kafka:clientCert': x}"
    with pytest.raises(Refusal) as refused:
        connect_to(project(tmp_path, settings), "prod")
    lines = str(refused.value).splitlines()
    assert all(line.startswith("stacks/Pulumi.prod.yaml: kafka:") for line in lines)
    assert [line.split(": ")[1] for line in lines] == ["kafka:saslMechanism"] * 3 + ["kafka:clientCert"] * 2


def test_a_user_without_a_mechanism_is_plain(tmp_path: Path) -> None:
    """The official provider has the same default."""
    settings = "config: {'kafka:bootstrapServers': [a:9093], 'kafka:saslUsername': u, 'kafka:saslPassword': p}"
    assert connect_to(project(tmp_path, settings), "prod").for_java()["sasl.mechanism"] == "PLAIN"


def test_a_sandbox_stack_has_no_other_cluster_settings(tmp_path: Path) -> None:
    """The sandbox would win, and a deploy to it would look like a deploy to the other cluster."""
    settings = "config: {'topicwarden:cluster': sandbox, 'kafka:bootstrapServers': [prod:9093]}"
    with pytest.raises(Refusal, match="selects the sandbox, and kafka:bootstrapServers another cluster; remove one"):
        connect_to(project(tmp_path, settings), "prod")


@pytest.mark.parametrize("text", ["- a", "config: [a]", "sandbox"])
def test_a_stack_file_without_a_mapping_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(Refusal, match="cannot be read as stack settings: expected a mapping `config:`"):
        connect_to(project(tmp_path, text), "prod")


@pytest.mark.parametrize(("mechanism", "sent"), [("SCRAM-SHA-256", "a=2Cb=3Dc"), ("PLAIN", "a,b=c")])
def test_a_scram_name_is_sent_as_rfc_5802_says(mechanism: str, sent: str) -> None:
    connection = Connection(("a:9093",), sasl_mechanism=mechanism, username="a,b=c", password="x")
    assert sasl_settings(connection)["sasl_plain_username"] == sent
    assert 'username="a,b=c"' in connection.for_java()["sasl.jaas.config"]
