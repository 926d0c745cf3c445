"""Test that an audit refuses Spark sessions that it cannot use, and the jobs and manifests of docs/how-to/spark.md."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path

import pyspark
import pytest

from tests.support import documents, spark_page
from tests.support.command import topicwarden
from tests.support.projects import project_of
from topicwarden.audit.scan import spark_platform
from topicwarden.audit.scan.spark_platform import refuse_connect_session, refuse_unsupported, submitted
from topicwarden.model.problem import Refusal
from topicwarden.toolchain import spark_reader
from topicwarden.toolchain.spark_reader import LINES

CLASSIC = [
    {},
    {"PYSPARK_GATEWAY_PORT": "4711"},
    {"DATABRICKS_RUNTIME_VERSION": "17.3"},
    {"SPARK_API_MODE": "classic"},
    {"SPARK_CONNECT_MODE": "0"},
    {"SPARK_API_MODE": "classic", "SPARK_CONNECT_MODE": "1"},
]
CONNECT = {
    "SPARK_REMOTE": {"SPARK_REMOTE": "sc://spark.example.com:15002"},
    "SPARK_LOCAL_REMOTE": {"SPARK_LOCAL_REMOTE": "1"},
    "SPARK_CONNECT_MODE_ENABLED": {"SPARK_CONNECT_MODE_ENABLED": "1"},
    "SPARK_API_MODE=Connect": {"SPARK_API_MODE": "Connect", "SPARK_CONNECT_MODE": "0"},
    "SPARK_CONNECT_MODE=1": {"SPARK_CONNECT_MODE": "1"},
    "Databricks serverless compute": {"DATABRICKS_RUNTIME_VERSION": "client.4.9"},
}


@pytest.mark.parametrize("environment", CLASSIC)
def test_a_classic_session_is_accepted(environment: Mapping[str, str]) -> None:
    for master in (None, "local[2]", "yarn", "k8s://https://kubernetes.default.svc"):
        refuse_unsupported(master, environment)


@pytest.mark.parametrize("named", CONNECT)
def test_spark_connect_is_refused_by_its_variables(named: str) -> None:
    with pytest.raises(Refusal, match=named):
        refuse_unsupported(None, CONNECT[named])


@pytest.mark.parametrize(
    ("packages", "named"),
    [({"pyspark", "pyspark.core", "databricks.connect"}, "databricks-connect"), ({"pyspark"}, "pyspark-client")],
)
def test_packages_that_replace_pyspark_are_refused(
    packages: set[str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_platform, "find_spec", lambda name: ModuleSpec(name, None) if name in packages else None)
    with pytest.raises(Refusal, match=named):
        refuse_unsupported(None, {})


def test_databricks_own_runtime_may_contain_databricks_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_platform, "find_spec", lambda name: ModuleSpec(name, None))
    refuse_unsupported(None, {"DATABRICKS_RUNTIME_VERSION": "17.3"})


def test_a_spark_connect_session_is_refused() -> None:
    session = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(Refusal, match="this platform offers only Spark Connect"):
        refuse_connect_session(session)
    refuse_connect_session(type("SparkSession", (), {"__module__": "pyspark.sql.session"})())


def test_spark_connect_is_refused_before_the_declarations_are_read(tmp_path: Path) -> None:
    done = topicwarden("audit", "--stack", "no-such-stack", "--master", "sc://spark.example.com", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "--master sc://spark.example.com is an address of Spark Connect" in done.err


@pytest.mark.parametrize("version", ["3.5.6", "5.0.0", "4.3.0.dev1"])
def test_an_unsupported_spark_is_named_before_the_declarations_are_read(
    version: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    project = project_of(tmp_path / "project", {"a.yaml": "partitions: none\n"}, "config: {}\n")
    monkeypatch.setattr(pyspark, "__version__", version)
    done = topicwarden("audit", "--stack", "dev", cwd=project.root)
    assert (done.code, done.out) == (2, "")
    assert f"the audit supports Spark {', '.join(spark_reader.LINES)}, found pyspark {version}" in done.err


def test_only_a_python_that_spark_has_started_is_submitted() -> None:
    assert submitted({"PYSPARK_GATEWAY_PORT": "4711"})
    assert submitted({"DATABRICKS_RUNTIME_VERSION": "17.3"})
    assert not submitted({"SPARK_ENV_LOADED": "1"})


def test_an_audit_finds_a_project_in_another_folder(tmp_path: Path) -> None:
    done = topicwarden("audit", "--stack", "dev", "--project", tmp_path / "missing", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert f"no project at {tmp_path / 'missing'} or above it" in done.err
    project = project_of(tmp_path / "project", {"a.yaml": "partitions: none\n"}, "config: {}\n")
    done = topicwarden("audit", "--stack", "dev", "--project", project.root, cwd=tmp_path)
    assert done.code == 2
    assert "no project" not in done.err


def test_the_page_has_every_platform() -> None:
    assert len(list(spark_page.spark_submits())) == 8
    assert len(list(spark_page.audits())) == 10


@pytest.mark.parametrize("arguments", list(spark_page.audits()), ids=" ".join)
def test_each_job_has_options_that_the_audit_accepts(arguments: list[str]) -> None:
    assert documents.problem(["audit", *arguments]) is None
    options = {word.partition("=")[0] for word in arguments}
    assert "--stack" in options
    assert "--history" in options


@pytest.mark.parametrize("block", spark_page.blocks("sh"))
def test_a_shell_accepts_each_command(block: str) -> None:
    subprocess.run(["bash", "-n", "-c", block], check=True)


def test_the_manifests_belong_together() -> None:
    by_kind = {each["kind"]: each for each in spark_page.manifests()}
    account = by_kind["ServiceAccount"]["metadata"]
    assert all(each["metadata"]["namespace"] == account["namespace"] for each in by_kind.values())
    assert by_kind["RoleBinding"]["subjects"] == [{"kind": "ServiceAccount", **account}]
    assert by_kind["RoleBinding"]["roleRef"]["name"] == by_kind["Role"]["metadata"]["name"]
    pod = by_kind["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == account["name"]
    container = spark_page.container()
    assert f"--conf=spark.kubernetes.container.image={container['image']}" in container["args"]
    named = {each["name"] for each in container["env"]}
    assert {word for word in named if f"$({word})" in " ".join(container["args"])} == {"POD_IP", "POD_NAME"}


def test_every_key_of_a_secret_is_created_by_a_command_of_the_page() -> None:
    commands = [block for block in spark_page.blocks("sh") if "create secret" in block]
    created = {
        (words[words.index("generic") + 1], word.removeprefix("--from-literal=").partition("=")[0])
        for line in "".join(commands).replace("\\\n", " ").splitlines()
        if "secret" in (words := shlex.split(line))
        for word in words
        if word.startswith("--from-literal=")
    }
    assert created == {(each["name"], each["key"]) for each in spark_page.secrets().values()}


def test_the_file_system_of_the_history_has_the_version_of_sparks_hadoop() -> None:
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    version = jar.stem.removeprefix("hadoop-client-api-")
    (pom,) = spark_page.blocks("xml")
    assert f"<artifactId>hadoop-aws</artifactId>\n      <version>{version}</version>" in pom
    assert f"Spark {pyspark.__version__} with Hadoop {version}" in " ".join(
        spark_page.PAGE.read_text(encoding="utf-8").split()
    )


def test_the_image_of_the_audit_has_the_parts_of_a_project() -> None:
    (dockerfile,) = spark_page.blocks("dockerfile")
    copied = set(re.findall(r"^COPY --chown=1001:0 (\S+) /project", dockerfile, re.MULTILINE))
    assert copied == {"Pulumi.yaml", "topics", "policies", "stacks"}
    assert spark_page.container()["args"].count("--project=/project") == 1


def test_archives_have_the_names_that_the_options_use() -> None:
    for arguments in spark_page.spark_submits():
        text = shlex.join(arguments)
        assert ("#environment" in text) == ("./environment/bin/python" in text)
        assert ("#project" in text) == ("--project project" in text)


def test_the_page_names_the_supported_lines() -> None:
    text = spark_page.PAGE.read_text(encoding="utf-8")
    assert f"{', '.join(LINES[:-1])} or {LINES[-1]}, with a classic session" in text
    assert [json.loads(block) for block in spark_page.blocks("json")]
