"""Install locked Python packages into `.venv`, and uv and hatchling into `.cache/tools`. Standard library only.

`python3 -m tools.python_environment demo|all|tools`. uv installs the packages. If uv cannot be installed, pip does.
Both verify the hashes of the locks. A stamp says which lock an environment has, and is written last: an environment
without a stamp is made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
LOCKS = {"demo": "requirements-demo.lock", "all": "requirements.lock"}
"""The lock of each selection of packages. The second one has all of the first."""
_TOOLS_LOCK = "tools/requirements.lock"
_STAMP = ".installed.json"
_UV_OPTIONS = {"index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX", "cert": "SSL_CERT_FILE"}
"""Settings of pip, as `pip config list` prints them, and the variables with the same meaning for uv."""


class PythonEnvironment:
    """The environments of the repository in the folder ``root``."""

    def __init__(self, root: Path = REPOSITORY) -> None:
        self.root, self.folder, self.tools = root, root / ".venv", root / ".cache" / "tools"

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def current(self, selection: str) -> bool:
        """Return whether `.venv` has the packages of ``selection``, with the versions of the lock."""
        stamp = self._stamp(self.folder)
        if not self.python.exists() or stamp.get("python") != _identity():
            return False
        return any(stamp.get(each) == self._digest(each) for each in _including(selection))

    def install(self, selection: str) -> None:
        """Make `.venv` current. Packages that it already has stay.

        Raises CalledProcessError if a command fails, after it has printed the reason.
        """
        if self.current(selection):
            return
        stamp = self._stamp(self.folder)
        if "all" in stamp:
            selection = "all"  # never take packages away from a developer
        uv = self.uv()
        kept = bool(stamp) and stamp.get("python") == _identity() and self.python.exists()
        (self.folder / _STAMP).unlink(missing_ok=True)
        if not kept:
            _run(sys.executable, "-m", "venv", "--clear", "--without-pip", str(self.folder))
        lock = LOCKS[selection]
        if not (uv and self._synced(uv, lock)):
            pip = [
                str(self.tools / "bin" / "python"),
                "-m",
                "pip",
                "--python",
                str(self.python),
                "install",
                "--no-deps",
            ]
            _run(*pip, "--require-hashes", "--requirement", lock, folder=self.root)
            _run(*pip, "--no-build-isolation", "--editable", ".", folder=self.root)
        self._write_stamp(self.folder, selection)

    def uv(self) -> Path | None:
        """Return the locked uv; install it first if it is missing. None if it cannot be installed."""
        try:
            self.install_tools()
        except subprocess.CalledProcessError:
            if not (self.tools / "bin" / "pip").exists():
                raise
            print("uv cannot be installed, so pip installs the packages, which takes longer", flush=True)
            return None
        return self.tools / "bin" / "uv"

    def install_tools(self) -> None:
        """Install uv and hatchling into `.cache/tools`. Raises CalledProcessError if that fails."""
        digest = _sha256(self.root / _TOOLS_LOCK)
        stamp = self._stamp(self.tools)
        if stamp.get("tools") == digest and stamp.get("python") == _identity() and (self.tools / "bin" / "uv").exists():
            return
        (self.tools / _STAMP).unlink(missing_ok=True)
        try:
            _run(sys.executable, "-m", "venv", "--clear", str(self.tools))
        except subprocess.CalledProcessError:
            print("Python cannot make a virtual environment (Debian: apt-get install python3-venv)", flush=True)
            raise
        pip = [str(self.tools / "bin" / "python"), "-m", "pip", "install"]
        _run(*pip, "--no-deps", "--require-hashes", "--requirement", _TOOLS_LOCK, folder=self.root)
        self._write_stamp(self.tools, "tools")

    def _synced(self, uv: Path, lock: str) -> bool:
        """Return whether uv has installed exactly the packages of the lock, and this repository."""
        variables = {**os.environ, **self._settings_of_pip(), "UV_PYTHON_DOWNLOADS": "never"}
        target = ["--python", str(self.python)]
        try:
            _run(str(uv), "pip", "sync", "--require-hashes", *target, lock, folder=self.root, variables=variables)
            editable = ["--no-deps", "--no-build-isolation", "--editable", "."]
            _run(str(uv), "pip", "install", *editable, *target, folder=self.root, variables=variables)
        except subprocess.CalledProcessError:
            print("uv cannot install the packages, so pip tries, which takes longer", flush=True)
            return False
        return True

    def _settings_of_pip(self) -> dict[str, str]:
        """Return variables that make uv use the indexes, wheels and certificates that pip is configured to use."""
        listed = subprocess.run(
            [str(self.tools / "bin" / "python"), "-m", "pip", "config", "list"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        settings = dict(re.findall(r"^\S*\.([\w-]+)='(.*)'$", listed, re.MULTILINE))
        variables = {_UV_OPTIONS[name]: value for name, value in settings.items() if name in _UV_OPTIONS}
        if Path(settings.get("find-links", "")).is_dir() and settings.get("find-links"):
            variables["UV_FIND_LINKS"] = settings["find-links"]
        return {name: value for name, value in variables.items() if name not in os.environ}

    def _digest(self, selection: str) -> str:
        return _sha256(self.root / LOCKS[selection], self.root / "pyproject.toml")

    def _stamp(self, folder: Path) -> dict[str, str]:
        """Return the stamp of an environment; an empty one if the environment is not complete."""
        try:
            found = json.loads((folder / _STAMP).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _write_stamp(self, folder: Path, selection: str) -> None:
        digest = _sha256(self.root / _TOOLS_LOCK) if selection == "tools" else self._digest(selection)
        partial = folder / f"{_STAMP}.partial"
        partial.write_text(json.dumps({"python": _identity(), selection: digest}), encoding="utf-8")
        partial.replace(folder / _STAMP)


def _including(selection: str) -> Sequence[str]:
    """Return the selections that have all packages of ``selection``."""
    names = list(LOCKS)
    return names[names.index(selection) :]


def _identity() -> str:
    """Return the identity of the running Python, whose environments another Python cannot use."""
    return f"{sys.version} {os.path.realpath(sys.base_exec_prefix)}"


def _sha256(*files: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes() + b"\0")
    return digest.hexdigest()


def _run(*command: str, folder: Path | None = None, variables: Mapping[str, str] | None = None) -> None:
    print(shlex.join(command), flush=True)
    subprocess.run(command, cwd=folder, env=variables, check=True)


def main(arguments: Sequence[str]) -> int:
    """Install the selection that ``arguments`` name. Return 2 if that fails."""
    environment = PythonEnvironment()
    try:
        if list(arguments) == ["tools"]:
            environment.install_tools()
        else:
            [selection] = arguments
            environment.install(selection)
    except subprocess.CalledProcessError as error:
        print(f"{shlex.join(error.cmd)}: exit code {error.returncode}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
