"""The virtual environment that Pulumi.yaml or PulumiPolicy.yaml names: ``runtime.options.virtualenv``.

Where none is named, it is the one that the language host runs in.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

from pulumi.runtime.proto.language_pb2 import ProgramInfo


def python_of(info: ProgramInfo) -> Path:
    """The interpreter for a program or policy pack; it need not exist."""
    folder = _virtualenv(info)
    return folder / "bin" / "python" if folder else Path(sys.executable)


def activated(info: ProgramInfo) -> dict[str, str]:
    """The variables that the environment's ``activate`` would set."""
    folder = _virtualenv(info)
    if folder is None:
        return {}
    path = os.environ.get("PATH", os.defpath)
    return {"VIRTUAL_ENV": str(folder), "PATH": f"{folder / 'bin'}{os.pathsep}{path}"}


def site_packages(info: ProgramInfo) -> list[Path]:
    """The folders that its packages are installed in."""
    folder = _virtualenv(info)
    if folder is None:
        return [Path(sysconfig.get_path("purelib"))]
    return sorted(folder.glob("lib/python*/site-packages"))


def _virtualenv(info: ProgramInfo) -> Path | None:
    named = dict(info.options).get("virtualenv")
    return Path(info.root_directory, str(named)).absolute() if named else None
