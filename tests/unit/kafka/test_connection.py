"""Test the conversion of stack settings to a connection, for all clients, and the tokens for Amazon MSK."""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from tests.support.iam import ACCESS_KEY, REGION, SECRET_KEY, SESSION_TOKEN, problem_of
from topicwarden.kafka.connect.aws_tokens import NoAwsCredentials, token, token_series
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.sasl import sasl_settings
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.sandbox_folder import ADDRESS_FILE, STATE_FILE
from topicwarden.specs.stacks.connection_settings import AwsSettings


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
        ("'kafka:saslUsername': x, 'kafka:saslPassword': 0123", "kafka:saslPassword: the value is no text in YAML 1.1"),
        ("'kafka:saslUsername': yes, 'kafka:saslPassword': x", "kafka:saslUsername: the value is no text in YAML 1.1"),
        ("'kafka:saslUsername': 7, 'kafka:saslPassword': x", "kafka:saslUsername: expected text"),
    ],
)
def test_credentials_are_text(tmp_path: Path, settings: str, output: str) -> None:
    stack_project = project(
        tmp_path, f"config: {{'kafka:bootstrapServers': [a:1], 'kafka:saslMechanism': plain, {settings}}}"
    )
    with pytest.raises(Refusal, match=output) as refused:
        connect_to(stack_project, "prod")
    assert not re.search("83|0123", str(refused.value)), "a password is in no message"


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


def test_a_sandbox_is_the_cluster_of_its_own_state(tmp_path: Path) -> None:
    """Another sandbox may have taken the port of a broker that is down."""
    sandbox = Project(tmp_path).cache / "sandbox"
    sandbox.mkdir(parents=True)
    (sandbox / ADDRESS_FILE).write_text("127.0.0.1:1\n", encoding="utf-8")
    of_sandbox = project(tmp_path, "config: {'topicwarden:cluster': sandbox}")
    assert connect_to(of_sandbox, "prod").cluster_id is None
    (sandbox / STATE_FILE).write_text(json.dumps({"directory": str(sandbox), "cluster_id": "c"}), encoding="utf-8")
    assert connect_to(of_sandbox, "prod").cluster_id == "c"


@pytest.mark.parametrize("text", ["- a", "config: [a]", "sandbox"])
def test_a_stack_file_without_a_mapping_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(Refusal, match="cannot be read as stack settings: expected a mapping `config:`"):
        connect_to(project(tmp_path, text), "prod")


@pytest.mark.parametrize(("mechanism", "sent"), [("SCRAM-SHA-256", "a=2Cb=3Dc"), ("PLAIN", "a,b=c")])
def test_a_scram_name_is_sent_as_rfc_5802_says(mechanism: str, sent: str) -> None:
    connection = Connection(("a:9093",), sasl_mechanism=mechanism, username="a,b=c", password="x")
    assert sasl_settings(connection)["sasl_plain_username"] == sent
    assert 'username="a,b=c"' in connection.for_java()["sasl.jaas.config"]


KEYS = AwsSettings(REGION, access_key=ACCESS_KEY, secret_key=SECRET_KEY, session_token=SESSION_TOKEN)
ROLE = "arn:aws:iam::123456789012:role/topics"
NOW = 1_800_000_000
_ASSUMED = f"""<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>{ACCESS_KEY}</AccessKeyId><SecretAccessKey>{SECRET_KEY}</SecretAccessKey>
<SessionToken>{SESSION_TOKEN}</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>
</Credentials></AssumeRoleResult></AssumeRoleResponse>"""


@pytest.fixture(autouse=True)
def no_other_identity(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def test_a_token_is_signed_for_its_time() -> None:
    signed = token(KEYS, NOW)
    assert problem_of(signed, NOW) is None
    assert problem_of(signed, NOW + 899) is None
    assert problem_of(signed, NOW + 900) is not None
    assert problem_of(token(AwsSettings(REGION, access_key=ACCESS_KEY, secret_key="other"), NOW), NOW) is not None


def test_a_series_has_a_valid_token_at_any_time_of_twelve_hours() -> None:
    began = int(time.time())
    series = [entry.split(":") for entry in token_series(KEYS).split(",")]
    starts = [int(start) for start, _ in series]
    assert all(problem_of(signed, start) is None for start, (_, signed) in zip(starts, series, strict=True))
    assert 0 <= starts[0] - began <= 5
    assert all(later - sooner < 900 for sooner, later in pairwise(starts))
    assert starts[-1] + 900 >= began + 12 * 3600


def test_settings_are_not_shown() -> None:
    assert SECRET_KEY not in repr(KEYS) + str(KEYS)
    assert SESSION_TOKEN not in repr(KEYS) + str(KEYS)


def test_a_profile_signs(tmp_path: Path) -> None:
    lines = (f"aws_access_key_id={ACCESS_KEY}", f"aws_secret_access_key={SECRET_KEY}")
    text = "\n".join(("[team]", *lines, f"aws_session_token={SESSION_TOKEN}"))
    (tmp_path / "AWS_SHARED_CREDENTIALS_FILE").write_text(text)
    assert problem_of(token(AwsSettings(REGION, profile="team"), NOW), NOW) is None


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, list[str]]]]:
    """The requests to the stand-in for AWS's token service."""
    received: list[dict[str, list[str]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(_ASSUMED.encode())

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://127.0.0.1:{server.server_address[1]}")
        yield received
        server.shutdown()


def test_an_assumed_role_signs_until_its_credentials_expire(requests: list[dict[str, list[str]]]) -> None:
    aws = AwsSettings(REGION, role_arn=ROLE, external_id="x7", access_key="AKIAOTHER", secret_key="other")
    assert problem_of(token(aws, NOW), NOW) is None
    assert problem_of(token(aws, NOW), NOW) is None
    (request,) = requests
    assert (request["RoleArn"], request["ExternalId"]) == ([ROLE], ["x7"])


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.exceptions", None)
    with pytest.raises(NoAwsCredentials, match="is not installed: `pip install 'topicwarden\\[aws\\]'`"):
        token(KEYS)


@pytest.mark.parametrize(
    ("aws", "message"),
    [
        (AwsSettings(REGION), "there are no AWS credentials: set AWS_PROFILE (in a stack file, kafka:saslAwsProfile)"),
        (AwsSettings(REGION, profile="absent"), "no AWS credentials for profile absent: The config profile (absent)"),
    ],
)
def test_missing_credentials_are_refused_with_the_remedy(aws: AwsSettings, message: str) -> None:
    with pytest.raises(NoAwsCredentials) as refused:
        token(aws)
    assert str(refused.value).startswith(message)
