"""Install the tools that are not Python packages: Kafka's jars, the Spark reader, and Pulumi with its Kafka plugin."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from topicwarden.kafka.connection import SANDBOX_PASSPHRASE, on_sandbox
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.toolchain import jars, prerequisites, pulumi_cli, spark_reader

PASSPHRASES = {"PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"}


@dataclass(frozen=True)
class Toolchain:
    """The paths of the installed tools: two executables, Kafka's jars, and Pulumi's home folder."""

    java: Path
    kafka_jars: Path
    pulumi: Path
    pulumi_home: Path


def install(project: Project, say: Callable[[str], None]) -> Toolchain:
    """Install the missing tools into the project's cache, and return all paths. Installed tools are not changed.

    ``say`` receives each line of progress. Raises Refusal if a prerequisite is missing or a download fails.
    """
    project.cache.mkdir(parents=True, exist_ok=True)
    with _install_lock(project.cache):
        choice = pulumi_cli.choose(project.cache)
        lacking = jars.missing(project.cache)
        lines = spark_reader.missing(project)
        builds = choice.source is pulumi_cli.PulumiSource.BUILD and choice.present is None
        prerequisites.require(maven=bool(lacking or lines), go=builds)
        for name in lacking:
            jars.fetch(project.cache, name, say)
        for line in lines:
            spark_reader.build(project, line, say)
        pulumi_cli.install(project.cache, choice, say)
    return toolchain(project)


def toolchain(project: Project) -> Toolchain:
    """Return the paths of the installed tools; install nothing. Raises Refusal with the names of missing tools."""
    cache = project.cache
    java, pulumi = prerequisites.find_java(), pulumi_cli.present(cache)
    lacking = [f"jars of {name}" for name in jars.missing(cache)]
    lacking += [f"the reader for Spark {line}" for line in spark_reader.missing(project)]
    if java is None or pulumi is None or lacking:
        lacking += [name for name, found in (("a JDK, 17 or newer", java), ("Pulumi", pulumi)) if found is None]
        raise Refusal(f"not installed: {', '.join(lacking)}; run `topicwarden sandbox install`")
    return Toolchain(java, jars.folder(cache, "kafka"), pulumi, pulumi_cli.home(cache))


def environment(project: Project, stack: str | None = None) -> dict[str, str]:
    """Return the environment variables that ``pulumi``, Python and Spark need in addition to ``os.environ``.

    A backend and a passphrase that the user has set are not changed. The sandbox's passphrase is included only for a
    ``stack`` on the sandbox; without ``stack``, only if every stack of the project is on the sandbox.
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
def _install_lock(cache: Path) -> Iterator[None]:
    """Lock ``cache`` for one installation at a time. The operating system releases the lock of a killed process."""
    with FileLock(cache / ".install.lock", fallback_to_soft=False):
        yield
