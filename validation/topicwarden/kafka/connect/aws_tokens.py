"""Access tokens for Amazon MSK with IAM: presigned requests of ``kafka-cluster:Connect``, for SASL OAUTHBEARER.

A token is the URL of a request that is signed with Signature Version 4, in Base64. It gives the permission to connect
for 15 minutes, and contains no secret key. Source: the signers of Amazon MSK (``aws-msk-iam-sasl-signer``).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache, partial, reduce
from typing import Any, Final
from urllib.parse import quote, urlencode

from topicwarden.model.problem import Refusal
from topicwarden.specs.stacks.connection_settings import AwsSettings

LIFETIME_S: Final = 900
"""The longest lifetime that MSK accepts."""
_SPACING_S: Final = 600
"""The time between two tokens of a series: each token is replaced well before its end."""
_SERIES_S: Final = 12 * 3600
"""The longest session of a role, so the longest time for which temporary credentials can sign."""
_SERVICE, _ALGORITHM = "kafka-cluster", "AWS4-HMAC-SHA256"


class NoAwsCredentials(Refusal):
    """There are no AWS credentials that can sign a token."""


def token(aws: AwsSettings, at: int | None = None) -> str:
    """Return a token that is valid for ``LIFETIME_S`` from ``at`` (seconds since the epoch; by default now).

    Raises NoAwsCredentials.
    """
    credentials = _frozen(aws)
    now = datetime.fromtimestamp(time.time() if at is None else at, UTC)
    day, stamp, host = f"{now:%Y%m%d}", f"{now:%Y%m%dT%H%M%SZ}", f"kafka.{aws.region}.amazonaws.com"
    scope = (day, aws.region, _SERVICE, "aws4_request")
    parameters = {
        "Action": f"{_SERVICE}:Connect",
        "X-Amz-Algorithm": _ALGORITHM,
        "X-Amz-Credential": "/".join((credentials.access_key, *scope)),
        "X-Amz-Date": stamp,
        "X-Amz-Expires": str(LIFETIME_S),
        **({"X-Amz-Security-Token": credentials.token} if credentials.token else {}),
        "X-Amz-SignedHeaders": "host",
    }
    query = urlencode(parameters, safe="-_.~", quote_via=quote)
    request = "\n".join(("GET", "/", query, f"host:{host}", "", "host", hashlib.sha256(b"").hexdigest()))
    text = "\n".join((_ALGORITHM, stamp, "/".join(scope), hashlib.sha256(request.encode()).hexdigest()))
    key = reduce(_hmac, scope, f"AWS4{credentials.secret_key}".encode())
    url = f"https://{host}/?{query}&X-Amz-Signature={_hmac(key, text).hex()}&User-Agent=topicwarden"
    return base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")


def token_series(aws: AwsSettings) -> str:
    """Return tokens for the next 12 hours, for processes without AWS credentials, such as Spark executors.

    Each one is ``<start in seconds>:<token>``, separated by commas. A token is not valid before its start.
    """
    now = int(time.time())
    return ",".join(f"{at}:{token(aws, at)}" for at in range(now, now + _SERIES_S, _SPACING_S))


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _frozen(aws: AwsSettings) -> Any:
    """Return credentials that are valid now: access key, secret key, and the session token of temporary ones."""
    try:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 -- an extra, and slow to import
    except ModuleNotFoundError as error:
        raise NoAwsCredentials(f"{error.name} is not installed: `pip install 'topicwarden[aws]'`") from error
    try:
        credentials = _credentials(aws)
        if credentials is None:
            raise NoAwsCredentials(
                "there are no AWS credentials: set AWS_PROFILE (in a stack file, kafka:saslAwsProfile), "
                "or run where a role is attached"
            )
        return credentials.get_frozen_credentials()
    except (BotoCoreError, ClientError) as error:
        raise NoAwsCredentials(f"no AWS credentials for {aws}: {error}") from error


@cache
def _credentials(aws: AwsSettings) -> Any:
    """Return the credentials of ``aws``, which renew themselves, or None; all clients of this process share them."""
    from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials  # noqa: PLC0415
    from botocore.session import Session  # noqa: PLC0415

    session = Session(profile=aws.profile)
    if aws.access_key and aws.secret_key:
        session.set_credentials(aws.access_key, aws.secret_key, aws.session_token)
    credentials = session.get_credentials()
    if aws.role_arn is None or credentials is None:
        return credentials
    arguments: Mapping[str, str] = {"ExternalId": aws.external_id} if aws.external_id else {}
    fetcher = AssumeRoleCredentialFetcher(
        partial(session.create_client, region_name=aws.region),
        credentials,
        aws.role_arn,
        extra_args={"RoleSessionName": "topicwarden", **arguments},
    )
    return DeferredRefreshableCredentials(fetcher.fetch_credentials, "assume-role")
