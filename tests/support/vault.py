"""A stand-in for Vault, which keeps the key of a stack's secrets.

Pulumi derives the key from a passphrase in each command otherwise, with a million hashes: more than half of the CPU
time of a small deploy.
"""

from __future__ import annotations

import json
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Final

SECRETS_PROVIDER: Final = "hashivault://tests"
"""A secrets provider of Pulumi's stacks. Its commands need ``vault_variables``."""
_PREFIX: Final = "vault:v1:"


@cache
def vault_variables() -> dict[str, str]:
    """Start the Vault of this process, and return the variables with which Pulumi finds it and uses it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Transit)
    Thread(target=server.serve_forever, name="vault", daemon=True).start()
    return {
        "VAULT_ADDR": f"http://127.0.0.1:{server.server_port}",
        "VAULT_TOKEN": "of the tests",
        "PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER": "true",
    }


class _Transit(BaseHTTPRequestHandler):
    """The two requests of Vault's engine for encryption, which only adds a prefix here."""

    def do_PUT(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.startswith("/v1/transit/encrypt/"):
            self._answer({"ciphertext": _PREFIX + request["plaintext"]})
        else:
            self._answer({"plaintext": request["ciphertext"].removeprefix(_PREFIX)})

    def _answer(self, data: dict[str, Any]) -> None:
        body = json.dumps({"data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""
