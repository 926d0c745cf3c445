"""The servers around `topicwarden watch` in the demo: Prometheus, and a receiver of webhooks."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import urllib3

from topicwarden.child_processes import running
from topicwarden.extensions.sandbox.ports import free_port
from topicwarden.extensions.sandbox.sandbox_state import HOST
from topicwarden.model.problem import Refusal

OLDEST: Final = (2, 42)
"""The first version that knows all fields of our alert rules: ``keep_firing_for``."""
_UNPACKED: Final = Path("prometheus", "usr", "bin")
"""Where ``tests/install-prometheus`` unpacks Debian's package, in a cache."""
_PORTS_FROM: Final = 19_490
_READY_S: Final = 60.0
_PAUSE_S: Final = 0.1
_TIMEOUT_S: Final = 5.0


@dataclass(frozen=True)
class LocalPrometheus:
    """A running Prometheus with its ``url``."""

    url: str

    def firing(self, labels: Mapping[str, str]) -> dict[str, Any] | None:
        """Return the alert with ``labels`` that fires now, as the API has it; None if there is none."""
        return next(
            (
                alert
                for alert in self._get("/api/v1/alerts").get("alerts", ())
                if alert["state"] == "firing" and labels.items() <= alert["labels"].items()
            ),
            None,
        )

    def has(self, metric: str) -> bool:
        """Return whether ``metric`` has a sample now."""
        return bool(self._get(f"/api/v1/query?{urlencode({'query': metric})}").get("result"))

    def _get(self, path: str) -> Mapping[str, Any]:
        """Return the data of an answer; nothing if there is no answer now."""
        try:
            answer = urllib3.request("GET", self.url + path, timeout=_TIMEOUT_S, retries=False)
        except urllib3.exceptions.HTTPError:
            return {}
        data: Mapping[str, Any] = answer.json()["data"] if answer.status == 200 else {}
        return data


def find_prometheus(caches: Sequence[Path]) -> str:
    """Return the path of a Prometheus, in one of ``caches`` or on the PATH. Refuse if none is recent enough."""
    folders = [*(str(cache / _UNPACKED) for cache in caches), os.environ.get("PATH", os.defpath)]
    older = []
    for program in filter(None, (shutil.which("prometheus", path=path) for path in folders)):
        version = _version(program)
        if version and version >= OLDEST:
            return str(Path(program).absolute())  # it starts in another folder
        older.append(f"; {program} is {'.'.join(map(str, version)) if version else 'of an unknown version'}")
    raise Refusal(f"there is no Prometheus {'.'.join(map(str, OLDEST))} or later{''.join(older)}")


def _version(program: str) -> tuple[int, ...] | None:
    """Return the major and the minor version; None if the program does not say."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"version (\d+)\.(\d+)", done.stdout + done.stderr)
    return tuple(map(int, found.groups())) if found else None


@contextmanager
def running_prometheus(program: str, target: str, rules: str, folder: Path) -> Iterator[LocalPrometheus]:
    """Run a Prometheus during the block that scrapes ``http://<target>/metrics`` and evaluates ``rules``, its YAML.

    ``folder`` gets its files. Raises Refusal if it does not start.
    """
    (folder / "rules.yaml").write_text(rules, encoding="utf-8")
    settings = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(folder / "rules.yaml")],
        "scrape_configs": [{"job_name": "topicwarden", "static_configs": [{"targets": [target]}]}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
    address, log = f"{HOST}:{free_port(_PORTS_FROM)}", folder / "prometheus.log"
    command = [
        program,
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
    ]
    with running(command, folder, os.environ, log) as process:
        started = LocalPrometheus(f"http://{address}")
        until = time.monotonic() + _READY_S
        while process.poll() is None and not _answers(f"{started.url}/-/ready"):
            if time.monotonic() > until:
                raise Refusal(f"Prometheus ({program}) was not ready within {_READY_S:.0f} s")
            time.sleep(_PAUSE_S)
        if process.poll() is not None:
            lines = log.read_text("utf-8", errors="replace").splitlines()
            raise Refusal(f"Prometheus ({program}) has ended: {lines[-1] if lines else process.returncode}")
        yield started


def _answers(url: str) -> bool:
    try:
        return urllib3.request("GET", url, timeout=_TIMEOUT_S, retries=False).status == 200
    except urllib3.exceptions.HTTPError:
        return False


_MOST_BYTES: Final = 16 * 1024**2
_REQUEST_TIMEOUT_S: Final = 10.0


class WebhookReceiver(ThreadingHTTPServer):
    """Remembers the changes of notifications, on a free port of the loopback address."""

    def __init__(self) -> None:
        super().__init__((HOST, 0), _Handler)
        self.url = f"http://{HOST}:{self.server_address[1]}"
        self._changes: dict[tuple[str, str], dict[str, Any]] = {}

    def take(self, notification: dict[str, Any]) -> None:
        """Remember each change, instead of an earlier one of the same check on the same topic."""
        for change in notification["changes"]:
            known = change | {"report_url": notification["report_url"]}
            self._changes[change["topic"], change["check"]] = known

    def failing(self, topic: str, check: str) -> dict[str, Any] | None:
        """Return the change after which ``check`` fails on ``topic``; None if it does not fail now."""
        change = self._changes.get((topic, check))
        return change if change and change["change"] == "fail" else None


class _Handler(BaseHTTPRequestHandler):
    server: WebhookReceiver
    timeout = _REQUEST_TIMEOUT_S

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length", "0"))
        taken = size <= _MOST_BYTES
        if taken:
            self.server.take(json.loads(self.rfile.read(size)))
        self.send_response(HTTPStatus.OK if taken else HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def webhook_receiver() -> Iterator[WebhookReceiver]:
    """Run a receiver during the block."""
    with WebhookReceiver() as receiver:
        threading.Thread(target=receiver.serve_forever, args=(0.05,), name="webhook-receiver", daemon=True).start()
        try:
            yield receiver
        finally:
            receiver.shutdown()
