"""Test what `check` says about the ``kafka:`` settings of a stack, without a cluster and without decryption."""

from __future__ import annotations

import base64
import json
import re
import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from tests.support.secured import encrypted_key, pem
from topicwarden.model.project import Project
from topicwarden.specs.stacks.connection_settings import ConnectionSettings, read_connection_settings
from topicwarden.specs.stacks.key_material import certificate_and_key, private_key
from topicwarden.specs.stacks.registry_settings import read_registry_settings
from topicwarden.specs.stacks.stack_file import read_stack_file

SERVERS = {"kafka:bootstrapServers": ["kafka.example.com:9093"]}
CA = trustme.CA()
CERTIFICATE, KEY = pem(CA.issue_cert("client.example.com"))
PAST = datetime.now(UTC) - timedelta(days=2)


def read(settings: dict[str, Any], root: Path = Path()) -> tuple[ConnectionSettings, list[str]]:
    read, problems = read_connection_settings({**SERVERS, **settings}, root)
    return read, [f"{problem.name}: {problem.message}" for problem in problems]


CLIENT = {"kafka:clientCert": CERTIFICATE, "kafka:clientKey": KEY}
IAM = {"kafka:saslMechanism": "aws-iam", "kafka:saslAwsRegion": "eu-central-1"}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "address": ({"kafka:bootstrapServers": "kafka"}, "kafka:bootstrapServers: expected addresses such as"),
    "port": ({"kafka:bootstrapServers": ["kafka:70000"]}, 'got "kafka:70000"'),
    "URL": ({"kafka:bootstrapServers": ["https://kafka:9092"]}, 'got "https://kafka:9092"'),
    "list": ({"kafka:bootstrapServers": 9092}, "expected a list such as [localhost:9092]"),
    "flag": ({"kafka:skipTlsVerify": "on"}, "kafka:skipTlsVerify: expected true or false"),
    "mechanism": ({"kafka:saslMechanism": "gssapi"}, "expected one of plain, scram-sha256, scram-sha512"),
    "no token endpoint": (
        {"kafka:saslMechanism": "oauthbearer", "kafka:saslUsername": "a", "kafka:saslPassword": "b"},
        "kafka:saslMechanism: needs kafka:saslTokenUrl",
    ),
    "needless token endpoint": (
        {"kafka:saslTokenUrl": "https://sso.example.com/token"},
        "kafka:saslTokenUrl: has no effect without kafka:saslMechanism: oauthbearer",
    ),
    "token endpoint": (
        {"kafka:saslMechanism": "oauthbearer", "kafka:saslTokenUrl": "sso.example.com"},
        "expected a URL such as https://sso.example.com/token",
    ),
    "token endpoint with a blank": (
        {"kafka:saslMechanism": "oauthbearer", "kafka:saslTokenUrl": "https://sso.example.com/to ken"},
        "kafka:saslTokenUrl: expected a URL such as https://sso.example.com/token",
    ),
    "token endpoint without a port": (
        {"kafka:saslMechanism": "oauthbearer", "kafka:saslTokenUrl": "https://sso.example.com:99999/token"},
        "kafka:saslTokenUrl: expected a URL such as https://sso.example.com/token",
    ),
    "token endpoint with a user": (
        {"kafka:saslMechanism": "oauthbearer", "kafka:saslTokenUrl": "https://u:s3cret@sso.example.com/to ken"},
        "kafka:saslTokenUrl: has a user, which is not sent; write it as kafka:saslUsername and kafka:saslPassword",
    ),
    "scopes": ({"kafka:saslOauthScopes": 3}, "kafka:saslOauthScopes: expected a list of scopes such as [kafka]"),
    "password": ({"kafka:saslUsername": "a", "kafka:saslPassword": 83}, "kafka:saslPassword: expected text"),
    "unknown": ({"kafka:saslUser": "a"}, "kafka:saslUser: topicwarden does not use this setting; did you mean"),
    "CA": ({"kafka:caCert": "-----BEGIN CERTIFICATE-----\nx"}, "kafka:caCert: expected certificates in PEM"),
    "CA twice": ({"kafka:caCert": CA.cert_pem.bytes().decode(), "kafka:caCertFile": "ca.pem"}, "remove one of them"),
    "no key": ({"kafka:clientCert": CERTIFICATE}, "kafka:clientCert: needs kafka:clientKey or kafka:clientKeyFile"),
    "no certificate": ({"kafka:clientKey": KEY}, "kafka:clientKey: needs kafka:clientCert or kafka:clientCertFile"),
    "other key": (
        {**CLIENT, "kafka:clientKey": pem(CA.issue_cert("other.example.com"))[1]},
        "kafka:clientKey: is not the private key of the certificate in kafka:clientCert",
    ),
    "no passphrase": (
        {**CLIENT, "kafka:clientKey": encrypted_key(KEY, "secret")},
        "kafka:clientKey: the key is encrypted; set clientKeyPassphrase",
    ),
    "wrong passphrase": (
        {**CLIENT, "kafka:clientKey": encrypted_key(KEY, "secret"), "kafka:clientKeyPassphrase": "other"},
        "or clientKeyPassphrase is wrong",
    ),
    "needless passphrase": (
        {**CLIENT, "kafka:clientKeyPassphrase": "other"},
        "the key is not encrypted; remove clientKeyPassphrase",
    ),
    "expired": (
        dict(
            zip(CLIENT, pem(CA.issue_cert("client.example.com", not_before=PAST, not_after=PAST)), strict=True),
        ),
        f"kafka:clientCert: expired at {PAST:%Y-%m-%d}",
    ),
    "IAM without region": ({"kafka:saslMechanism": "aws-iam"}, "kafka:saslMechanism: needs kafka:saslAwsRegion"),
    "IAM with a user": ({**IAM, "kafka:saslUsername": "a"}, "kafka:saslUsername: has no effect with"),
    "IAM with a token URL": (
        {**IAM, "kafka:saslTokenUrl": "https://sso.example.com/token"},
        "kafka:saslTokenUrl: has no effect without kafka:saslMechanism: oauthbearer",
    ),
    "IAM without TLS": ({**IAM, "kafka:tlsEnabled": False}, "kafka:saslMechanism: needs TLS"),
    "no region": ({**IAM, "kafka:saslAwsRegion": "Frankfurt"}, "expected a region such as eu-central-1"),
    "no role": ({**IAM, "kafka:saslAwsRoleArn": "topics"}, "expected a role such as arn:aws:iam::123456789012:role/"),
    "access key without secret": (
        {**IAM, "kafka:saslAwsAccessKey": "AKIA"},
        "kafka:saslAwsAccessKey: needs kafka:saslAwsSecretKey",
    ),
    "secret without access key": (
        {**IAM, "kafka:saslAwsSecretKey": "s"},
        "kafka:saslAwsSecretKey: has no effect without kafka:saslAwsAccessKey",
    ),
    "external id without role": (
        {**IAM, "kafka:saslAwsExternalId": "x"},
        "kafka:saslAwsExternalId: has no effect without kafka:saslAwsRoleArn",
    ),
    "two identities": (
        {**IAM, "kafka:saslAwsProfile": "p", "kafka:saslAwsAccessKey": "A", "kafka:saslAwsSecretKey": "s"},
        "kafka:saslAwsProfile: contradicts kafka:saslAwsAccessKey",
    ),
    "region without IAM": (
        {"kafka:saslAwsRegion": "eu-central-1"},
        "kafka:saslAwsRegion: has no effect without kafka:saslMechanism: aws-iam",
    ),
    "a setting of the provider that nothing obeys": (
        {**IAM, "kafka:saslAwsCredsDebug": True},
        "kafka:saslAwsCredsDebug: topicwarden does not use this setting",
    ),
    "without TLS": ({**CLIENT, "kafka:tlsEnabled": False}, "kafka:clientCert: has no effect without TLS"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_each_wrong_setting_is_named(wrong: str) -> None:
    settings, line = WRONG[wrong]
    problems = read(settings)[1]
    assert any(line in problem for problem in problems), problems
    assert not any("PRIVATE KEY-----\n" in problem or "s3cret" in problem for problem in problems)


OAUTH = {"kafka:saslMechanism": "oauthbearer", "kafka:saslUsername": "a", "kafka:saslPassword": "b"}


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("https://sso.example.com:8443/token?tenant=a", None),
        ("http://[::1]:8080/token", None),
        ("https://", "expected a URL such as"),
        ("https://sso.example.com/to ken", "expected a URL such as"),
        ("http://sso:abc/", "expected a URL such as"),
        ("http://[::1", "expected a URL such as"),
        (
            "https://me:s3cret@sso",
            "has a user, which is not sent; write it as kafka:saslUsername and kafka:saslPassword",
        ),
    ],
)
def test_the_url_of_a_token_endpoint_is_complete(url: str, message: str | None) -> None:
    _, problems = read({**OAUTH, "kafka:saslTokenUrl": url})
    assert [each.startswith(f"kafka:saslTokenUrl: {message}") for each in problems] == ([True] if message else [])
    assert "s3cret" not in str(problems)


