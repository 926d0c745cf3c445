"""Provide the tools that `make setup` installed, and set the order of the test tiers."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from topicwarden.extensions.sandbox import ports, sandbox_state
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.toolchain import Toolchain, toolchain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest_plugins = ["tests.support.nightly", "tests.support.repetition", "tests.support.run_summary"]
REPOSITORY = Path(__file__).parents[1]
# `pytest --hypothesis-profile nightly` tries more examples.
settings.register_profile("suite", max_examples=20, deadline=None)
settings.register_profile("nightly", max_examples=2_000, deadline=None)
settings.load_profile("suite")

TIERS = ("unit", "spark", "engine", "broker", "system", "campaigns")
RUN_AGAIN = (
    *("engine/", "broker/", "system/"),
    *(f"campaigns/{name}" for name in ("access", "authorizer", "cleaned", "guards", "history", "hostile", "notices")),
    *(f"campaigns/{name}" for name in ("official_provider", "pulumi_versions", "readability", "redrive")),
    *(f"campaigns/{name}" for name in ("subjects", "usage", "versions", "watch")),
)
"""Tests of real processes may be repeated twice: a busy machine can stop Kafka, YARN or Pulumi beyond a deadline."""
JAVA_OPTIONS = "JDK_JAVA_OPTIONS"
"""The variable whose options every ``java`` reads."""
_BY_FILE = (
    *("unit/", "engine/processes/", "broker/spark_cluster/"),
    *("system/example/test_bad_input.py", "campaigns/guards/"),
)
"""Folders and files that may run at the same time as those beside them: each worker has its own cluster for them."""
LONGEST = (
    *("engine/provider", "system/example", "engine/rebalance", "campaigns/guards/test_random.py"),
    *("engine/permissions", "broker/contents", "broker/spark_cluster/test_standalone.py", "campaigns/soundness"),
    *("system/workflows", "system/example/test_bad_input.py", "broker/history", "engine/subjects", "system/sandbox"),
    *("engine/processes/test_program_dies.py", "engine/predictions", "broker/connections"),
    *("engine/importing", "broker/access", "campaigns/watch", "broker/redrive"),
)
"""The groups of tests that take longest, in this order. Workers begin with them, and so end at about the same time."""


_COMPILED = REPOSITORY / "tests" / "unit" / "watch" / "__pycache__"
"""A folder that the first collection in a new clone creates at its end."""
_compiling = FileLock(REPOSITORY / ".cache" / "collection.lock")


def pytest_configure() -> None:
    # Nothing that is collected is garbage, and looking for garbage in it takes a third of the time.
    gc.disable()
    # A shell that starts a background job makes the job ignore SIGINT, and every child process inherits this.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # With this variable, each process that a test starts would compile all its modules again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # Commands follow it in a pipe, too. Workers get that of the terminal; tests of a width set it themselves.
    os.environ.pop("COLUMNS", None)
    sys.dont_write_bytecode = False
    # JVMs of tests end before the optimising compiler, which takes half of their CPU time, is of use.
    os.environ.setdefault(JAVA_OPTIONS, "-XX:TieredStopAtLevel=1")
    # Tests may import gRPC before the package that turns its fork handlers off: see topicwarden/deploy/__init__.py.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
    # Pulumi's CLI ends before it needs to collect garbage.
    os.environ.setdefault("GOGC", "400")
    # A worker whose brokers are stopped must find their ports free when it starts them again.
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        ports.BROKERS_FROM += 1_000 * (1 + int(worker.removeprefix("gw")))
        sandbox_state.PORT_LOCK = f"{worker}-{sandbox_state.PORT_LOCK}"
        sandbox_state.SANDBOXES = f"{worker}-{sandbox_state.SANDBOXES}"


class SharedFolder(pytest.Package):
    """A folder of tests whose fixtures of ``scope="package"`` end with its last test. It needs no ``__init__.py``."""

    def setup(self) -> None:
        """Do nothing: there is no ``__init__.py`` with a ``setup_module``."""


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect each folder with a ``conftest.py`` as a package. Else its clusters would run until the session ends."""
    return SharedFolder.from_parent(parent, path=path) if (path / "conftest.py").is_file() else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests by tier, and let the tests of real processes run again if they fail.

    Workers begin with the longest groups, and go on with the last tier.
    """
    for item in items:
        if _group(item.nodeid).startswith(RUN_AGAIN):
            item.add_marker(pytest.mark.flaky(reruns=2))
    items.sort(key=lambda item: TIERS.index(_group(item.nodeid).partition("/")[0]))
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: _turn(_group(item.nodeid)))


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """In a new clone, let the first worker compile all modules before the others collect them."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None or _COMPILED.exists():
        return
    if worker != "gw0":
        time.sleep(1)  # until the first worker has the lock
    _compiling.acquire()
    if worker != "gw0":
        _compiling.release()


def pytest_collection_finish() -> None:
    _compiling.release()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> GroupScheduling:
    config.option.loadscopereorder = False
    return GroupScheduling(config, log)


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Run tests that share a cluster in one worker. ``--dist loadgroup`` has no effect with pytest 9.2."""

    def _split_scope(self, nodeid: str) -> str:
        return _group(nodeid)


def _turn(group: str) -> int:
    """Return when workers begin with a group: first the longest groups, then tier by tier from the last one on."""
    if group in LONGEST:
        return LONGEST.index(group)
    return len(LONGEST) + len(TIERS) - TIERS.index(group.partition("/")[0])


def _group(nodeid: str) -> str:
    file = nodeid.partition("::")[0].removeprefix("tests/")
    return file if file.startswith(_BY_FILE) else "/".join(file.split("/")[:2])


@pytest.fixture(scope="session")
def tools() -> Toolchain:
    """Return Java, the jars and Pulumi. If they are not installed, fail with instructions."""
    try:
        return toolchain(Project(REPOSITORY))
    except Refusal as refusal:
        pytest.fail(str(refusal), pytrace=False)


@pytest.fixture(scope="session")
def java(tools: Toolchain) -> Path:
    return tools.java


@pytest.fixture(scope="session")
def jars(tools: Toolchain) -> Path:
    """Return the folder of Kafka's jars."""
    return tools.kafka_jars


@pytest.fixture(scope="session")
def registry_java() -> Path:
    """Return the Java of the Schema Registry. Tests that need it are skipped where no Java is new enough."""
    from tests.support.java_programs import registry_java_or_skip  # noqa: PLC0415

    return registry_java_or_skip()


@pytest.fixture(scope="session")
def registry_url(registry_java: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a real Schema Registry, which all tests of this process share: use subjects of your own."""
    from tests.support.registry import running_registry  # noqa: PLC0415 -- unit tests need no registry

    with running_registry(tmp_path_factory.mktemp("registry")) as url:
        yield url


@pytest.fixture(scope="session")
def spark(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return the Spark session that all audits of this process use. Its start takes as long as several audits."""
    from tests.support.projects import own_cache, project_of  # noqa: PLC0415
    from topicwarden.audit.scan.spark_session import spark_session  # noqa: PLC0415 -- unit tests need no Spark

    os.environ.pop("PYSPARK_GATEWAY_PORT", None)
    with ExitStack() as stack:
        with own_cache(tmp_path_factory.mktemp("spark")) as folder:
            session = stack.enter_context(spark_session(project_of(folder / "project", {})))
        yield session
