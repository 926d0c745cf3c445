"""Test the signed tokens for Amazon MSK with AWS's own library, and roles with a stand-in for AWS's token service."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from tests.support.iam import ACCESS_KEY, REGION, SECRET_KEY, SESSION_TOKEN, problem_of
from topicwarden.kafka.connect.aws_tokens import NoAwsCredentials, token, token_series
from topicwarden.specs.stacks.aws_settings import AwsSettings

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
        (AwsSettings(REGION), "there are no AWS credentials: set kafka:saslAwsProfile or AWS_PROFILE, or run where"),
        (AwsSettings(REGION, profile="absent"), "no AWS credentials for profile absent: The config profile (absent)"),
    ],
)
def test_missing_credentials_are_refused_with_the_remedy(aws: AwsSettings, message: str) -> None:
    with pytest.raises(NoAwsCredentials) as refused:
        token(aws)
    assert str(refused.value).startswith(message)
