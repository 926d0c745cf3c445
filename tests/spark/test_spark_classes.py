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

from topicwarden.audit.scan import spark_session
from topicwarden.audit.scan.spark_classes import SparkClasses, spark_classes
from topicwarden.audit.scan.spark_session import JAVA_OPTIONS, spill_folder
from topicwarden.model.project import Project

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


def test_only_a_persistent_cache_gets_an_archive(project: Project, reader: Path) -> None:
    first = spark_classes(project, [reader], record=False)
    assert first is not None and not first.recording and first.java_options == ""
    second = spark_classes(project, [reader], record=False)
    assert second is not None and second.recording and "ArchiveClassesAtExit" in second.java_options
    assert list(second.configuration_folder.iterdir()) == []


def test_a_complete_archive_replaces_that_of_another_reader(project: Project, reader: Path) -> None:
    written = []
    for content in (b"one", b"another"):
        reader.write_bytes(content)
        archive = spark_classes(project, [reader], record=True)
        assert archive is not None and archive.recording
        archive.complete()
        assert not archive.path.exists()  # the JVM wrote none
        partial(archive).write_bytes(COMPLETE)
        archive.complete()
        used = spark_classes(project, [reader], record=True)
        assert used is not None and not used.recording
        assert shlex.split(used.java_options)[1] == f"-XX:SharedArchiveFile={archive.path}"
        written.append(archive.path)
    assert list(written[0].parent.glob("*.jsa")) == [written[1]] != [written[0]]


def test_the_session_after_the_one_that_records_installs_the_archive(project: Project, reader: Path) -> None:
    recording = spark_classes(project, [reader], record=True)
    assert recording is not None and recording.recording
    partial(recording).write_bytes(bytes(8192))  # the JVM writes its header last
    meanwhile = spark_classes(project, [reader], record=False)
    assert meanwhile is not None and not meanwhile.recording and meanwhile.java_options == ""
    os.utime(partial(recording), (0, 0))  # that JVM was killed
    again = spark_classes(project, [reader], record=False)
    assert again is not None and again.recording
    partial(again).write_bytes(COMPLETE)
    used = spark_classes(project, [reader], record=False)
    assert used is not None and f'"{used.path}"' in used.java_options
    assert used.path.read_bytes() == COMPLETE


def test_an_archive_that_a_killed_jvm_wrote_is_installed_only_if_it_is_complete(project: Project, reader: Path) -> None:
    archive = spark_classes(project, [reader], record=True)
    java = shutil.which("java")
    assert archive is not None and java is not None
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


def written(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:  # the JVM replaces it
        return False


def partial(archive: SparkClasses) -> Path:
    """Return the file that the JVM of this session writes."""
    return Path(shlex.split(archive.java_options)[1].partition("=")[2])


def test_the_spark_of_another_environment_has_its_own_archive(
    project: Project, reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = spark_classes(project, [reader], record=True)
    monkeypatch.setattr("pyspark.__path__", [str(tmp_path / "another environment")])
    other = spark_classes(project, [reader], record=True)
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
    assert spark_classes(project, [reader], record=True) is None
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert spark_classes(project, [reader], record=True) is None


def test_caches_that_link_to_the_same_jar_share_archive_and_class_path(
    project: Project, reader: Path, tmp_path: Path
) -> None:
    link = tmp_path / "another cache" / reader.name
    link.parent.mkdir()
    link.symlink_to(reader)
    archives = [spark_classes(project, [jar], record=False) for jar in (reader, link)]
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
