"""Build the ``pulumi`` CLI, and for tests the official ``pulumi-resource-kafka``, from the Go modules in ``go/``.

``python -m topicwarden.toolchain.pulumi_build`` builds the official provider if it is missing and there is Go.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import topicwarden
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.model.replace_file import replace_file

_GO = Path(__file__).parent / "go"
_CLI = "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
_VERSION = "github.com/pulumi/pulumi/sdk/v3/go/common/version.Version"
_HEARTBEAT_S = 30  # seconds between progress lines of a running build

# The package's folder is appended to the path, so that a checkout works that is not installed.
_HOST = "import sys; sys.path.append(sys.argv.pop(1)); from topicwarden.deploy.language_host import main; main()"


def fingerprint() -> str:
    """Return a hash of the inputs of the build; a different hash means that a new build is necessary."""
    digest = hashlib.sha256(_plugin_version().encode())
    for file in sorted(path for path in _GO.rglob("*") if path.is_file()):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def plugin(root: Path) -> Path:
    """Return the path at which the CLI looks for ``pulumi-resource-kafka`` if PULUMI_HOME is ``root/home``."""
    return root / "home" / "plugins" / f"resource-kafka-v{_plugin_version()}" / "pulumi-resource-kafka"


@dataclass(frozen=True)
class _Module:
    """A Go module below ``go/``, the package of its program, and the variable that has the program's version."""

    folder: str
    package: str
    variable: str


def build(root: Path, say: Callable[[str], None]) -> Path:
    """Build ``bin/pulumi`` below ``root`` and return its path; see ``_build`` for errors."""
    target = root / "bin" / "pulumi"
    _build(root, _Module("cli", _CLI, f"{_VERSION}={_cli_version()}"), target, say)
    return target


def build_plugin(root: Path, say: Callable[[str], None]) -> None:
    """Build the official provider at ``plugin(root)``, with which tests compare this package's own."""
    _build(root, _Module("plugin", ".", f"main.version={_plugin_version()}"), plugin(root), say)


def _build(root: Path, module: _Module, target: Path, say: Callable[[str], None]) -> None:
    """Build a Go module with the user's Go caches. Raises Refusal with the end of Go's output."""
    began, name = time.monotonic(), target.name
    partial = root / f".build-{module.folder}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    say(f"pulumi: go build of {name}; the first build takes minutes, later builds take seconds")
    process = _start(module, partial / name)
    try:
        _wait(name, process, began, say)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    if process.returncode:
        output = (partial / f"{name}.log").read_text(encoding="utf-8", errors="replace").strip()
        raise Refusal(
            f"go build of {name} failed: {output[-500:]}\ncheck the network and GOPROXY, then run "
            "`topicwarden sandbox install` again"
        )
    say(f"pulumi: {name} built, {time.monotonic() - began:.0f} s")
    _move(partial / name, target)
    shutil.rmtree(partial)


def write_language_host(root: Path) -> None:
    """Write ``pulumi-language-python`` next to ``pulumi``, where the CLI looks first.

    The script runs the language host in this Python environment.
    """
    command = shlex.join([sys.executable, "-c", _HOST, str(Path(topicwarden.__file__).parent.parent)])
    replace_file(root / "bin" / "pulumi-language-python", f'#!/bin/sh\nexec {command} "$@"\n', 0o755)


def _plugin_version() -> str:
    return importlib.metadata.version("pulumi-kafka")


def _cli_version() -> str:
    required = re.search(r"github\.com/pulumi/pulumi/pkg/v3 (v\S+)", (_GO / "cli" / "go.mod").read_text("utf-8"))
    assert required
    return required[1]


def _start(module: _Module, target: Path) -> subprocess.Popen[bytes]:
    command = ["go", "build", "-mod=readonly", "-buildvcs=false", "-trimpath"]
    command += ["-ldflags", f"-s -w -X {module.variable}", "-o", str(target), module.package]
    with target.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(
            command,
            cwd=_GO / module.folder,
            env={**os.environ, "GO111MODULE": "on", "GOWORK": "off", "CGO_ENABLED": "0"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def _wait(name: str, process: subprocess.Popen[bytes], began: float, say: Callable[[str], None]) -> None:
    try:
        process.wait(_HEARTBEAT_S)
    except subprocess.TimeoutExpired:
        say(f"pulumi: {name} still building, {time.monotonic() - began:.0f} s")
        _wait(name, process, began, say)


def _move(file: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    file.replace(target)


if __name__ == "__main__":
    cache = find_project().tools_cache / "pulumi"
    if not plugin(cache).is_file() and shutil.which("go"):
        build_plugin(cache, lambda line: print(line, file=sys.stderr))
