"""Test which pods real ``spark-submit`` creates for the commands of docs/how-to/spark.md.

The API server is a stand-in, which records pods and starts none.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyspark
import pytest

from tests.support import spark_page
from tests.support.clients import until
from tests.support.projects import BIN, Shell
from topicwarden.toolchain import Toolchain


@dataclass
class KubernetesApi:
    """The objects that clients have created, by their path."""

    url: str = ""
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [one for one in list(self.objects.values()) if one.get("kind") == kind]

    def created(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        metadata = body.setdefault("metadata", {})
        metadata.setdefault("uid", f"uid-{len(self.objects)}")
        metadata.setdefault("resourceVersion", "1")
        metadata.setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
        name = metadata["name"]
        self.objects[path if path.endswith(f"/{name}") else f"{path}/{name}"] = body
        return body


@contextmanager
def kubernetes_api() -> Iterator[KubernetesApi]:
    api = KubernetesApi()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Log nothing."""

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            if path in api.objects:
                return self._answer(200, api.objects[path])
            if path.rsplit("/", 1)[-1] in ("pods", "configmaps", "services", "persistentvolumeclaims"):
                return self._answer(200, {"kind": "List", "apiVersion": "v1", "metadata": {}, "items": []})
            return self._answer(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404})

        def _write(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            self._answer(201, api.created(urlsplit(self.path).path, body))

        do_POST = do_PUT = do_PATCH = _write  # noqa: N815 -- the names that http.server calls

        def do_DELETE(self) -> None:
            self._answer(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

        def _answer(self, status: int, body: dict[str, Any]) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    api.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


IMAGE = "registry.example.com/orders-audit:1"
ENTRY_POINT = "/opt/topicwarden/audit.py"


@pytest.fixture
def api() -> Iterator[KubernetesApi]:
    with kubernetes_api() as server:
        yield server


def on(api: KubernetesApi, arguments: list[str]) -> list[str]:
    """Return ``arguments`` with the address of the stand-in."""
    master = next(word for word in arguments if "k8s://" in word)
    return [word.replace(master.partition("k8s://")[2], api.url) if word == master else word for word in arguments]


def test_in_cluster_mode_the_pod_of_the_driver_runs_the_audit(
    tools: Toolchain, api: KubernetesApi, tmp_path: Path
) -> None:
    assert tools.java
    (arguments,) = [one for one in spark_page.spark_submits() if "cluster" in one and "k8s://" in " ".join(one)]
    shell = Shell(tmp_path, {"KUBECONFIG": str(tmp_path / "none"), "SPARK_HOME": str(Path(pyspark.__file__).parent)})
    wait = ("--conf", "spark.kubernetes.submission.waitAppCompletion=false")
    done = shell.run(BIN / "spark-submit", *wait, *on(api, arguments))
    assert done.returncode == 0, done.stdout + done.stderr
    (pod,) = api.of_kind("Pod")
    assert f"/api/v1/namespaces/topicwarden/pods/{pod['metadata']['name']}" in api.objects
    assert pod["spec"]["serviceAccountName"] == "topicwarden-audit"
    (container,) = pod["spec"]["containers"]
    assert container["image"] == IMAGE
    assert container["args"][0] == "driver"
    job = container["args"][container["args"].index(f"local://{ENTRY_POINT}") :]
    assert job[1:] == arguments[arguments.index(f"local://{ENTRY_POINT}") + 1 :]
    secrets = {each["name"]: each["valueFrom"] for each in container["env"] if "secretKeyRef" in str(each)}
    assert {name: each["secretKeyRef"] for name, each in secrets.items()} == spark_page.secrets()


@pytest.mark.nightly("The suite keeps cluster mode, and test_commands.py what Spark reads from all commands.")
def test_in_client_mode_the_pod_of_the_cron_job_creates_executors(
    tools: Toolchain, api: KubernetesApi, tmp_path: Path
) -> None:
    """The driver is a process of this machine, which only starts a session: there is no broker."""
    assert tools.java
    container = spark_page.container()
    assert container["command"] == ["spark-submit"]
    driver = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "driver-pod", "namespace": "topicwarden"}}
    api.created("/api/v1/namespaces/topicwarden/pods", driver)
    job = tmp_path / "session.py"
    job.write_text(
        "import sys\nfrom pyspark.sql import SparkSession\n"
        "spark = SparkSession.builder.getOrCreate()\nsys.stdin.read()\nspark.stop()\n",
        encoding="utf-8",
    )
    values = {"POD_IP": "127.0.0.1", "POD_NAME": "driver-pod"}
    arguments = [word for word in container["args"] if not word.startswith("--driver-memory")]
    for name, value in values.items():
        arguments = [word.replace(f"$({name})", value) for word in arguments]
    arguments = [str(job) if word == ENTRY_POINT else word for word in on(api, arguments)]
    with subprocess.Popen(
        [BIN / "spark-submit", *arguments],
        cwd=tmp_path,
        env={**os.environ, "KUBECONFIG": str(tmp_path / "none"), "PYSPARK_PYTHON": sys.executable},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as submitted:
        try:
            until(lambda: len(api.of_kind("Pod")) == 5, "four executors are requested")
        finally:
            submitted.kill()
    executors = [pod for pod in api.of_kind("Pod") if pod["metadata"]["name"] != "driver-pod"]
    for pod in executors:
        (executor,) = pod["spec"]["containers"]
        assert (executor["image"], executor["args"]) == (IMAGE, ["executor"])
        (owner,) = pod["metadata"]["ownerReferences"]
        assert owner["name"] == "driver-pod"
        url = next(each["value"] for each in executor["env"] if each["name"] == "SPARK_DRIVER_URL")
        assert "@127.0.0.1:" in url
        given = {
            each["name"]: each["valueFrom"]["secretKeyRef"] for each in executor["env"] if "secretKeyRef" in str(each)
        }
        assert given == {name: each for name, each in spark_page.secrets().items() if name.startswith("AWS_")}
