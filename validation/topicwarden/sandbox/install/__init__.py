"""Installs what no Python package brings: Kafka's jars, the Spark reader, and Pulumi with its Kafka plug-in."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from topicwarden.kafka.connection import SANDBOX_PASSPHRASE, on_sandbox
from topicwarden.problem import Refusal
from topicwarden.project import Project
from topicwarden.sandbox.install import jars, prerequisites, pulumi_cli, spark_reader

PASSPHRASES = {"PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"}


@dataclass(frozen=True)
class Toolchain:
    """Where everything lies: two executables, Kafka's jars, and Pulumi's home."""

    java: Path
    kafka_jars: Path
    pulumi: Path
    pulumi_home: Path


def install(project: Project, say: Callable[[str], None]) -> Toolchain:
    """Installs what is missing into the project's cache; what is there already stays untouched.

    ``say`` takes each line of progress. Raises Refusal where the machine lacks something, or a download failed.
    """
    project.cache.mkdir(parents=True, exist_ok=True)
    with _alone(project.cache):
        choice = pulumi_cli.choose(project.cache)
        lacking = jars.missing(project.cache)
        lines = spark_reader.missing(project)
        builds = choice.way is pulumi_cli.Way.BUILD and choice.present is None
        prerequisites.require(maven=bool(lacking or lines), go=builds)
        for name in lacking:
            jars.fetch(project.cache, name, say)
        for line in lines:
            spark_reader.build(project, line, say)
        pulumi_cli.install(project.cache, choice, say)
    return toolchain(project)


def toolchain(project: Project) -> Toolchain:
    """What is installed; only looks. Raises Refusal that names what is missing."""
    cache = project.cache
    java, pulumi = prerequisites.find_java(), pulumi_cli.present(cache)
    lacking = [f"jars of {name}" for name in jars.missing(cache)]
    lacking += [f"the reader for Spark {line}" for line in spark_reader.missing(project)]
    if java is None or pulumi is None or lacking:
        lacking += [name for name, found in (("a JDK, 17 or newer", java), ("Pulumi", pulumi)) if found is None]
        raise Refusal(f"not installed: {', '.join(lacking)}; run `topicwarden sandbox install`")
    return Toolchain(java, jars.folder(cache, "kafka"), pulumi, pulumi_cli.home(cache))


def environment(project: Project, stack: str | None = None) -> dict[str, str]:
    """The variables of the project's shell: what ``pulumi``, Python and Spark are to see, on top of today's.

    A backend and a passphrase that the user has set are left alone. The sandbox's passphrase is among them only for a
    ``stack`` on the sandbox; without a stack, only if every stack of the project is on the sandbox.
    """
    tools = toolchain(project)
    state = pulumi_cli.state(project.cache)
    state.mkdir(parents=True, exist_ok=True)
    path = [str(tools.pulumi.parent), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    variables = {
        "PATH": os.pathsep.join(path),
        "SPARK_CONF_DIR": str(project.spark_conf),
        "PULUMI_HOME": str(tools.pulumi_home),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_BACKEND_URL": os.environ.get("PULUMI_BACKEND_URL", state.as_uri()),
    }
    stacks = project.stack_names() if stack is None else [stack]
    if stacks and not PASSPHRASES & os.environ.keys() and all(on_sandbox(project, each) for each in stacks):
        variables["PULUMI_CONFIG_PASSPHRASE"] = SANDBOX_PASSPHRASE
    java_home = tools.java.parent.parent
    if (java_home / "lib" / "modules").is_file():
        variables["JAVA_HOME"] = str(java_home)
    return variables


@contextmanager
def _alone(cache: Path) -> Iterator[None]:
    """Lets one installation at a time work on a cache; the system frees the lock of one that was killed."""
    with (cache / ".install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
