"""Provides what plain `pulumi` starts: the environment of ``Pulumi.yaml``, and a language host for a built ``pulumi``.

pipx, ``uv tool`` and images install topicwarden outside of the project. Pulumi then finds neither the provider nor the
Python that has topicwarden. So this module writes ``.venv``, a small environment with the packages of the running
installation.
"""

from __future__ import annotations

import shlex
import site
import sys
import venv
from pathlib import Path
from typing import Final

from filelock import FileLock

import topicwarden
from topicwarden.deploy.pulumi_project import project_settings
from topicwarden.model.files import replace_file
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project

PROVIDER: Final = "pulumi-resource-kafka"

_LINK: Final = "topicwarden-link.pth"
_SCRIPTS: Final = {PROVIDER: "topicwarden.deploy.provider", "topicwarden": "topicwarden"}
"""The scripts of the environment, and the packages that they run."""
# The package's folder is appended to the path, so that a checkout works that is not installed.
_HOST: Final = "import sys; sys.path.append(sys.argv.pop(1)); from topicwarden.deploy.language_host import main; main()"


def link_environment(project: Project) -> Path | None:
    """Write ``.venv`` with the packages of this installation; return its folder, or None if there is nothing to do.

    There is nothing to do if ``Pulumi.yaml`` names no provider in the project, or if its folder is part of an
    environment that the user made. A link to another installation is replaced. Raises Refusal for a file in its place.
    """
    folder = _environment_folder(project)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise Refusal(f"{folder} is a file: expected a virtual environment, which Pulumi runs; rename it or delete it")
    if folder is None or not _outdated(folder):
        return None
    try:
        project.cache.mkdir(parents=True, exist_ok=True)
        with FileLock(project.cache / ".venv.lock", fallback_to_soft=False):
            if _outdated(folder):  # and no other command has written it meanwhile
                _write(folder)
    except OSError as error:
        raise Refusal(f"the virtual environment {folder} cannot be written: {error.strerror}") from error
    return folder


def write_language_host(binaries: Path) -> None:
    """Write ``pulumi-language-python`` into the folder of ``pulumi``, where the CLI looks first.

    The script runs the language host in this Python environment.
    """
    command = shlex.join([sys.executable, "-c", _HOST, str(Path(topicwarden.__file__).parents[1])])
    replace_file(binaries / "pulumi-language-python", f'#!/bin/sh\nexec {command} "$@"\n', 0o755)


def _outdated(folder: Path) -> bool:
    """Return whether ``folder`` must be written: it is missing, or a link to another installation."""
    if folder.resolve() == Path(sys.prefix).resolve():
        return False
    return not _is_current(folder) if _is_link(folder) else not folder.exists()


def _environment_folder(project: Project) -> Path | None:
    """Return the folder of the environment that has the provider according to ``Pulumi.yaml``; None outside."""
    plugins = project_settings(project).get("plugins")
    for provider in (plugins.get("providers") if isinstance(plugins, dict) else None) or ():
        if isinstance(provider, dict) and provider.get("name") == "kafka":
            path = project.root / str(provider.get("path"))
            inside = path.is_relative_to(project.root) and ".." not in path.parts
            return path.parent if inside and path.name == "bin" else None
    return None


def _is_link(folder: Path) -> bool:
    """Return whether this module wrote ``folder``. pip replaces the script when it installs topicwarden there."""
    try:
        return (folder / "bin" / PROVIDER).read_text(encoding="utf-8") == _script(PROVIDER)
    except (OSError, UnicodeDecodeError):
        return False


def _is_current(folder: Path) -> bool:
    """Return whether the link is to this installation, and its Python still exists."""
    links = [file.read_text(encoding="utf-8") for file in folder.glob(f"lib/python*/site-packages/{_LINK}")]
    return links == [_link()] and (folder / "bin" / "python").exists()


def _write(folder: Path) -> None:
    venv.create(folder, symlinks=True, clear=True)
    for name in _SCRIPTS:
        script = folder / "bin" / name
        script.write_text(_script(name), encoding="utf-8")
        script.chmod(0o755)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / _LINK).write_text(_link(), encoding="utf-8")


def _script(name: str) -> str:
    return f'#!/bin/sh\nexec "${{0%/*}}/python" -P -m {_SCRIPTS[name]} "$@"\n'


def _link() -> str:
    """Return the .pth file; ``addsitedir`` also reads the .pth files of the installation, as editable ones have."""
    return "".join(f"import site; site.addsitedir({path!r})\n" for path in _package_folders())


def _package_folders() -> list[str]:
    """Return the folders of this installation's packages."""
    folders = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    package = str(Path(topicwarden.__file__).parents[1])
    return [folder for folder in dict.fromkeys([*folders, package]) if Path(folder).is_dir()]