@pytest.mark.parametrize("token", ["", "a\n", "a b", "ä"])
def test_the_token_of_a_registry_fits_into_a_header(token: str) -> None:
    assert not read_registry_settings({"url": "http://r", "token": "a.b-c=="}, Path())[1]
    (problem,) = read_registry_settings({"url": "http://r", "token": token}, Path())[1]
    assert problem.name == "token"


def test_a_certificate_may_be_a_path_below_the_project(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(CA.cert_pem.bytes().decode())
    (tmp_path / "client.key").write_text(encrypted_key(KEY, "secret"))
    settings = {
        "kafka:caCert": "ca.pem",
        "kafka:clientCert": CERTIFICATE,
        "kafka:clientKeyFile": "client.key",
        "kafka:clientKeyPassphrase": "secret",
    }
    found, problems = read(settings, tmp_path)
    assert not problems
    assert found.certificates.ca_cert == CA.cert_pem.bytes().decode()
    assert found.certificates.client_key == private_key(KEY, None)
    assert "PRIVATE" not in repr(found)


P256, OTHER_CURVE = (bytes.fromhex(f"06082a8648ce3d0301{last}") for last in ("07", "06"))


def with_another_curve(text: str) -> str:
    """Return the PEM of a key or certificate with a curve that no library reads."""
    ((label, data),) = re.findall(r"BEGIN ([A-Z ]+)-----(.*?)-----END", text, re.DOTALL)
    changed = base64.b64encode(base64.b64decode(data).replace(P256, OTHER_CURVE)).decode()
    return f"-----BEGIN {label}-----\n" + "\n".join(textwrap.wrap(changed, 64)) + f"\n-----END {label}-----\n"


def test_a_key_or_a_certificate_of_an_unknown_curve_is_a_problem(tmp_path: Path) -> None:
    key, certificate = with_another_curve(private_key(KEY, None)), with_another_curve(CERTIFICATE)
    unsupported = "has an algorithm or a curve that is not supported; create one with RSA, or the curve P-256"
    assert read(CLIENT | {"kafka:clientKey": key})[1] == [f"kafka:clientKey: the key {unsupported}"]
    assert read(CLIENT | {"kafka:clientCert": certificate})[1] == [
        "kafka:clientKey: is not the private key of the certificate in kafka:clientCert"
    ]
    (tmp_path / "client.pem").write_text(CERTIFICATE + key)
    with pytest.raises(ValueError, match=f"its private key {unsupported}"):
        certificate_and_key(tmp_path / "client.pem", None, None)


def test_a_file_missing_on_this_machine_is_no_problem_offline(tmp_path: Path) -> None:
    settings = {**SERVERS, "kafka:caCertFile": "/etc/kafka/ca.pem"}
    assert not read_connection_settings(settings, tmp_path, offline=True)[1]
    (problem,) = read_connection_settings(settings, tmp_path)[1]
    assert problem.message.startswith('there is no file "/etc/kafka/ca.pem"')


@pytest.mark.parametrize(
    "settings",
    [
        {"kafka:saslMechanism": "plain", "kafka:saslUsername": "a"},
        {"kafka:clientCert": CERTIFICATE},
        {"kafka:clientCert": CERTIFICATE, "kafka:clientKey": encrypted_key(KEY, "secret")},
    ],
)
def test_a_secret_that_is_added_later_is_no_problem_offline(settings: dict[str, str], tmp_path: Path) -> None:
    assert not read_connection_settings({**SERVERS, **settings}, tmp_path, offline=True)[1]
    assert read_connection_settings({**SERVERS, **settings}, tmp_path)[1]


def test_check_has_the_location_and_ignores_encrypted_values(tmp_path: Path) -> None:
    secret = {"secure": "v1:x:y"}
    settings = {
        "kafka:bootstrapServers": ["kafka"],
        "kafka:saslMechanism": "scram-sha256",
        "kafka:saslUsername": secret,
        "kafka:saslPassword": secret,
        "kafka:clientCert": CERTIFICATE,
        "kafka:clientKey": secret,
        "kafka:clientKeyPassphrase": secret,
    }
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "Pulumi.prod.yaml").write_text(yaml.safe_dump({"config": settings}, sort_keys=False))
    (problem,) = read_stack_file(Project(tmp_path), "prod").problems
    assert str(problem.location) == "stacks/Pulumi.prod.yaml:3:5"
    assert 'got "kafka"' in problem.message


