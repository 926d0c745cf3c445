"""Install the wheel as a user does: in an environment outside of the repository."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter
from pathlib import Path

from filelock import FileLock

from tests.conftest import REPOSITORY

LOCK = REPOSITORY / "requirements.lock"


def build_wheel(folder: Path) -> Path:
    """Build the wheel into ``folder``, and return its path."""
    _run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


def install_with_everything(wheel: Path, environment: Path) -> None:
    """Create ``environment`` with the wheel. Its dependencies are those of the running Python, which has all extras."""
    _create(Path(sys.executable), environment)
    # A line with a folder does not read the .pth files in it, so the repository's own topicwarden remains hidden.
    _site_packages(environment).joinpath("dependencies.pth").write_text(sysconfig.get_path("purelib"))
    _install(wheel, environment)


def install_without_extras(wheel: Path, python: Path, environment: Path) -> None:
    """Create ``environment`` with the wheel and its dependencies, for another Python.

    The dependencies have the locked versions. They are installed into the repository's cache, once.
    """
    digest = hashlib.sha256(LOCK.read_bytes() + str(python).encode()).hexdigest()[:16]
    dependencies = REPOSITORY / ".cache" / "interpreters" / digest
    dependencies.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(dependencies.with_suffix(".lock")):  # two workers of one run may need them at the same time
        if not (dependencies / "complete").is_file():
            shutil.rmtree(dependencies, ignore_errors=True)
            _create(python, dependencies)
            constraints = dependencies / "constraints.txt"
            lines = LOCK.read_text(encoding="utf-8").splitlines()
            # pip accepts no extras in constraints.
            pins = (re.sub(r"^([\w.-]+)\[.*?\]", r"\1", line) for line in lines if line[:1].isalnum())
            constraints.write_text("\n".join(pin.rstrip(" \\") for pin in pins))
            _pip(dependencies, "--constraint", constraints, wheel)
            _pip(dependencies, "topicwarden", verb=("uninstall", "--yes"))
            (dependencies / "complete").touch()
    _create(python, environment)
    _site_packages(environment).joinpath("dependencies.pth").write_text(str(_site_packages(dependencies)))
    _install(wheel, environment)


def base_install(wheel: Path, python: Path, environment: Path) -> dict[str, int]:
    """Install the wheel without extras into ``environment``, and return the bytes of each package and of the programs.

    Files that Python writes at the first use (`__pycache__`) are not counted.
    """
    install_without_extras(wheel, python, environment)
    (pth,) = _site_packages(environment).glob("dependencies.pth")
    dependencies = Path(pth.read_text()).parents[2]
    sizes: Counter[str] = Counter()
    for root in (dependencies, environment):
        for path in root.rglob("*"):
            if path.is_file() and not path.is_symlink() and "__pycache__" not in path.parts:
                packages = _site_packages(root)
                relative = path.relative_to(packages if path.is_relative_to(packages) else root)
                sizes[relative.parts[0]] += path.stat().st_size
    return dict(sizes)


def resolution(wheel: Path, extras: str = "") -> str:
    """Return what pip prints while it resolves the dependencies of the wheel, without the pins of the lock."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", f"{wheel}{extras}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def find_python(version: str) -> Path | None:
    """Return an interpreter of the minor version, such as ``3.13``: on the PATH, or of pyenv; None if there is none."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = shutil.which(f"python{version}")
    candidates: list[str | Path] = [sys.executable, *([found] if found else [])]
    candidates += sorted(root.glob(f"versions/{version}.*/bin/python"))
    for candidate in candidates:
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run([candidate, "-c", code], capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip() == version:
            return Path(candidate)
    return None


def _create(python: Path, environment: Path) -> None:
    _run(python, "-m", "venv", "--without-pip", environment)


def _install(wheel: Path, environment: Path) -> None:
    _pip(environment, "--no-deps", "--no-index", wheel)


def _pip(environment: Path, *arguments: str | Path, verb: tuple[str, ...] = ("install",)) -> None:
    _run(sys.executable, "-m", "pip", "--python", environment / "bin" / "python", *verb, "--quiet", *arguments)


def _site_packages(environment: Path) -> Path:
    return next(environment.glob("lib/python*/site-packages"))


def _run(*command: str | Path) -> None:
    done = subprocess.run([str(part) for part in command], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
