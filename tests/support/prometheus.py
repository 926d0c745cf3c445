"""Run a real Prometheus and a real Alertmanager on loopback; ``tests/install-prometheus`` provides both."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

T = TypeVar("T")

_UNPACKED: Final = Path(__file__).parents[2] / ".cache" / "prometheus" / "usr" / "bin"
_PROGRAMS: Final[Mapping[str, tuple[str, ...]]] = {
    "prometheus": ("prometheus",),
    "promtool": ("promtool",),
    "alertmanager": ("alertmanager", "prometheus-alertmanager"),
    "amtool": ("amtool",),
}
"""The programs with their names, as in the releases and as in Debian."""
_TEMPLATES: Final = Path("/usr/share/prometheus/alertmanager/default.tmpl")
"""The file without which Debian's Alertmanager does not start."""
_DEADLINE_S: Final = 60


def missing() -> list[str]:
    """Return the programs that cannot run: neither unpacked in ``.cache/prometheus`` nor on the PATH."""
    return [name for name in _PROGRAMS if _found(name) is None]


def program(name: str) -> str:
    """Return the path of a program; if it is missing, skip the test with instructions."""
    path = _found(name)
    if path is None:
        pytest.skip(f"not installed: {name}; run tests/install-prometheus")
    return path


def _found(name: str) -> str | None:
    usable = name != "alertmanager" or _TEMPLATES.is_file()
    unpacked = [shutil.which(each, path=str(_UNPACKED)) for each in _PROGRAMS[name] if usable]
    return next((path for path in (*unpacked, *map(shutil.which, _PROGRAMS[name])) if path), None)


def run_tool(*command: str, text: str | None = None) -> str:
    """Run ``promtool`` or ``amtool``, and return its output; ``text`` is its input. Fail if it reports a problem."""
    done = subprocess.run(
        [program(command[0]), *command[1:]],
        input=text,
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@dataclass(frozen=True)
class Monitoring:
    """A Prometheus with the URL ``prometheus``, and an Alertmanager with the URL ``alertmanager``."""

    prometheus: str
    alertmanager: str

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the series that an expression has now. Fail if Prometheus refuses the expression."""
        found: list[dict[str, Any]] = _json(
            f"{self.prometheus}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
        )["data"]["result"]
        return found

    def label_values(self, label: str, selector: str) -> list[str]:
        """Return the values of a label in the series of ``selector``, as Grafana reads those of a variable."""
        query = urllib.parse.urlencode({"match[]": selector})
        values: list[str] = _json(f"{self.prometheus}/api/v1/label/{label}/values?{query}")["data"]
        return values

    def targets(self) -> dict[str, dict[str, Any]]:
        """Return the state of the scraped targets, by job."""
        return {
            each["labels"]["job"]: each for each in _json(f"{self.prometheus}/api/v1/targets")["data"]["activeTargets"]
        }

    def alerts(self) -> list[dict[str, str]]:
        """Return the labels of the alerts that fire in Prometheus."""
        alerts = _json(f"{self.prometheus}/api/v1/alerts")["data"]["alerts"]
        return [each["labels"] for each in alerts if each["state"] == "firing"]

    def firing(self) -> dict[str, dict[str, str]]:
        """Return the same, by the name of the alert."""
        return {each["alertname"]: each for each in self.alerts()}

    def received(self) -> dict[str, dict[str, Any]]:
        """Return the alerts that Alertmanager has received, by the name of the alert."""
        return {each["labels"]["alertname"]: each for each in _json(f"{self.alertmanager}/api/v2/alerts")}


@contextmanager
def monitoring(folder: Path, targets: Mapping[str, str], rules: Path) -> Iterator[Monitoring]:
    """Yield a Prometheus that scrapes ``targets`` (host, port and path, by job) and evaluates ``rules`` each second."""
    metrics, alerts = (f"127.0.0.1:{port}" for port in _free_ports(2))
    routes = folder / "alertmanager.yml"
    routes.write_text(json.dumps({"route": {"receiver": "nobody"}, "receivers": [{"name": "nobody"}]}), "utf-8")
    run_tool("amtool", "check-config", str(routes))
    settings = folder / "prometheus.yml"
    content = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(rules)],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [alerts]}]}]},
        "scrape_configs": [
            {
                "job_name": job,
                "metrics_path": "/" + target.partition("/")[2],
                "static_configs": [{"targets": [target.partition("/")[0]]}],
            }
            for job, target in targets.items()
        ],
    }
    settings.write_text(json.dumps(content), "utf-8")  # JSON is YAML
    run_tool("promtool", "check", "config", str(settings))
    with ExitStack() as stack:
        stack.enter_context(
            _process(
                folder / "alertmanager.log",
                [
                    *(program("alertmanager"), f"--config.file={routes}", f"--storage.path={folder / 'alerts'}"),
                    *(f"--web.listen-address={alerts}", "--cluster.listen-address="),
                ],
            )
        )
        stack.enter_context(
            _process(
                folder / "prometheus.log",
                [
                    *(program("prometheus"), f"--config.file={settings}", f"--storage.tsdb.path={folder / 'data'}"),
                    f"--web.listen-address={metrics}",
                ],
            )
        )
        started = Monitoring(f"http://{metrics}", f"http://{alerts}")
        eventually(lambda: _answers(f"{started.prometheus}/-/ready"))
        eventually(lambda: _answers(f"{started.alertmanager}/-/ready"))
        yield started


def eventually(condition: Callable[[], T]) -> T:
    """Return the first true result of ``condition``; fail after a minute."""
    deadline = time.monotonic() + _DEADLINE_S
    while not (result := condition()):
        assert time.monotonic() < deadline, f"never true: {result}"
        time.sleep(0.2)
    return result


@contextmanager
def _process(log: Path, command: list[str]) -> Iterator[None]:
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            yield
        except BaseException:
            print(log.read_text("utf-8", errors="replace")[-4_000:])
            raise
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def _free_ports(number: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _json(url: str) -> Any:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        pytest.fail(f"{url}: {error.read().decode()}")