RECEIVER = {"url": {"secure": "v1:x:y"}, "clientCert": CERTIFICATE, "clientKey": KEY}


@pytest.mark.parametrize(
    ("settings", "secret"),
    [
        ({"kafka:clientCertFile": "c.pem", "kafka:clientKey": KEY}, "kafka:clientKey"),
        ({"kafka:clientCertFile": "c.pem", "kafka:clientKeyFile": KEY}, "kafka:clientKeyFile"),
        ({"kafka:clientCert": KEY + CERTIFICATE, "kafka:clientKeyFile": "client.key"}, "kafka:clientCert"),
        ({"kafka:clientCertFile": "c.pem", "kafka:clientKey": encrypted_key(KEY, "secret")}, None),
        ({"kafka:caCertFile": "ca.pem", "kafka:clientCert": CERTIFICATE, "kafka:clientKeyFile": "client.key"}, None),
        ({"topicwarden:schemaRegistry": {"url": "http://r", "clientCert": CERTIFICATE, "clientKey": KEY}}, "clientKey"),
        (
            {"topicwarden:catalogues": {"a": {"openlineage": "http://r", "clientCert": CERTIFICATE, "clientKey": KEY}}},
            "clientKey",
        ),
        ({"topicwarden:notifications": {"a": RECEIVER}}, "clientKey"),
        ({"topicwarden:notifications": {"a": json.dumps(RECEIVER)}}, "clientKey"),
        ({"topicwarden:notifications": {"a": '{"url": "https://h/s3cret"}'}}, "url"),
    ],
)
def test_a_secret_that_everyone_can_read_is_a_warning(
    tmp_path: Path, settings: dict[str, Any], secret: str | None
) -> None:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "Pulumi.prod.yaml").write_text(yaml.safe_dump({"config": {**SERVERS, **settings}}))
    problems = read_stack_file(Project(tmp_path), "prod").problems
    assert [(each.rule, each.message.split(" ")[0]) for each in problems] == (
        [("plaintext-secret", secret)] if secret else []
    )


