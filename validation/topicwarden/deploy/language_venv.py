"""The virtual environment of a program: ``runtime.options.virtualenv`` in Pulumi.yaml or PulumiPolicy.yaml.

The default is the environment of the language host.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

from pulumi.runtime.proto.language_pb2 import ProgramInfo


def python_of(info: ProgramInfo) -> Path:
    """Return the interpreter for a program or policy pack; the file may not exist."""
    folder = _virtualenv(info)
    return folder / "bin" / "python" if folder else Path(sys.executable)


def activated(info: ProgramInfo) -> dict[str, str]:
    """Return the environment variables that the ``activate`` script would set."""
    folder = _virtualenv(info)
    if folder is None:
        return {}
    path = os.environ.get("PATH", os.defpath)
    return {"VIRTUAL_ENV": str(folder), "PATH": f"{folder / 'bin'}{os.pathsep}{path}"}


def site_packages(info: ProgramInfo) -> list[Path]:
    """Return the folders with the installed packages of the environment."""
    folder = _virtualenv(info)
    if folder is None:
        return [Path(sysconfig.get_path("purelib"))]
    return sorted(folder.glob("lib/python*/site-packages"))


def _virtualenv(info: ProgramInfo) -> Path | None:
    virtualenv = dict(info.options).get("virtualenv")
    return Path(info.root_directory, str(virtualenv)).absolute() if virtualenv else None
