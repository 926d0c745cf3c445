"""A stand-in for Amazon MSK's authentication with IAM: a broker's listener, and a server that verifies signatures.

The signatures are verified with AWS's own library, which topicwarden does not use to sign.
"""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from zipfile import ZipFile

from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.support.java_programs import compiled

REGION, ACCESS_KEY = "eu-central-1", "AKIAIOSFODNN7EXAMPLE"
SECRET_KEY, SESSION_TOKEN = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "session+token/of=the=test"
_SOURCE = Path(__file__).with_name("TokenCheck.java")
_SKEW_S = 300


def problem_of(token: str, now: float) -> str | None:
    """Return why MSK would refuse ``token`` at ``now``; None if it would accept the token."""
    url = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
    parts = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(parts.query, strict_parsing=True).items()}
    signed_at = datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
    scope = f"{query['X-Amz-Date'][:8]}/{REGION}/kafka-cluster/aws4_request"
    expected = {
        "Action": "kafka-cluster:Connect",
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": f"{ACCESS_KEY}/{scope}",
        "X-Amz-Expires": "900",
        "X-Amz-Security-Token": SESSION_TOKEN,
        "X-Amz-SignedHeaders": "host",
    }
    if (parts.scheme, parts.netloc, parts.path) != ("https", f"kafka.{REGION}.amazonaws.com", "/"):
        return f"the address is {parts.scheme}://{parts.netloc}{parts.path}"
    if wrong := {name: query.get(name) for name, value in expected.items() if query.get(name) != value}:
        return f"expected {expected}, got {wrong}"
    if not signed_at - _SKEW_S <= now < signed_at + 900:
        return f"signed at {signed_at}, and used at {now}"
    return None if query["X-Amz-Signature"] == _signature(url, query["X-Amz-Date"]) else "the signature is wrong"


def _signature(url: str, stamp: str) -> str:
    request = AWSRequest("GET", url.partition("&X-Amz-Signature=")[0])
    request.context["timestamp"] = stamp
    signer = SigV4QueryAuth(Credentials(ACCESS_KEY, SECRET_KEY, SESSION_TOKEN), "kafka-cluster", REGION)
    text = signer.string_to_sign(request, signer.canonical_request(request))
    return str(signer.signature(text, request))


@contextmanager
def token_check() -> Iterator[str]:
    """Serve the check, and yield its URL: it answers with the end of a right token, in milliseconds."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            token = self.rfile.read(int(self.headers["Content-Length"])).decode()
            refused = problem_of(token, time.time())
            self.send_response(403 if refused else 200)
            self.end_headers()
            self.wfile.write((refused or str(int(time.time() + 600) * 1000)).encode())

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def jars_with_check(java: Path, jars: Path, folder: Path) -> Path:
    """Return ``folder`` with links to Kafka's ``jars``, and a jar of the listener's class."""
    folder.mkdir(parents=True)
    with ZipFile(folder / "token-check.jar", "w") as jar:
        for file in compiled(java, _SOURCE, f"{jars}/*").glob("*.class"):
            jar.write(file, file.name)
    for installed in jars.resolve().glob("*.jar"):
        (folder / installed.name).symlink_to(installed)
    return folder
