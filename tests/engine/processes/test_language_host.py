"""Test the language host as the Pulumi CLI uses it: a process that prints a port and answers over gRPC."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import language_pb2 as rpc
from pulumi.runtime.proto.language_pb2_grpc import LanguageRuntimeStub

from tests.conftest import REPOSITORY
from topicwarden.deploy.pulumi_engine import error_text
from topicwarden.model.project import Project
from topicwarden.toolchain import Toolchain, environment

_FAILED = "Program failed with an unhandled exception:"


@pytest.fixture(scope="module")
def process() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "topicwarden.deploy.language_host", "127.0.0.1:1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as host:
        yield host
        host.kill()


@pytest.fixture(scope="module")
def host(process: subprocess.Popen[str]) -> LanguageRuntimeStub:
    assert process.stdout
    channel = grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}")
    return LanguageRuntimeStub(channel)


def _info(folder: Path, **options: str) -> rpc.ProgramInfo:
    info = rpc.ProgramInfo(root_directory=str(folder), program_directory=str(folder), entry_point=".")
    info.options.update(options)
    return info


def test_the_required_plugin_is_that_of_the_installed_sdk(host: LanguageRuntimeStub, tmp_path: Path) -> None:
    answer = host.GetRequiredPackages(rpc.GetRequiredPackagesRequest(info=_info(tmp_path)))
    assert ("kafka", "resource", "3.13.3") in [(one.name, one.kind, one.version) for one in answer.packages]
    assert host.GetPluginInfo(Empty()).version == "3.250.0"


def test_a_missing_virtualenv_is_named(host: LanguageRuntimeStub, tmp_path: Path) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        host.Run(rpc.RunRequest(info=_info(tmp_path, virtualenv=".gone")))
    assert str(tmp_path / ".gone" / "bin" / "python") in caught.value.details()


@pytest.fixture
def pulumi(tools: Toolchain, tmp_path: Path) -> dict[str, str]:
    """The environment variables for a real ``pulumi`` with its own state, and a project in ``tmp_path``."""
    variables = environment(Project(REPOSITORY))
    tmp_path.joinpath("Pulumi.yaml").write_text(
        "{name: scratch, main: stacks/, stackConfigDir: stacks, "
        f"runtime: {{name: python, options: {{virtualenv: '{sys.prefix}'}}}}}}"
    )
    tmp_path.joinpath("stacks").mkdir()
    tmp_path.joinpath("state").mkdir()
    return {**os.environ, **variables, "PULUMI_BACKEND_URL": tmp_path.joinpath("state").as_uri()}


@pytest.mark.nightly("The suite keeps another exception of a program.", stays=("output", "exception", "exit code"))
@pytest.mark.parametrize(
    ("program", "expected", "short"),
    [
        pytest.param("import pulumi\npulumi.export('n', pulumi.Config('a').get('b'))", 'n: "seven"', None, id="output"),
        pytest.param(
            "import pulumi\nraise pulumi.RunError('five are\\ntoo few')",
            "error: five are\n    too few",
            "five are",
            id="run error",
        ),
        pytest.param(
            "def f():\n    return {}['gone']\nf()", "line 2, in f", f"{_FAILED} KeyError: 'gone'", id="exception"
        ),
        pytest.param(
            "import os\nos._exit(7)",
            "error: an unhandled error occurred: Program exited with non-zero exit code: 7",
            "an unhandled error occurred: Program exited with non-zero exit code: 7",
            id="exit code",
        ),
        pytest.param("x = = 1", "SyntaxError: invalid syntax", _FAILED, id="syntax error"),
    ],
)
def test_program_output_reaches_the_engine(
    pulumi: dict[str, str], tmp_path: Path, program: str, expected: str, short: str | None
) -> None:
    """The engine prints the program's output. ``short`` is the text that our own commands report."""
    tmp_path.joinpath("stacks", "__main__.py").write_text(program)
    tmp_path.joinpath("stacks", "Pulumi.dev.yaml").write_text("config: {'a:b': seven}")
    for command in (["stack", "init", "dev"], ["preview", "--non-interactive", "--stack", "dev"]):
        done = subprocess.run(
            ["pulumi", *command], cwd=tmp_path, env=pulumi, capture_output=True, text=True, check=False
        )
    assert expected in done.stdout
    assert (done.returncode != 0) == ("error" in done.stdout)
    assert short is None or error_text(done).startswith(short)
    assert "Traceback" not in error_text(done)


def test_the_provider_ends_if_the_engine_cancels_it(process: subprocess.Popen[str], host: LanguageRuntimeStub) -> None:
    host.Handshake(rpc.LanguageHandshakeRequest())
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=5) == 0
