"""Provide the tools that are not Python packages: Java, Kafka's jars, the Spark reader, and Pulumi."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from topicwarden.kafka.connect.stack_connection import NO_PULUMI, SANDBOX_PASSPHRASE, on_sandbox
from topicwarden.model.problem import Refusal
from topicwarden.model.project import CACHE, Project
from topicwarden.toolchain import apicurio, jars, prerequisites, pulumi_cli, spark_reader

PASSPHRASES = {"PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"}
BACKENDS = {"PULUMI_BACKEND_URL", "PULUMI_ACCESS_TOKEN"}
"""Variables with which a user chooses a backend for the state."""

_CHECKER = "io.topicwarden.reader.compatibility.CompatibilityJudge"
_CHECKER_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dslf4j.internal.verbosity=ERROR")


@dataclass(frozen=True)
class Toolchain:
    """The paths of the installed tools: two executables, and Kafka's jars."""

    java: Path
    kafka_jars: Path
    pulumi: Path


def install(project: Project, say: Callable[[str], None], jars_from: Path | None = None) -> Toolchain:
    """Install the missing tools into the cache of the user, and return all paths. Installed tools are not changed.

    ``jars_from`` is a folder that has Kafka's jars. ``say`` receives each line of progress. Raises Refusal if a
    prerequisite is missing or a download fails, and in a source checkout without the jar of the Spark reader.
    """
    cache = project.tools_cache
    if spark_reader.outdated(project):
        raise Refusal(f"the Spark reader is not built from the sources of this checkout; {spark_reader.BUILD}")
    with _install_lock(cache, say):
        choice = pulumi_cli.choose(cache)
        builds = choice.source is pulumi_cli.PulumiSource.BUILD and choice.present is None
        prerequisites.require(maven=False, go=builds)
        parts: list[tuple[str, Callable[[], object]]] = []
        if not jars.present(cache):
            parts.append(("Kafka's jars", partial(jars.fetch, cache, say, jars_from)))
        with ThreadPoolExecutor(max_workers=1) as background:  # Go compiles while the others wait for the network
            pulumi = background.submit(pulumi_cli.install, cache, choice, say)
            if builds:
                parts.append(("Pulumi", pulumi.result))
            for number, (_, run) in enumerate(parts, 1):
                run()
                if remaining := ", ".join(name for name, _ in parts[number:]):
                    say(f"installed {number} of {len(parts)} parts; remaining: {remaining}")
            pulumi.result()
    return toolchain(project)


def kafka_jars(project: Project, say: Callable[[str], None]) -> Path:
    """Return the folder of Kafka's jars; download them first if they are missing. Raises Refusal if that fails."""
    cache = project.tools_cache
    if not jars.present(cache):
        with _install_lock(cache, say):
            if not jars.present(cache):
                jars.fetch(cache, say)
    return jars.folder(cache)


def schema_checker(project: Project, say: Callable[[str], None]) -> list[str]:
    """Return the command that compares schemas: see ``specs/record_schemas/schema_compatibility.py`` for its arguments.

    Downloads Apicurio Registry, which has the checkers, first if it is missing. Raises Refusal if that fails, or if
    Java or the jar of the Spark reader, which has the command's class, is missing.
    """
    cache, reader = project.tools_cache, spark_reader.find_jar(project)
    java = prerequisites.require_java()
    if reader is None:
        raise Refusal(f"schemas cannot be compared: {spark_reader.problem(project, spark_reader.LINES[-1])}")
    jars_of_registry = apicurio.fetch(cache, say) / "lib" / "main"
    class_path = os.pathsep.join([f"{jars_of_registry}{os.sep}*", str(reader)])
    return [str(java), *_CHECKER_OPTIONS, "-cp", class_path, _CHECKER]


def toolchain(project: Project) -> Toolchain:
    """Return the paths of the installed tools; install nothing. Raises Refusal with the names of missing tools."""
    cache = project.tools_cache
    java, pulumi = prerequisites.find_java(), pulumi_cli.present(cache)
    lacking = [] if jars.present(cache) else ["Kafka's jars"]
    lacking += ["the Spark reader"] if spark_reader.outdated(project) else []
    if java is None or pulumi is None or lacking:
        lacking += [name for name, found in (("Java, 17 or newer", java), ("Pulumi", pulumi)) if found is None]
        raise Refusal(f"not installed: {', '.join(lacking)}; run `topicwarden sandbox install`")
    return Toolchain(java, jars.folder(cache), pulumi)


def environment(project: Project, stack: str | None = None) -> dict[str, str]:
    """Return the environment variables that ``pulumi``, Python and Spark need in addition to ``os.environ``.

    A backend and a passphrase that the user has set are not changed. The sandbox's passphrase is included only for a
    ``stack`` on the sandbox; without ``stack``, only if every stack of the project is on the sandbox. Raises Refusal if
    Pulumi is not installed.
    """
    pulumi = pulumi_cli.present(project.tools_cache) or shutil.which("pulumi")
    if pulumi is None:
        raise Refusal(NO_PULUMI)
    state = pulumi_cli.state(project.cache)
    state.mkdir(parents=True, exist_ok=True)
    path = [str(Path(pulumi).parent), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    variables = {
        "PATH": os.pathsep.join(path),
        "SPARK_CONF_DIR": str(project.spark_conf),
        "PULUMI_HOME": str(pulumi_cli.home(project.tools_cache)),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_BACKEND_URL": os.environ.get("PULUMI_BACKEND_URL", state.as_uri()),
    }
    stacks = project.stack_names() if stack is None else [stack]
    if stacks and not PASSPHRASES & os.environ.keys() and all(on_sandbox(project, each) for each in stacks):
        variables["PULUMI_CONFIG_PASSPHRASE"] = SANDBOX_PASSPHRASE
    java = prerequisites.find_java()
    if java is not None and (java.parents[1] / "lib" / "modules").is_file():
        variables["JAVA_HOME"] = str(java.parents[1])
    return variables


@contextmanager
def _install_lock(cache: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Lock ``cache`` for one installation at a time. The operating system releases the lock of a killed process."""
    lock = FileLock(cache / ".install.lock", fallback_to_soft=False)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            say(f"another command is installing into {cache}: waiting for it")
            lock.acquire()
    except OSError as error:
        raise Refusal(f"{cache} cannot be written: {error.strerror}; set {CACHE} to a folder for downloads") from error
    try:
        yield
    finally:
        lock.release()
