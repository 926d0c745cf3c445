"""Builds the ``pulumi`` CLI from the Go module in ``go/cli``."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from topicwarden.model.problem import Refusal

_CLI = Path(__file__).parent / "go" / "cli"
_HEARTBEAT_S = 10  # seconds between progress lines of a running build


@dataclass(frozen=True)
class GoProgram:
    """A program that Go builds: the folder of the module, the package, and the variable that has the version."""

    module: Path
    package: str
    variable: str
    version: str


def fingerprint() -> str:
    """Return a hash of the inputs of the build; a different hash means that a new build is necessary."""
    digest = hashlib.sha256()
    for file in sorted(_CLI.iterdir()):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def build(root: Path, say: Callable[[str], None]) -> Path:
    """Build ``bin/pulumi`` below ``root`` and return its path. Raises Refusal with the end of Go's output."""
    required = re.search(r"github\.com/pulumi/pulumi/pkg/v3 (v\S+)", (_CLI / "go.mod").read_text("utf-8"))
    assert required
    package, variable = "pulumi/pkg/v3/cmd/pulumi", "pulumi/sdk/v3/go/common/version.Version"
    cli = GoProgram(_CLI, f"github.com/pulumi/{package}", f"github.com/pulumi/{variable}", required[1])
    target = root / "bin" / "pulumi"
    go_build(cli, target, root, say)
    return target


def go_build(program: GoProgram, target: Path, root: Path, say: Callable[[str], None]) -> None:
    """Build ``program`` as ``target``, below ``root``, with the user's Go caches.

    Raises Refusal with the end of Go's output.
    """
    began, name = time.monotonic(), target.name
    partial = root / f".build-{name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    say(f"pulumi: go build of {name}; the first build takes about 3 minutes on two cores, later builds take seconds")
    process = _start(program, partial / name)
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


def _start(program: GoProgram, target: Path) -> subprocess.Popen[bytes]:
    command = ["go", "build", "-mod=readonly", "-buildvcs=false", "-trimpath"]
    command += ["-ldflags", f"-s -w -X {program.variable}={program.version}", "-o", str(target), program.package]
    with target.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(
            command,
            cwd=program.module,
            env={**os.environ, "GO111MODULE": "on", "GOWORK": "off", "CGO_ENABLED": "0"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def _wait(name: str, process: subprocess.Popen[bytes], began: float, say: Callable[[str], None]) -> None:
    try:
        process.wait(_HEARTBEAT_S)
    except subprocess.TimeoutExpired:
        say(f"pulumi: {name} still building, {time.monotonic() - began:.0f} s; about 3 minutes on two cores")
        _wait(name, process, began, say)


def _move(file: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    file.replace(target)
