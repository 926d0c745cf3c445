"""Choose and install the project's ``pulumi``: the one on the PATH, a download from Pulumi, or a build from source."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from topicwarden.model.files import replace_file
from topicwarden.model.problem import Refusal
from topicwarden.toolchain import go_patches as patches
from topicwarden.toolchain import prerequisites

OLDEST = (3, 230)
"""The oldest supported version, which `go/cli/go.mod` builds. The newest that is tested is that of the SDK."""

_SITE = "https://get.pulumi.com/install.sh"
_PROBE = "import sys, urllib.request as r; r.urlopen(r.Request(sys.argv[1], method='HEAD'), timeout=5).close()"
_INSTALL = "import sys; from pulumi.automation import PulumiCommand; PulumiCommand.install(root=sys.argv[1])"


class PulumiSource(StrEnum):
    """The origin of ``pulumi``: already on the PATH, Pulumi's own installer, or a build from Go modules."""

    PATH = "path"
    OFFICIAL = "official"
    BUILD = "build"


@dataclass(frozen=True)
class PulumiChoice:
    """The chosen source of ``pulumi``, the reason, and the path of ``pulumi`` if it is already installed."""

    source: PulumiSource
    reason: str
    present: Path | None


def home(cache: Path) -> Path:
    """Return the project's own PULUMI_HOME."""
    return _root(cache) / "home"


def state(cache: Path) -> Path:
    """Return the folder of the file backend that contains the state of the sandbox's stacks."""
    return _root(cache) / "state"


def present(cache: Path) -> Path | None:
    """Return the ``pulumi`` of the last installation; None if it is missing, or if the supported versions have changed.

    One that Pulumi's own installer has installed remains: it has the version of an SDK, and so a supported one.
    """
    record = _record(cache)
    if not record.is_file():
        return None
    chosen = json.loads(record.read_text(encoding="utf-8"))
    executable = Path(chosen["executable"])
    stale = chosen["way"] != PulumiSource.OFFICIAL and chosen["fingerprint"] != fingerprint()
    return executable if os.access(executable, os.X_OK) and not stale else None


def built(cache: Path) -> bool:
    """Return whether the ``pulumi`` of the last installation was built from source: it has no language host."""
    return present(cache) is not None and json.loads(_record(cache).read_text(encoding="utf-8"))["way"] == "build"


def choose(cache: Path, *, download: bool = True) -> PulumiChoice:
    """Return the source to use: the PATH, the last installation, Pulumi's site if it answers, else a build.

    Installs nothing, and takes a few seconds at most. ``download``: whether Pulumi's site is asked.
    """
    found = _on_path(cache)
    if found:
        return PulumiChoice(PulumiSource.PATH, f"{found} is on the PATH", found)
    installed = present(cache)
    if installed and _root(cache) in installed.parents:
        return PulumiChoice(
            PulumiSource(json.loads(_record(cache).read_text(encoding="utf-8"))["way"]), "installed", installed
        )
    if download and _runs(_PROBE, _SITE, seconds=8):
        return PulumiChoice(PulumiSource.OFFICIAL, "get.pulumi.com answers", None)
    return PulumiChoice(PulumiSource.BUILD, "pulumi is not on the PATH, and get.pulumi.com does not answer", None)


def install(cache: Path, choice: PulumiChoice, say: Callable[[str], None]) -> None:
    """Install ``pulumi`` as chosen, record the choice in the cache, and report the path and the reason.

    If Pulumi's own installer fails, build from source. Raises Refusal if the build fails or Go is missing.
    """
    source, reason, executable = choice.source, choice.reason, choice.present
    if executable is None and source is PulumiSource.OFFICIAL:
        say(f"pulumi: running Pulumi's own installer ({reason})")
        executable = _official(cache)
        if executable is None:
            source, reason = PulumiSource.BUILD, "Pulumi's own installer failed"
    if executable is None:
        prerequisites.require(maven=False, go=True)
        say(f"pulumi: building from Go modules ({reason})")
        executable = build(_root(cache), say)
    for folder in (home(cache), state(cache)):
        folder.mkdir(parents=True, exist_ok=True)
    _turn_off_logs(home(cache) / "logs")
    chosen = {"way": source.value, "executable": str(executable), "fingerprint": fingerprint()}
    replace_file(_record(cache), json.dumps(chosen))
    say(f"pulumi: {executable} ({reason})")


def _turn_off_logs(logs: Path) -> None:
    """Make ``logs`` a file, so that Pulumi writes no automatic log: it takes as long as all else for 1,000 topics."""
    if logs.is_dir():
        shutil.rmtree(logs)
    logs.touch()


def _root(cache: Path) -> Path:
    return cache / "pulumi"


def _record(cache: Path) -> Path:
    return _root(cache) / "chosen.json"


def _on_path(cache: Path) -> Path | None:
    """Return the first ``pulumi`` on the PATH outside of the project's cache; None if it is missing or too old."""
    own = (_root(cache) / "bin").resolve()
    folders = [
        folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder and Path(folder).resolve() != own
    ]
    found = shutil.which("pulumi", path=os.pathsep.join(folders))
    if found is None:
        return None
    return Path(found).absolute() if recent_enough(version(Path(found))) else None


def version(pulumi: Path) -> str | None:
    """Return the version that ``pulumi`` reports, such as ``3.250.0``; None if it reports none."""
    environment = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        answer = subprocess.run(
            [str(pulumi), "version"], capture_output=True, text=True, timeout=30, env=environment, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.match(r"v(\d+\.\d+\S*)", answer)
    return found[1] if found else None


def recent_enough(version: str | None) -> bool:
    """Return whether topicwarden works with this version of Pulumi."""
    found = re.match(r"(\d+)\.(\d+)", version or "")
    return found is not None and (int(found[1]), int(found[2])) >= OLDEST


def _official(cache: Path) -> Path | None:
    """Install ``pulumi`` and its language hosts with ``pulumi.automation``, in the version of the installed SDK.

    Returns the path of ``pulumi``, or None if the installation failed.
    """
    root, partial = _root(cache), _root(cache) / ".official.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    done = _runs(_INSTALL, str(partial), seconds=600)
    if done:
        shutil.rmtree(root / "bin", ignore_errors=True)
        (partial / "bin").rename(root / "bin")
    shutil.rmtree(partial, ignore_errors=True)
    return root / "bin" / "pulumi" if done else None


def _runs(code: str, argument: str, seconds: float) -> bool:
    """Return whether the Python ``code`` succeeds within ``seconds``.

    It runs in a separate process, because DNS resolution has no timeout.
    """
    command = [sys.executable, "-c", code, argument]
    devnull = subprocess.DEVNULL
    try:
        return subprocess.run(command, stdout=devnull, stderr=devnull, timeout=seconds, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


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
    process = _start(program, partial / name, patches.options(program.module, partial))
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


def _start(program: GoProgram, target: Path, replaced: Sequence[str]) -> subprocess.Popen[bytes]:
    command = ["go", "build", "-mod=readonly", "-buildvcs=false", "-trimpath", *replaced]
    command += ["-ldflags", f"-s -w -X {program.variable}={program.version}", "-o", str(target), program.package]
    with target.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(
            command,
            cwd=program.module,
            env={**os.environ, **patches.GO_ENVIRONMENT},
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
