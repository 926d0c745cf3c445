"""Lint the systemd unit and the Kubernetes manifests of docs/examples."""

from __future__ import annotations

import configparser
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.documents import PARSER, leaves
from tests.support.projects import project_of
from topicwarden.extensions.watch.watch_operation import GRACE_S

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
UNIT = EXAMPLES / "topicwarden-watch.service"
OPEN = "0.0.0.0:9464"
_END_S = 10


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a project that has the stack of the examples."""
    monkeypatch.chdir(project_of(tmp_path / "project", {}).root)
    Path("stacks/Pulumi.prod.yaml").write_text("config: {}\n", encoding="utf-8")


def unit() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(UNIT.read_text(encoding="utf-8"))
    return parser


def documents() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((EXAMPLES / "watch-deployment.yaml").read_text(encoding="utf-8")))


def container() -> dict[str, Any]:
    (deployment,) = [each for each in documents() if each["kind"] == "Deployment"]
    (found,) = deployment["spec"]["template"]["spec"]["containers"]
    return dict(found)


def options(arguments: list[str]) -> dict[str, str | None]:
    """Return the options of a `topicwarden watch`, as the command line's own parser reads them."""
    assert arguments[0] == "watch"
    command = leaves(PARSER)["watch"]
    context = command.make_context("watch", arguments[1:], resilient_parsing=False)
    return dict(context.params)


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    copy = tmp_path / UNIT.name
    text = UNIT.read_text(encoding="utf-8").replace("/opt/topicwarden/bin/topicwarden", "/bin/true")
    copy.write_text(text.replace("User=topicwarden", f"User={Path.home().owner()}"), encoding="utf-8")
    done = subprocess.run([program, "verify", copy], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, [line for line in done.stderr.splitlines() if UNIT.name in line]) == (0, [])


def test_the_unit_starts_a_watch_and_lets_it_end() -> None:
    service = unit()["Service"]
    program, *arguments = shlex.split(service["ExecStart"])
    assert Path(program).name == "topicwarden"
    assert options(arguments)["listen"] == "127.0.0.1:9464"
    assert int(service["TimeoutStopSec"]) > _END_S > GRACE_S
    assert service["KillMode"] == "mixed"  # SIGTERM reaches the watch only, which ends its children


def test_the_deployment_runs_one_watch_with_a_token() -> None:
    (deployment,) = [each for each in documents() if each["kind"] == "Deployment"]
    spec = deployment["spec"]
    assert (spec["replicas"], spec["strategy"]["type"]) == (1, "Recreate")
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    assert spec["template"]["spec"]["terminationGracePeriodSeconds"] > _END_S
    given = options(container()["args"])
    assert given["listen"] == OPEN
    mounts = [each["mountPath"] for each in container()["volumeMounts"]]
    assert any(Path(str(given["token_file"])).is_relative_to(mount) for mount in mounts)


def test_probes_ports_volumes_and_selectors_fit_each_other() -> None:
    (deployment,) = [each for each in documents() if each["kind"] == "Deployment"]
    pod, watch = deployment["spec"]["template"]["spec"], container()
    (port,) = watch["ports"]
    assert port["containerPort"] == int(OPEN.rpartition(":")[2])
    for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        assert watch[probe]["httpGet"] == {"path": path, "port": port["name"]}
    assert {each["name"] for each in watch["volumeMounts"]} == {each["name"] for each in pod["volumes"]}
    claims = [each["metadata"]["name"] for each in documents() if each["kind"] == "PersistentVolumeClaim"]
    used = [each["persistentVolumeClaim"]["claimName"] for each in pod["volumes"] if "persistentVolumeClaim" in each]
    assert set(claims) <= set(used)
    (service,) = [each for each in documents() if each["kind"] == "Service"]
    assert service["spec"]["selector"] == deployment["spec"]["template"]["metadata"]["labels"]
    assert all(each.get("apiVersion") and each["metadata"]["name"] for each in documents())
