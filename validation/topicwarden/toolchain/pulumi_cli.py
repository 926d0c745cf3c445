"""Which ``pulumi`` the project uses: the one on the PATH, Pulumi's own installer's, or one built from Go modules."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from topicwarden.toolchain import prerequisites, pulumi_build

OLDEST = (3, 200)

_SITE = "https://get.pulumi.com/install.sh"
_PROBE = "import sys, urllib.request as r; r.urlopen(r.Request(sys.argv[1], method='HEAD'), timeout=5).close()"
_INSTALL = "import sys; from pulumi.automation import PulumiCommand; PulumiCommand.install(root=sys.argv[1])"


class PulumiSource(StrEnum):
    PATH = "path"
    OFFICIAL = "official"
    BUILD = "build"


@dataclass(frozen=True)
class PulumiChoice:
    """A way to get at ``pulumi``, why this one, and what of it is there already."""

    way: PulumiSource
    why: str
    present: Path | None


def home(cache: Path) -> Path:
    """The project's own PULUMI_HOME."""
    return _root(cache) / "home"


def state(cache: Path) -> Path:
    """The folder of the file backend that the sandbox's stacks are kept in."""
    return _root(cache) / "state"


def present(cache: Path) -> Path | None:
    """The ``pulumi`` that the last installation chose, if it still is what would be installed today."""
    record = _record(cache)
    if not record.is_file():
        return None
    chosen = json.loads(record.read_text(encoding="utf-8"))
    executable = Path(chosen["executable"])
    current = pulumi_build.plugin(_root(cache)).is_file() and chosen["fingerprint"] == pulumi_build.fingerprint()
    stale = chosen["way"] == PulumiSource.BUILD and not current
    return executable if os.access(executable, os.X_OK) and not stale else None


def choose(cache: Path) -> PulumiChoice:
    """Takes at most some seconds: no more than a look at whether Pulumi's site answers is done here."""
    found = _on_path(cache)
    if found:
        return PulumiChoice(PulumiSource.PATH, f"{found} is on the PATH", found)
    installed = present(cache)
    if installed and _root(cache) in installed.parents:
        return PulumiChoice(
            PulumiSource(json.loads(_record(cache).read_text(encoding="utf-8"))["way"]), "installed", installed
        )
    if _runs(_PROBE, _SITE, seconds=8):
        return PulumiChoice(PulumiSource.OFFICIAL, "get.pulumi.com answers", None)
    return PulumiChoice(PulumiSource.BUILD, "no pulumi on the PATH, and get.pulumi.com does not answer", None)


def install(cache: Path, choice: PulumiChoice, say: Callable[[str], None]) -> None:
    """Carries the choice out and notes it down; says in one line which way was taken and why.

    Raises Refusal when the build, the last way, fails or has no Go.
    """
    way, why, executable = choice.way, choice.why, choice.present
    if executable is None and way is PulumiSource.OFFICIAL:
        say(f"pulumi: running Pulumi's own installer ({why})")
        executable = _official(cache)
        if executable is None:
            way, why = PulumiSource.BUILD, "Pulumi's own installer failed"
    if executable is None:
        prerequisites.require(maven=False, go=True)
        say(f"pulumi: building it from Go modules ({why})")
        executable = pulumi_build.build(_root(cache), say)
    if way is PulumiSource.BUILD:
        pulumi_build.write_language_host(_root(cache))
    for folder in (home(cache), state(cache)):
        folder.mkdir(parents=True, exist_ok=True)
    chosen = {"way": way.value, "executable": str(executable), "fingerprint": pulumi_build.fingerprint()}
    partial = _record(cache).with_suffix(".partial")
    partial.write_text(json.dumps(chosen), encoding="utf-8")
    partial.replace(_record(cache))
    say(f"pulumi: {executable} ({why})")


def _root(cache: Path) -> Path:
    return cache / "pulumi"


def _record(cache: Path) -> Path:
    return _root(cache) / "chosen.json"


def _on_path(cache: Path) -> Path | None:
    """A ``pulumi`` that is not the project's own, and new enough."""
    own = (_root(cache) / "bin").resolve()
    folders = [one for one in os.environ.get("PATH", "").split(os.pathsep) if one and Path(one).resolve() != own]
    found = shutil.which("pulumi", path=os.pathsep.join(folders))
    if found is None:
        return None
    quiet = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        answer = subprocess.run(
            [found, "version"], capture_output=True, text=True, timeout=30, env=quiet, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.match(r"v(\d+)\.(\d+)", answer)
    return Path(found).absolute() if version and (int(version[1]), int(version[2])) >= OLDEST else None


def _official(cache: Path) -> Path | None:
    """What ``pulumi.automation`` installs: the version of the installed SDK, with its language hosts."""
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
    """Whether a piece of Python ends well in time; a process of its own, since a name's resolution has no time-out."""
    command = [sys.executable, "-c", code, argument]
    quiet = subprocess.DEVNULL
    try:
        return subprocess.run(command, stdout=quiet, stderr=quiet, timeout=seconds, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False
