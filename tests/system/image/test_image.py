"""Test the container image without a container engine: the Dockerfile, and its shell lines as processes.

The release workflow builds the image and tries it, as two users.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.support.installations import build_wheel
from topicwarden.toolchain import Toolchain

BIN = Path(sys.executable).parent
ENTRYPOINT = REPOSITORY / "container" / "entrypoint"
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
GO_MODULE = "validation/topicwarden/toolchain/go/cli/go.mod"


@dataclass(frozen=True)
class Instruction:
    """An instruction of the Dockerfile: its word, its arguments, and the stage it belongs to, by number."""

    word: str
    text: str
    stage: int


def instructions() -> list[Instruction]:
    text = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#")).replace("\\\n", " ")
    found: list[Instruction] = []
    stage = -1
    for line in filter(None, lines.splitlines()):
        word, _, rest = line.partition(" ")
        stage += word == "FROM"
        found.append(Instruction(word, rest.strip(), stage))
    return found


def of(word: str, stage: int | None = None) -> list[str]:
    return [each.text for each in instructions() if each.word == word and stage in (None, each.stage)]


LAST = max(each.stage for each in instructions())


@pytest.mark.parametrize("command", [("hadolint", "Dockerfile"), ("shellcheck", "container/entrypoint")], ids=" ".join)
def test_linters_find_nothing(command: tuple[str, str]) -> None:
    done = subprocess.run([BIN / command[0], command[1]], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_every_copied_file_exists_in_the_build_context() -> None:
    ignored = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert ignored[1] == "*"
    allowed = [line.removeprefix("!") for line in ignored[2:]]
    copied = [
        source
        for text in of("COPY")
        if "--from=" not in text
        for source in shlex.split(text)[:-1]
        if not source.startswith("--")
    ]
    assert sorted(copied) == sorted(allowed)
    built = {"dist/topicwarden-*.whl"}
    assert [source for source in copied if source not in built and not (REPOSITORY / source).is_file()] == []
    assert fnmatch.fnmatch(f"dist/topicwarden-{PROJECT['version']}-py3-none-any.whl", *built)


def test_base_images_have_exact_versions_which_are_those_of_the_project() -> None:
    arguments = dict(text.split("=", 1) for text in of("ARG", -1))
    named = [shlex.split(text.replace("--platform=$BUILDPLATFORM", ""))[0] for text in of("FROM")]
    bases = [arguments[name.removeprefix("$")] for name in named]
    assert [base for base in bases if not re.search(r":\d+\.\d+\.\d+", base)] == []
    go = re.search(r"^go (\S+)$", (REPOSITORY / GO_MODULE).read_text("utf-8"), re.MULTILINE)
    assert go
    assert f"golang:{go[1]}-bookworm" in bases
    (python,) = {base for base in bases if base.startswith("python:")}
    assert (
        f"Programming Language :: Python :: {'.'.join(python.split(':')[1].split('.')[:2])}" in PROJECT["classifiers"]
    )
    assert of("ARG", LAST)[0] == f"VERSION={PROJECT['version']}"


def test_the_image_runs_as_a_numeric_user_of_group_0_and_has_no_secret() -> None:
    assert of("USER") == ["1001:0"]
    assert [each.word for each in instructions()][-3:] == ["USER", "ENTRYPOINT", "CMD"]
    assert of("ENTRYPOINT") == ['["topicwarden-entrypoint"]']
    names = " ".join([*of("ARG"), *of("ENV")])
    assert not re.search(r"TOKEN|SECRET|PASSWORD|PASSPHRASE|KEY", names)
    assert of("ADD") == []


def test_the_locked_packages_are_those_of_the_repository() -> None:
    def pins(path: str) -> dict[str, str]:
        text = (REPOSITORY / path).read_text(encoding="utf-8")
        return dict(re.findall(r"^([\w.-]+==\S+).*((?:\\\n    --hash=\S+.*)+)", text, re.MULTILINE))

    image, repository = pins("container/requirements.lock"), pins("requirements.lock")
    assert {name: hashes for name, hashes in image.items() if repository.get(name) != hashes} == {}
    names = {name.partition("==")[0] for name in image}
    assert names >= {"pulumi", "pyspark", "botocore", "pydantic"}
    assert not names & {"pytest", "mypy", "ruff", "playwright"}


def shell(text: str, folder: Path, *, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a RUN instruction with ``folder`` in the place of the root folder."""
    text = re.sub("/(?:opt|tmp)/", lambda found: f"{folder}{found[0]}", text)
    return subprocess.run(
        ["/bin/sh", "-c", text], cwd=cwd, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
def test_pulumi_is_built_in_the_version_of_the_module(tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    for name in ("go.mod", "go.sum"):
        shutil.copy((REPOSITORY / GO_MODULE).with_name(name), source)
    (text,) = of("RUN", 0)
    go = {
        name: subprocess.run(["go", "env", name], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("GOOS", "GOARCH")
    }
    done = shell(text, tmp_path, cwd=source, TARGETOS=go["GOOS"], TARGETARCH=go["GOARCH"])
    assert done.returncode == 0, done.stderr
    pulumi = tmp_path / "opt" / "pulumi" / "bin" / "pulumi"
    version = subprocess.run([pulumi, "version"], capture_output=True, text=True, check=True).stdout.strip()
    required = re.search(r"github\.com/pulumi/pulumi/pkg/v3 (v\S+)", (source / "go.mod").read_text())
    assert required and version == required[1]


def test_the_wheel_is_installed_with_the_language_host_and_links_for_spark(tools: Toolchain, tmp_path: Path) -> None:
    environment = tmp_path / "opt" / "topicwarden"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    installed = Path(sysconfig.get_path("purelib"))
    (packages / "locked.pth").write_text(f"{installed}\n")
    (packages / "pyspark").symlink_to(installed / "pyspark")
    (tmp_path / "opt" / "pulumi" / "bin").mkdir(parents=True)
    (tmp_path / "tmp").mkdir()
    build_wheel(tmp_path / "tmp")
    done = shell(of("RUN", 1)[1], tmp_path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    host = (tmp_path / "opt" / "pulumi" / "bin" / "pulumi-language-python").read_text()
    assert f"exec {environment}/bin/python" in host
    assert (environment / "audit.py").resolve() == packages / "topicwarden" / "audit" / "__main__.py"
    assert (environment / "spark" / "jars").is_dir()
    home = re.search(r"SPARK_HOME=(\S+)", of("ENV", LAST)[0])
    assert home
    assert Path(f"{tmp_path}{home[1]}").samefile(environment / "spark")


@pytest.fixture
def container(tmp_path: Path) -> dict[str, str]:
    """The variables of a container whose programs print their arguments, one a line."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("spark-submit", "topicwarden", "java"):
        (programs / name).write_text(f'#!/bin/sh\necho {name}\nprintf "%s\\n" "$@"\necho "${{LD_PRELOAD:-}}"\n')
    (programs / "tini").write_text('#!/bin/sh\ntest "$1 $2" = "-s --" && shift 2 && exec "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    return {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "JAVA_HOME": str(tmp_path),
        "SPARK_HOME": "/spark",
        "SPARK_DRIVER_BIND_ADDRESS": "10.0.0.7",
        "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@127.0.0.1:9",
        "SPARK_EXECUTOR_CORES": "2",
        "SPARK_EXECUTOR_ID": "3",
        "SPARK_EXECUTOR_MEMORY": "512m",
        "SPARK_EXECUTOR_POD_IP": "127.0.0.1",
        "SPARK_EXECUTOR_POD_NAME": "pod-3",
        "SPARK_APPLICATION_ID": "spark-1",
        "SPARK_RESOURCE_PROFILE_ID": "0",
        **{f"SPARK_JAVA_OPT_{number}": f"-Dsome.number={number} and a space" for number in range(12)},
    }


def enter(variables: dict[str, str], *arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ENTRYPOINT, *arguments], env=variables, capture_output=True, text=True, check=False, timeout=timeout
    )


@pytest.mark.parametrize("arguments", [["--version"], ["check", "--stack", "a b"], []])
def test_arguments_go_to_topicwarden(container: dict[str, str], arguments: list[str]) -> None:
    done = enter(container, *arguments)
    assert (done.returncode, done.stdout.splitlines()) == (0, ["topicwarden", *(arguments or [""]), ""])


def test_spark_starts_a_driver(container: dict[str, str]) -> None:
    submitted = ["--class", "org.apache.spark.deploy.PythonRunner", "local:///audit.py", "--stack", "a b"]
    done = enter(container, "driver", *submitted)
    lines = done.stdout.splitlines()
    assert lines[:3] == ["spark-submit", "--deploy-mode", "client"]
    assert "spark.driver.bindAddress=10.0.0.7" in lines
    assert lines[-6:-1] == submitted


def test_spark_starts_an_executor_that_understands_its_arguments(container: dict[str, str], tools: Toolchain) -> None:
    spark = Path(sysconfig.get_path("purelib")) / "pyspark"
    java = {"JAVA_HOME": str(tools.java.parents[1]), "SPARK_HOME": str(spark)}
    done = enter({**container, **java}, "executor", timeout=240)
    output = done.stdout + done.stderr
    assert "Unrecognized options" not in output
    assert "Usage: " not in output
    assert re.search(r"Failed to connect to /?127.0.0.1:9|Connection refused", output)


def test_a_user_without_a_name_gets_one(container: dict[str, str], tmp_path: Path) -> None:
    getent = tmp_path / "bin" / "getent"
    getent.write_text("#!/bin/sh\nexit 2\n")
    getent.chmod(0o755)
    done = enter(container, "--version")
    assert done.stdout.splitlines() == ["topicwarden", "--version", "libnss_wrapper.so"]
