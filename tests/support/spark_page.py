"""The commands, jobs and manifests of docs/how-to/spark.md."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import yaml

from tests.conftest import REPOSITORY

PAGE = REPOSITORY / "docs" / "how-to" / "spark.md"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ENTRY_POINT = re.compile(r"(^|/)(audit|__main__)\.py$")


def blocks(language: str) -> list[str]:
    return [text for kind, text in _BLOCK.findall(PAGE.read_text(encoding="utf-8")) if kind == language]


def manifests() -> list[Any]:
    """Return the manifests for Kubernetes."""
    (block,) = blocks("yaml")
    return list(yaml.safe_load_all(block))


def container() -> dict[str, Any]:
    """Return the container of the CronJob."""
    (job,) = [each for each in manifests() if each["kind"] == "CronJob"]
    found: dict[str, Any] = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]
    return found


def secrets() -> dict[str, dict[str, str]]:
    """Return the references to keys of secrets in the container of the CronJob, by the name of the variable."""
    return {
        each["name"]: each["valueFrom"]["secretKeyRef"]
        for each in container()["env"]
        if "secretKeyRef" in each["valueFrom"]
    }


def spark_submits() -> Iterator[list[str]]:
    """Yield the arguments of every ``spark-submit``: commands, the CronJob, and the steps of EMR."""
    for block in blocks("sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line)
            if "spark-submit" in words:
                yield words[words.index("spark-submit") + 1 :]
    yield container()["args"]
    for job in map(json.loads, blocks("json")):
        if isinstance(job, list):
            yield from (step["Args"][1:] for step in job)
        elif driver := job.get("sparkSubmit") or job.get("sparkSubmitJobDriver"):
            submit = shlex.split(driver["sparkSubmitParameters"])
            yield ["--master", "local", *submit, driver["entryPoint"], *driver["entryPointArguments"]]


def audits() -> Iterator[list[str]]:
    """Yield the arguments of every job for ``topicwarden audit``."""
    for arguments in spark_submits():
        entry = next(number for number, word in enumerate(arguments) if ENTRY_POINT.search(word))
        yield arguments[entry + 1 :]
    (gcloud,) = [block for block in blocks("sh") if "gcloud" in block]
    words = shlex.split(gcloud.replace("\\\n", " "))
    yield words[words.index("--") + 1 :]
    (databricks,) = [job for job in map(json.loads, blocks("json")) if "tasks" in job]
    yield from (task["spark_python_task"]["parameters"] for task in databricks["tasks"])
