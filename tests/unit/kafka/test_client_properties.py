"""``client.properties``, as Kafka's own tools take it: what is obeyed, what is refused, and that no secret is shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates

from topicwarden.model.problem import Refusal
from topicwarden.specs.stacks.client_properties import read_client_properties
from topicwarden.specs.stacks.jaas import read_jaas

SECRET = "s3cr3t-value"
PLAIN = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="{SECRET}";'
SCRAM = PLAIN.replace("plain.Plain", "scram.Scram")


def read(tmp_path: Path, *lines: str, servers: str = "a:9092, b:9092") -> dict[str, object]:
    file = tmp_path / "client.properties"
    file.write_text("\n".join(lines) + "\n", encoding="iso-8859-1")
    return dict(read_client_properties(servers, file).settings)


def problems(tmp_path: Path, *lines: str) -> list[str]:
    with pytest.raises(Refusal) as refused:
        read(tmp_path, *lines)
    assert SECRET not in str(refused.value)
    return str(refused.value).splitlines()


def test_without_a_file_the_connection_is_plain_text() -> None:
    settings = read_client_properties("a:9092,b:9092", None).settings
    assert settings == {"kafka:bootstrapServers": ["a:9092", "b:9092"], "kafka:tlsEnabled": False}


@pytest.mark.parametrize("file", [None, "client.properties"])
@pytest.mark.parametrize(("servers", "wrong"), [("broker", "broker"), ("a:9092,b:99999", "b:99999"), (" ", " ")])
def test_an_address_is_refused_by_the_name_of_its_option(
    tmp_path: Path, servers: str, wrong: str, file: str | None
) -> None:
    (tmp_path / "client.properties").touch()
    with pytest.raises(Refusal) as refused:
        read_client_properties(servers, None if file is None else tmp_path / file)
    expected = f'--bootstrap-server: expected addresses such as kafka-1.example.com:9092, got "{wrong}"'
    assert str(refused.value) == expected


@pytest.mark.parametrize(
    ("mechanism", "ours", "jaas"),
    [
        ("PLAIN", "plain", PLAIN),
        ("SCRAM-SHA-256", "scram-sha256", SCRAM),
        ("SCRAM-SHA-512", "scram-sha512", SCRAM),
    ],
)
def test_users_with_passwords(tmp_path: Path, mechanism: str, ours: str, jaas: str) -> None:
    settings = read(
        tmp_path,
        "# for the tools",
        "bootstrap.servers=ignored:9092",
        "security.protocol = SASL_SSL",
        f"sasl.mechanism: {mechanism}",
        "sasl.jaas.config=" + jaas.replace(" required", " \\\n  required"),
        "request.timeout.ms=1000",
    )
    assert settings == {
        "kafka:bootstrapServers": ["a:9092", "b:9092"],
        "kafka:tlsEnabled": True,
        "kafka:saslMechanism": ours,
        "kafka:saslUsername": "alice",
        "kafka:saslPassword": SECRET,
    }


def test_clients_of_a_token_endpoint(tmp_path: Path) -> None:
    login = "org.apache.kafka.common.security.oauthbearer"
    settings = read(
        tmp_path,
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=OAUTHBEARER",
        f"sasl.login.callback.handler.class={login}.secured.OAuthBearerLoginCallbackHandler",
        "sasl.oauthbearer.token.endpoint.url=https://sso/token",
        f"sasl.jaas.config={login}.OAuthBearerLoginModule required clientId='me' clientSecret='{SECRET}' "
        'scope="a b";',
    )
    assert settings["kafka:saslTokenUrl"] == "https://sso/token"
    assert (settings["kafka:saslUsername"], settings["kafka:saslPassword"]) == ("me", SECRET)
    assert settings["kafka:saslOauthScopes"] == ["a", "b"]


def test_a_url_of_a_token_endpoint_has_no_secret(tmp_path: Path) -> None:
    with pytest.raises(
        Refusal, match=r"3: sasl.oauthbearer.token.endpoint.url: has a user, which is not sent"
    ) as refused:
        read(
            tmp_path,
            "security.protocol=SASL_SSL",
            "sasl.mechanism=OAUTHBEARER",
            f"sasl.oauthbearer.token.endpoint.url=https://me:{SECRET}@sso/token",
            "sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
            f"clientId='me' clientSecret='{SECRET}';",
        )
    assert SECRET not in str(refused.value)


def test_the_credentials_of_a_client_outside_of_jaas(tmp_path: Path) -> None:
    """Kafka 4.1 takes them as settings of their own (KIP-1139)."""
    settings = read(
        tmp_path,
        "security.protocol=SASL_SSL",
        "sasl.mechanism=OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url=https://sso/token",
        "sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
        "sasl.oauthbearer.client.credentials.client.id=me",
        f"sasl.oauthbearer.client.credentials.client.secret={SECRET}",
    )
    assert (settings["kafka:saslUsername"], settings["kafka:saslPassword"]) == ("me", SECRET)


def test_the_region_of_an_msk_cluster_is_in_its_host_names(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        "security.protocol=SASL_SSL",
        "sasl.mechanism=AWS_MSK_IAM",
        'sasl.jaas.config=software.amazon.msk.auth.iam.IAMLoginModule required awsProfileName="ops";',
        "sasl.client.callback.handler.class=software.amazon.msk.auth.iam.IAMClientCallbackHandler",
        servers="b-1.c1.abcdef.c2.kafka.eu-central-1.amazonaws.com:9098",
    )
    assert settings["kafka:saslMechanism"] == "aws-iam"
    assert settings["kafka:saslAwsRegion"] == "eu-central-1"
    assert settings["kafka:saslAwsProfile"] == "ops"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["security.protocol=TLS"], "1: security.protocol: expected one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        (["security.protocol=SASL_SSL"], "1: sasl.mechanism: expected one of PLAIN"),
        (["", "security.protocol=SASL_SSL", "sasl.mechanism=PLAIN"], "1: sasl.jaas.config: is missing"),
        (['sasl.jaas.config=Plain required password="' + SECRET], "1: sasl.jaas.config: a quoted value has no end"),
        (["ssl.provider=BCFIPS"], "1: ssl.provider: topicwarden cannot obey this setting"),
        (["security.providers=x"], "1: security.providers: topicwarden cannot obey"),
        (["config.providers=file"], "1: config.providers: topicwarden cannot obey"),
        (["ssl.enabled.protocols=TLSv1,TLSv1.1"], "1: ssl.enabled.protocols: topicwarden connects with TLS 1.2 or 1.3"),
        (["ssl.truststore.location=/no/w.jks"], '1: ssl.truststore.location: "/no/w.jks": there is no such file'),
        (["ssl.truststore.certificates=" + SECRET], "1: ssl.truststore.certificates: expected certificates in PEM"),
        (["a=\\u12"], "1: expected four hexadecimal digits after \\u"),
    ],
)
def test_what_cannot_be_obeyed_is_refused_with_its_line(tmp_path: Path, lines: list[str], expected: str) -> None:
    assert any(f"client.properties:{expected}" in each for each in problems(tmp_path, *lines))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_file_whose_settings_java_would_ignore_is_refused(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SSL\n", encoding=encoding)
    with pytest.raises(Refusal, match="expected ISO 8859-1 without a byte order mark, got UTF-8 or UTF-16"):
        read_client_properties("a:9092", file)


def test_all_problems_are_reported_together(tmp_path: Path) -> None:
    found = problems(tmp_path, "ssl.provider=x", "sasl.other=y", "security.protocol=what")
    assert [each.partition(".properties:")[2][0] for each in found] == ["1", "2", "3"]


def test_a_module_for_another_mechanism_is_refused(tmp_path: Path) -> None:
    lines = ("security.protocol=SASL_SSL", "sasl.mechanism=SCRAM-SHA-512", f"sasl.jaas.config={PLAIN}")
    assert "3: sasl.jaas.config: expected ScramLoginModule for SCRAM-SHA-512" in problems(tmp_path, *lines)[0]


def test_an_empty_algorithm_turns_off_the_comparison_of_host_names_only(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SSL\nssl.endpoint.identification.algorithm=\n")
    read = read_client_properties("a:9093", file)
    assert read.verify_hosts is False
    assert "kafka:skipTlsVerify" not in read.settings


def test_settings_without_effect_on_the_connection_are_ignored(tmp_path: Path) -> None:
    lines = ("sasl.kerberos.service.name=kafka", "sasl.login.refresh.buffer.seconds=3", "acks=all", "group.id=x")
    assert read(tmp_path, *lines)["kafka:tlsEnabled"] is False


def test_the_stores_of_java_programs(tmp_path: Path) -> None:
    ca = trustme.CA()
    issued = ca.issue_cert("client", not_after=datetime.now(UTC) + timedelta(days=9))
    certificate = x509.load_pem_x509_certificate(issued.cert_chain_pems[0].bytes())
    key: Any = load_pem_private_key(issued.private_key_pem.bytes(), None)
    authority = x509.load_pem_x509_certificate(ca.cert_pem.bytes())
    store = serialize_key_and_certificates(
        b"x", key, certificate, [authority], BestAvailableEncryption(SECRET.encode())
    )
    (tmp_path / "client.p12").write_bytes(store)
    (tmp_path / "ca.pem").write_bytes(ca.cert_pem.bytes())
    settings = read(
        tmp_path,
        "security.protocol=SSL",
        f"ssl.truststore.location={tmp_path}/ca.pem",
        "ssl.truststore.type=PEM",
        f"ssl.keystore.location={tmp_path}/client.p12",
        f"ssl.keystore.password={SECRET}",
    )
    assert str(settings["kafka:clientCert"]).count("BEGIN CERTIFICATE") == 2
    assert "BEGIN PRIVATE KEY" in str(settings["kafka:clientKey"])
    wrong = (f"ssl.keystore.location={tmp_path}/client.p12", "ssl.keystore.password=other")
    assert "its password is wrong" in problems(tmp_path, *wrong)[0]


def test_the_registry_of_confluents_serializers(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "schema.registry.url=https://registry:8081\nbasic.auth.credentials.source=USER_INFO\n"
        f"schema.registry.basic.auth.user.info=me:{SECRET}\n"
    )
    registry = read_client_properties("a:9092", file).registry
    assert registry == {"url": "https://registry:8081", "username": "me", "password": SECRET}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('x.Module required a="b c" d=\'e"f\';', {"a": "b c", "d": 'e"f'}),
        ('x.Module  REQUIRED\n a = "al\\"ice\\\\" ;', {"a": 'al"ice\\'}),
        ("x.Module optional;", {}),
        ('x.Module required a="\\101";', {"a": "A"}),
    ],
)
def test_jaas_is_read_as_java_reads_it(text: str, options: dict[str, str]) -> None:
    assert read_jaas(text).options == options


@pytest.mark.parametrize("text", ["", "x.Module required", "x.Module a=b;", "x required a;", "x required; y required;"])
def test_broken_jaas(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        read_jaas(text)
