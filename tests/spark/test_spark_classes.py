"""Test what Spark writes: the archive of its classes, and its spill files."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from tests.support.notices import eventually
from topicwarden.audit.scan import spark_session
from topicwarden.audit.scan.spark_classes import SparkClasses, spark_classes
from topicwarden.audit.scan.spark_session import JAVA_OPTIONS, spill_folder
from topicwarden.model.project import Project
from topicwarden.toolchain import Toolchain
from topicwarden.toolchain.spark_reader import jar

COMPLETE = b"\xa8\xab\x0b\xf0"
"""The first bytes of an archive that the JVM has completed."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("TOPICWARDEN_CACHE", str(tmp_path / "a cache"))
    return Project(tmp_path)


@pytest.fixture
def reader(tmp_path: Path) -> Path:
    jar = tmp_path / "reader.jar"
    jar.write_bytes(b"one")
    return jar


@pytest.fixture(autouse=True)
def outside_of_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(os, "getppid", lambda: 1234)


def test_only_a_persistent_cache_gets_an_archive(project: Project, reader: Path) -> None:
    first = spark_classes(project, [reader])
    assert first is not None and not first.due and first.java_options == ""
    second = spark_classes(project, [reader])
    assert second is not None and second.due
    assert second.java_options == ""  # the audit itself records nothing
    recording = second.attempt()
    assert "ArchiveClassesAtExit" in recording.java_options
    assert list(recording.configuration_folder.iterdir()) == []


@pytest.mark.parametrize(("job", "due"), [(("true", 7), False), (("false", 7), True), (("", 1), False)])
def test_no_process_is_left_behind_in_ci_and_in_containers(
    project: Project, reader: Path, monkeypatch: pytest.MonkeyPatch, job: tuple[str, int], due: bool
) -> None:
    variable, parent = job
    monkeypatch.setenv("CI", variable)
    monkeypatch.setattr(os, "getppid", lambda: parent)
    archives = [spark_classes(project, [reader]) for _ in range(2)]
    assert archives[1] is not None and archives[1].due is due


def test_a_complete_archive_replaces_that_of_another_reader(project: Project, reader: Path) -> None:
    written = []
    for content in (b"one", b"another"):
        reader.write_bytes(content)
        archive = recorded(project, reader)
        archive.complete()
        assert not archive.path.exists()  # the JVM wrote none
        partial(archive).write_bytes(COMPLETE)
        archive.complete()
        used = spark_classes(project, [reader])
        assert used is not None and not used.due
        assert shlex.split(used.java_options)[1] == f"-XX:SharedArchiveFile={archive.path}"
        written.append(archive.path)
    assert list(written[0].parent.glob("*.jsa")) == [written[1]] != [written[0]]


def test_the_session_after_a_recording_installs_the_archive_only_if_it_is_complete(
    project: Project, reader: Path
) -> None:
    recording = recorded(project, reader)
    partial(recording).write_bytes(bytes(8192))  # the JVM writes its header last
    meanwhile = spark_classes(project, [reader])
    assert meanwhile is not None and not meanwhile.due and meanwhile.java_options == ""
    os.utime(partial(recording), (0, 0))  # that JVM was killed
    again = spark_classes(project, [reader])
    assert again is not None and again.due
    partial(again.attempt()).write_bytes(COMPLETE)
    used = spark_classes(project, [reader])
    assert used is not None and f'"{used.path}"' in used.java_options
    assert used.path.read_bytes() == COMPLETE


