"""Test each way to authenticate, from one description, with every client: Admin, the provider, Spark."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import PrivateFormat
from kafka.admin import NewTopic
from pyspark.sql import SparkSession

from tests.support import iam
from tests.support.projects import Shell, empty_stack, project_of
from tests.support.secured import PASSWORD, USER, SecuredBroker, encrypted_key
from topicwarden.audit.request import AuditRequest
from topicwarden.audit.run import audit
from topicwarden.audit.scan.read_limits import ReadLimits
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import open_admin
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.write.access_admin import Credential, Password, write_credentials
from topicwarden.kafka_facts.services import PROFILES
from topicwarden.model.project import Project
from topicwarden.operations.audit import auditing

PASSPHRASE = "a pass phrase"
TOPIC = "{owner: team, partitions: 2, replication_factor: 1, contents: {key: {required: true}}}\n"
Settings = dict[str, object]


def over_tls(broker: SecuredBroker, folder: Path) -> Settings:
    return {"kafka:bootstrapServers": [broker.addresses["TLS"]], "kafka:caCert": broker.ca_pem}


def mutual(broker: SecuredBroker, folder: Path) -> Settings:
    """Certificate and key are files beside the project, and the key is encrypted."""
    certificate, key = broker.client_pem()
    secrets = folder / "secrets"
    secrets.mkdir()
    (secrets / "ca.pem").write_text(broker.ca_pem)
    (secrets / "client.pem").write_text(certificate)
    (secrets / "client.key").write_text(encrypted_key(key, PASSPHRASE))
    return {
        "kafka:bootstrapServers": [broker.addresses["MUTUAL"]],
        "kafka:caCertFile": "secrets/ca.pem",
        "kafka:clientCertFile": "secrets/client.pem",
        "kafka:clientKeyFile": "secrets/client.key",
        "kafka:clientKeyPassphrase": PASSPHRASE,
    }


def mutual_in_the_settings(broker: SecuredBroker, folder: Path) -> Settings:
    """Certificate and key are in the settings; the key is in the older form that OpenSSL wrote (PKCS #1 or SEC 1)."""
    certificate, key = broker.client_pem()
    old = encrypted_key(key, PASSPHRASE, PrivateFormat.TraditionalOpenSSL)
    return {
        "kafka:bootstrapServers": [broker.addresses["MUTUAL"]],
        "kafka:caCert": broker.ca_pem,
        "kafka:clientCert": certificate,
        "kafka:clientKey": old,
        "kafka:clientKeyPassphrase": PASSPHRASE,
    }


def unverified(broker: SecuredBroker, folder: Path) -> Settings:
    return {"kafka:bootstrapServers": [broker.addresses["OTHERNAME"]], "kafka:skipTlsVerify": True}


def unverified_mutual(broker: SecuredBroker, folder: Path) -> Settings:
    certificate, key = broker.client_pem()
    return {
        "kafka:bootstrapServers": [broker.addresses["MUTUAL"]],
        "kafka:skipTlsVerify": "true",
        "kafka:clientCert": certificate,
        "kafka:clientKey": key,
    }


def user(mechanism: str | None, *, tls: bool) -> Callable[[SecuredBroker, Path], Settings]:
    def settings(broker: SecuredBroker, folder: Path) -> Settings:
        return {
            "kafka:bootstrapServers": [broker.addresses["SASLTLS" if tls else "SASL"]],
            "kafka:saslUsername": USER,
            "kafka:saslPassword": PASSWORD,
            **({"kafka:saslMechanism": mechanism} if mechanism else {}),
            **({"kafka:caCert": broker.ca_pem} if tls else {"kafka:tlsEnabled": False}),
        }

    return settings


def oauth(broker: SecuredBroker, folder: Path) -> Settings:
    return {
        "kafka:bootstrapServers": [broker.addresses["OAUTH"]],
        "kafka:tlsEnabled": False,
        "kafka:saslMechanism": "oauthbearer",
        "kafka:saslTokenUrl": broker.tokens.token_url,
        "kafka:saslUsername": USER,
        "kafka:saslPassword": PASSWORD,
        "kafka:saslOauthScopes": ["read", "write"],
    }


def aws_iam(broker: SecuredBroker, _: Path) -> Settings:
    return {
        **over_tls(broker, _),
        "kafka:bootstrapServers": [broker.addresses["IAM"]],
        "kafka:saslMechanism": "aws-iam",
        "kafka:saslAwsRegion": iam.REGION,
        "kafka:saslAwsAccessKey": iam.ACCESS_KEY,
        "kafka:saslAwsSecretKey": iam.SECRET_KEY,
        "kafka:saslAwsToken": iam.SESSION_TOKEN,
    }


WAYS: dict[str, Callable[[SecuredBroker, Path], Settings]] = {
    "tls": over_tls,
    "mutual tls": mutual,
    "mutual tls in the settings": mutual_in_the_settings,
    "unverified tls": unverified,
    "unverified mutual tls": unverified_mutual,
    "plain": user(None, tls=False),
    "plain over tls": user("plain", tls=True),
    "scram-sha256 over tls": user("scram-sha256", tls=True),
    "scram-sha512": user("scram-sha512", tls=False),
    "oauthbearer": oauth,
    "aws-iam": aws_iam,
}
DEPLOYED = ("mutual tls", "unverified mutual tls", "scram-sha256 over tls", "oauthbearer", "aws-iam")
"""The ways that a deploy uses, too: engine, program and provider have the same settings."""


def project_for(broker: SecuredBroker, folder: Path, way: str) -> tuple[Project, str]:
    """Return a project with one topic of its own, and the name of the topic."""
    topic = f"{way.replace(' ', '-')}.{folder.name[-4:].strip('_')}.v1"
    folder.joinpath("project").mkdir()
    settings = json.dumps({"config": WAYS[way](broker, folder / "project")})
    return project_of(folder / "project", {f"{topic}.yaml": TOPIC}, settings), topic


@pytest.mark.nightly(
    "The suite keeps mutual TLS, which includes TLS.",
    stays=("mutual tls", "aws-iam", "oauthbearer", "scram-sha256 over tls"),
)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.usefixtures("spark")
def test_every_client_authenticates(
    broker: SecuredBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "of this stack")
    project, topic = project_for(broker, tmp_path, way)
    shell = empty_stack(project, tmp_path / "state")
    for name, value in shell.variables.items():
        monkeypatch.setenv(name, value)
    if way in DEPLOYED:
        deploy(shell, tmp_path / "state", topic)
    else:
        with open_admin(connect_to(project, "dev")) as admin:
            admin.create_topics([NewTopic(topic, 2, 1)])
    with writing([broker.addresses["PLAINTEXT"]]) as writer:
        for number in range(10):
            writer.send(topic, f"k{number}", "v")
    with open_cluster(connect_to(project, "dev")) as cluster:
        live = cluster.snapshot({topic}).topics
        assert cluster.newest_records(live)[topic].records == 10
        cluster.groups([topic])
    with auditing(project, "dev") as audited:
        report = audited((topic,))
    assert report.scanned_records == 10
    assert_no_secret(report.model_dump_json())


@pytest.mark.parametrize("service", PROFILES)
def test_a_named_service_is_reached_over_tls(broker: SecuredBroker, tmp_path: Path, service: str) -> None:
    settings = {"config": {**over_tls(broker, tmp_path), "topicwarden:profile": service}}
    with open_admin(connect_to(project_of(tmp_path, {}, json.dumps(settings)), "dev")) as admin:
        assert isinstance(admin.list_topics(), list)


def test_tokens_are_renewed_during_a_long_audit(broker: SecuredBroker, spark: SparkSession) -> None:
    """Brokers end each connection with its token. The audit takes longer than two tokens live."""
    topic, records = "oauth.long.v1", 240
    oauth = Connection(
        (broker.addresses["OAUTH"],),
        tls=False,
        sasl_mechanism="OAUTHBEARER",
        username=USER,
        password=PASSWORD,
        token_url=broker.tokens.token_url,
    )
    with open_admin(oauth) as admin:
        admin.create_topics([NewTopic(topic, 1, 1)])
    with writing([broker.addresses["PLAINTEXT"]]) as writer:
        for number in range(records):
            writer.send(topic, f"k{number}", os.urandom(10_000))
    given = broker.tokens.given
    request = AuditRequest("dev", oauth, (), (topic,), bounds=ReadLimits(rate=80_000))
    report = audit(spark, request, lambda _: None)
    assert report.scanned_records == records
    assert broker.tokens.given >= given + 4


@pytest.mark.nightly("The suite keeps a name with both characters.", stays=("a,b=c",))
@pytest.mark.parametrize("name", ["a,b=c", "=2C", ",", "CN=billing,OU=apps"])
def test_scram_names_with_a_comma_or_an_equals_sign_log_in(
    broker: SecuredBroker, spark: SparkSession, name: str
) -> None:
    """With kafka-python, and with Kafka's own client in the audit's reader."""
    topic = f"scram.{name.encode().hex()}.v1"
    with open_admin(Connection((broker.addresses["PLAINTEXT"],), tls=False)) as admin:
        assert not write_credentials(admin, {Credential(name, "SCRAM-SHA-256"): Password(PASSWORD, 4096)})
        admin.create_topics([NewTopic(topic, 1, 1)])
    with writing([broker.addresses["PLAINTEXT"]]) as writer:
        writer.send(topic, "k", b"v")
    connection = Connection(
        (broker.addresses["SASL"],), tls=False, sasl_mechanism="SCRAM-SHA-256", username=name, password=PASSWORD
    )
    with open_cluster(connection) as cluster:
        assert topic in cluster.snapshot().topics
    assert audit(spark, AuditRequest("dev", connection, (), (topic,)), lambda _: None).scanned_records == 1


def deploy(shell: Shell, backend: Path, topic: str) -> None:
    """Deploy with the real engine, and look for secrets in all that it prints and keeps."""
    settings = (shell.folder / "stacks" / "Pulumi.dev.yaml").read_text()
    for name, secret in SECRETS.items():
        if name in settings:
            encrypt(shell, name, secret)
    done = shell.topicwarden("up", "--yes", "--stack", "dev")  # plans first
    assert done.returncode == 0, done.stdout + done.stderr
    assert_no_secret(done.stdout + done.stderr)
    # Pulumi's own history of a stack repeats its settings as they are written, so only secrets are safe there.
    state = (backend / ".pulumi" / "stacks" / "topicwarden" / "dev.json").read_text()
    assert topic in state
    assert_no_secret(state)


def encrypt(shell: Shell, name: str, value: str) -> None:
    done = shell.run("pulumi", "config", "set", "--secret", name, value, "--stack", "dev", "--non-interactive")
    assert done.returncode == 0, done.stderr


SECRETS = {
    "kafka:saslPassword": PASSWORD,
    "kafka:saslAwsSecretKey": iam.SECRET_KEY,
    "kafka:saslAwsToken": iam.SESSION_TOKEN,
}


def assert_no_secret(text: str) -> None:
    assert "PRIVATE KEY" not in text
    assert PASSPHRASE not in text
    for secret in SECRETS.values():
        assert secret not in text
