"""The ``pulumi`` CLI and the ``pulumi-resource-kafka`` plug-in, built from the Go modules that ``go/`` names."""

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
from pathlib import Path

import topicwarden
from topicwarden.model.problem import Refusal

_GO = Path(__file__).parent / "go"
_CLI = "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
_VERSION = "github.com/pulumi/pulumi/sdk/v3/go/common/version.Version"
_HEARTBEAT = 30  # seconds between lines that say that a build goes on

# The folder of the package comes last, for a checkout that is not installed.
_HOST = "import sys; sys.path.append(sys.argv.pop(1)); from topicwarden.deploy.language_host import main; main()"


def fingerprint() -> str:
    """Changes when what would be built changes."""
    digest = hashlib.sha256(_plugin_version().encode())
    for file in sorted(path for path in _GO.rglob("*") if path.is_file()):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def plugin(root: Path) -> Path:
    """Where the CLI looks for ``pulumi-resource-kafka``, if ``home`` below ``root`` is its PULUMI_HOME."""
    return root / "home" / "plugins" / f"resource-kafka-v{_plugin_version()}" / "pulumi-resource-kafka"


def build(root: Path, say: Callable[[str], None]) -> Path:
    """Puts ``bin/pulumi`` and ``home/plugins/resource-kafka-v…/`` below ``root``; gives the path of the former.

    Both are built at once, with the user's own Go caches. Raises Refusal with the end of what Go said.
    """
    began = time.monotonic()
    partial = root / ".build.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    builds = {
        "pulumi": _start("cli", _CLI, f"{_VERSION}={_cli_version()}", partial / "pulumi"),
        "pulumi-resource-kafka": _start(
            "plugin", ".", f"main.version={_plugin_version()}", partial / "pulumi-resource-kafka"
        ),
    }
    say(f"pulumi: go build of {' and '.join(builds)}; minutes the first time, seconds once Go has it in its caches")
    try:
        for name, process in builds.items():
            _wait(name, process, began, say)
            if process.returncode:
                words = (partial / f"{name}.log").read_text(encoding="utf-8", errors="replace").strip()
                raise Refusal(
                    f"go build of {name} failed: {words[-500:]}\ncheck the network and GOPROXY, then run "
                    "`topicwarden sandbox install`"
                )
            say(f"pulumi: {name} built, {time.monotonic() - began:.0f} s")
    finally:
        for process in builds.values():
            if process.poll() is None:
                process.terminate()
                process.wait()
    _move(partial / "pulumi-resource-kafka", plugin(root))
    _move(partial / "pulumi", root / "bin" / "pulumi")
    shutil.rmtree(partial)
    return root / "bin" / "pulumi"


def write_language_host(root: Path) -> None:
    """Puts ``pulumi-language-python`` beside ``pulumi``, where the CLI looks first; it runs in this environment."""
    command = shlex.join([sys.executable, "-c", _HOST, str(Path(topicwarden.__file__).parent.parent)])
    target = root / "bin" / "pulumi-language-python"
    partial = target.with_name(f".{target.name}.partial")
    partial.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    partial.chmod(0o755)
    partial.replace(target)


def _plugin_version() -> str:
    return importlib.metadata.version("pulumi-kafka")


def _cli_version() -> str:
    required = re.search(r"github\.com/pulumi/pulumi/pkg/v3 (v\S+)", (_GO / "cli" / "go.mod").read_text("utf-8"))
    assert required
    return required[1]


def _start(module: str, package: str, variable: str, target: Path) -> subprocess.Popen[bytes]:
    command = ["go", "build", "-mod=readonly", "-buildvcs=false", "-trimpath"]
    command += ["-ldflags", f"-s -w -X {variable}", "-o", str(target), package]
    with target.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(
            command,
            cwd=_GO / module,
            env={**os.environ, "GO111MODULE": "on", "GOWORK": "off", "CGO_ENABLED": "0"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def _wait(name: str, process: subprocess.Popen[bytes], began: float, say: Callable[[str], None]) -> None:
    try:
        process.wait(_HEARTBEAT)
    except subprocess.TimeoutExpired:
        say(f"pulumi: {name} still building, {time.monotonic() - began:.0f} s")
        _wait(name, process, began, say)


def _move(file: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    file.replace(target)
