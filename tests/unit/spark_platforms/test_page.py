"""Test that the jobs and manifests of docs/how-to/spark.md are complete, and that their options exist."""

from __future__ import annotations

import json
import shlex
import subprocess

import pytest

from tests.support import documents, spark_page
from topicwarden.toolchain.spark_reader import LINES


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


def test_archives_have_the_names_that_the_options_use() -> None:
    for arguments in spark_page.spark_submits():
        text = shlex.join(arguments)
        assert ("#environment" in text) == ("./environment/bin/python" in text)
        assert ("#project" in text) == ("--project project" in text)


def test_the_page_names_the_supported_lines() -> None:
    text = spark_page.PAGE.read_text(encoding="utf-8")
    assert f"{', '.join(LINES[:-1])} or {LINES[-1]}, with a classic session" in text
    assert [json.loads(block) for block in spark_page.blocks("json")]
