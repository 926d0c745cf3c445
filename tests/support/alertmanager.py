"""A real Alertmanager on loopback; where none is installed, a stand-in with the same rules for alerts."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from tests.support.http_answers import Request, answering, http
from tests.support.notices import eventually

_UNPACKED: Final = Path(__file__).parents[2] / ".cache" / "prometheus" / "usr" / "bin"
_NAMES: Final = ("prometheus-alertmanager", "alertmanager")
_TEMPLATES: Final = Path("/usr/share/prometheus/alertmanager/default.tmpl")
"""The file without which Debian's Alertmanager does not start."""
CONFIGURATION: Final = "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n"


@dataclass
class AlertStore:
    """An Alertmanager: its URL, and whether it is the stand-in."""

    url: str
    stand_in: bool
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def firing(self) -> dict[tuple[str, str], str]:
        """Return the verdicts of the alerts that fire, by topic and check."""
        return {(each["topic"], each["check"]): each["verdict"] for each in self.labels()}

    def labels(self) -> list[dict[str, str]]:
        """Return the labels of each alert that fires."""
        return [alert["labels"] for alert in self.alerts()]

    def alerts(self) -> list[dict[str, Any]]:
        """Return each alert that fires."""
        with urllib.request.urlopen(f"{self.url}/api/v2/alerts", timeout=30) as answer:
            return list(json.load(answer))


def find_alertmanager() -> str | None:
    """Return the program, on the PATH or unpacked in ``.cache``; None if there is none."""
    unpacked = shutil.which(_NAMES[0], path=str(_UNPACKED)) if _TEMPLATES.is_file() else None
    return next((path for path in (unpacked, *map(shutil.which, _NAMES)) if path), None)


@contextmanager
def alertmanager(folder: Path) -> Iterator[AlertStore]:
    """Run an Alertmanager with its data in ``folder``."""
    program = find_alertmanager()
    if program is None:
        with _stand_in() as url:
            yield AlertStore(url, stand_in=True)
        return
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "alertmanager.yml").write_text(CONFIGURATION)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                program,
                f"--config.file={folder / 'alertmanager.yml'}",
                f"--storage.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
                "--cluster.listen-address=",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        url = f"http://127.0.0.1:{port}"
        eventually(lambda: process.poll() is not None or _ready(url))
        assert process.poll() is None, (folder / "log").read_text()
        yield AlertStore(url, stand_in=False, process=process)
    finally:
        process.terminate()
        process.wait(30)


def _ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/-/ready", timeout=5):
            return True
    except OSError:
        return False


@contextmanager
def _stand_in() -> Iterator[str]:
    """Run a server with the rules of Alertmanager for alerts: identity by labels, and the end of an alert."""
    stored: dict[str, dict[str, Any]] = {}

    def answer(request: Request) -> bytes:
        if request.method == "GET":
            now = time.time()
            firing = [alert for alert in stored.values() if datetime.fromisoformat(alert["endsAt"]).timestamp() > now]
            return http(firing)
        for alert in request.json:
            if not alert["labels"].get("alertname") or alert["endsAt"] < alert["startsAt"]:
                return http({"code": 400}, "400 Bad Request")
            stored[json.dumps(alert["labels"], sort_keys=True)] = alert
        return http({})

    with answering(answer) as server:
        yield server.url