def test_an_archive_that_a_killed_jvm_wrote_is_installed_only_if_it_is_complete(project: Project, reader: Path) -> None:
    archive = recorded(project, reader)
    java = shutil.which("java")
    assert java is not None
    jars = str(Path(pyspark.__path__[0], "jars", "*"))
    command = [java, *shlex.split(archive.java_options), "-cp", jars, "org.apache.spark.launcher.Main"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as jvm:
        while jvm.poll() is None and not written(partial(archive)):
            time.sleep(0.001)
        jvm.kill()
    archive.complete()
    if archive.path.exists():
        verified = ("-Xshare:on", "-XX:+VerifySharedSpaces", f"-XX:SharedArchiveFile={archive.path}", "-cp", jars)
        assert subprocess.run([java, *verified, "-version"], check=False, capture_output=True).returncode == 0


_SESSION = """
import sys
from pathlib import Path
from topicwarden.audit.scan.spark_session import spark_session
from topicwarden.model.project import Project
with spark_session(Project(Path(sys.argv[1])), "local[1]") as spark:
    jvm = spark._jvm.java.lang.ProcessHandle.current().pid()
    print("/jars/spark-classes/classes-" in Path(f"/proc/{jvm}/maps").read_text())
"""


@pytest.mark.nightly("The suite keeps which archives are due, complete and used; make setup records one each time.")
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_process_that_nobody_waits_for_records_the_archive_when_the_command_has_ended(
    project: Project, tools: Toolchain
) -> None:
    (project.cache / "jars").mkdir(parents=True)
    (project.cache / "jars" / "reader").symlink_to(tools.kafka_jars.with_name("reader"))
    archive = spark_classes(project, [jar(project)])  # of an earlier session
    assert archive is not None
    printed = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", _SESSION, str(project.root)], capture_output=True, text=True, check=True
        )
        printed.append(done.stdout + done.stderr)
        assert len(printed) == 2 or not archive.path.exists()  # the pipes are closed before the recording has ended
        eventually(archive.path.exists, deadline_s=240)
    assert printed == ["False\n", "True\n"]


def written(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:  # the JVM replaces it
        return False


def recorded(project: Project, reader: Path) -> SparkClasses:
    """Return the archive as one that this process records."""
    archive = spark_classes(project, [reader])
    assert archive is not None
    return archive.attempt()


def partial(archive: SparkClasses) -> Path:
    """Return the file that the JVM of this session writes."""
    return Path(shlex.split(archive.java_options)[1].partition("=")[2])


def test_the_spark_of_another_environment_has_its_own_archive(
    project: Project, reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = spark_classes(project, [reader])
    monkeypatch.setattr("pyspark.__path__", [str(tmp_path / "another environment")])
    other = spark_classes(project, [reader])
    assert first is not None and other is not None
    assert first.path != other.path


def test_an_archive_that_the_jvm_refuses_leaves_standard_output_to_the_report(tmp_path: Path) -> None:
    """The archive of another class path: the JVM warns, and starts without it."""
    java = shutil.which("java")
    assert java is not None
    start, archive = [java, *shlex.split(JAVA_OPTIONS)], tmp_path / "classes.jsa"
    launcher = [
        str(next(Path(pyspark.__path__[0], "jars").glob("spark-launcher_*.jar"))),
        "org.apache.spark.launcher.Main",
    ]
    subprocess.run([*start, f"-XX:ArchiveClassesAtExit={archive}", "-cp", *launcher], capture_output=True, check=False)
    assert archive.is_file()
    done = subprocess.run(
        [*start, f"-XX:SharedArchiveFile={archive}", "-version"], capture_output=True, check=False, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_a_read_only_cache_or_a_missing_java_disables_the_archive(
    project: Project, reader: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.cache.write_text("no folder")
    assert spark_classes(project, [reader]) is None
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert spark_classes(project, [reader]) is None


def test_caches_that_link_to_the_same_jar_share_archive_and_class_path(
    project: Project, reader: Path, tmp_path: Path
) -> None:
    link = tmp_path / "another cache" / reader.name
    link.parent.mkdir()
    link.symlink_to(reader)
    archives = [spark_classes(project, [jar]) for jar in (reader, link)]
    assert archives[0] is not None and archives[1] is not None and archives[0].path == archives[1].path
    paths = [spark_session._own_settings(project, [jar], None)["spark.driver.extraClassPath"] for jar in (reader, link)]
    assert paths == [str(reader)] * 2


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_jvm_of_a_session_uses_the_archive_that_was_installed(spark: SparkSession) -> None:
    assert spark._jvm
    process = spark._jvm.java.lang.ProcessHandle.current().pid()
    assert "/jars/spark-classes/classes-" in Path(f"/proc/{process}/maps").read_text(encoding="utf-8")


def test_spark_spills_into_a_folder_that_only_this_user_can_read(spark: SparkSession) -> None:
    assert spark._jvm
    spills = spark._jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager().localDirsString()
    for used in (*spills, spark._jvm.java.lang.System.getProperty("java.io.tmpdir")):
        assert Path(used).is_relative_to(spill_folder())