@pytest.mark.parametrize(
    ("registry", "line"),
    [
        (7, "topicwarden:schemaRegistry: expected a URL such as http://localhost:8081, or a mapping of url"),
        ("localhost:8081", "topicwarden:schemaRegistry.url: expected a URL such as http://localhost:8081"),
        ("http://", "topicwarden:schemaRegistry.url: expected a URL such as http://localhost:8081"),
        ("http://[::1", "topicwarden:schemaRegistry.url: expected a URL such as http://localhost:8081"),
        ("http://r:99999", "topicwarden:schemaRegistry.url: expected a URL such as http://localhost:8081"),
        ("http://r/a b", "topicwarden:schemaRegistry.url: expected a URL such as http://localhost:8081"),
        ("http://r/?a=b", "topicwarden:schemaRegistry.url: has a query or a fragment"),
        ({"url": "http://r", "username": "a:b", "password": {"secure": "x"}}, "username: has a colon"),
        ({"url": "http://r", "user": "a"}, "topicwarden:schemaRegistry.user: unknown key; did you mean username?"),
        ({"url": "http://r", "username": "a"}, "topicwarden:schemaRegistry.username: needs password; write it"),
        ("http://a:b@r/api", "topicwarden:schemaRegistry.url: has a user, which no client sends; write it as username"),
        (
            {"url": "http://r", "clientKey": encrypted_key(KEY, "secret")},
            "topicwarden:schemaRegistry.clientKey: needs clientCert or clientCertFile",
        ),
        (
            {"url": "http://r", "username": "a", "password": {"secure": "x"}, "token": {"secure": "y"}},
            "topicwarden:schemaRegistry.token: username is set, too; remove one of them",
        ),
    ],
)
def test_check_judges_the_settings_of_a_registry(tmp_path: Path, registry: Any, line: str) -> None:
    (tmp_path / "stacks").mkdir()
    config = {"topicwarden:schemaRegistry": registry}
    text = yaml.safe_dump({"config": config}, sort_keys=False, default_flow_style=None)
    (tmp_path / "stacks" / "Pulumi.prod.yaml").write_text(text)
    (problem,) = read_stack_file(Project(tmp_path), "prod").problems
    assert line in problem.message
