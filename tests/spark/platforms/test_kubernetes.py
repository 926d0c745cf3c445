"""Test which pods real ``spark-submit`` creates for the commands of docs/how-to/spark.md.

The API server is a stand-in, which records pods and starts none.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from tests.support import spark_page
from tests.support.clients import until
from tests.support.kubernetes_api import KubernetesApi, kubernetes_api
from tests.support.projects import BIN, Shell
from topicwarden.toolchain import Toolchain

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
    assert secrets["PULUMI_ACCESS_TOKEN"]["secretKeyRef"] == {"name": "pulumi", "key": "token"}


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
