"""Change Go modules of a build: a library that parses its data when a program starts parses them when it is used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

GO_ENVIRONMENT: Final = {"GO111MODULE": "on", "GOWORK": "off", "CGO_ENABLED": "0"}


def options(module: Path, folder: Path) -> list[str]:
    """Return the options of ``go build`` with which ``module`` is built with its patches; without patches, none.

    ``patches.json`` beside ``go.mod`` has, by the path of a Go module and of a file in it, pairs of a text and its
    replacement. The patched copies are written to ``folder``. A module that cannot be downloaded, or lacks a text, is
    built as it is.
    """
    patches = module / "patches.json"
    if not patches.is_file() or shutil.which("go") is None:
        return []
    files: dict[str, dict[str, list[list[str]]]] = json.loads(patches.read_text(encoding="utf-8"))
    replaced = []
    for found in _downloaded(module, *files):
        copy = folder / found["Path"].replace("/", "_")
        if _patch(Path(found["Dir"]), copy, files[found["Path"]]):
            if not (copy / "go.mod").exists():
                (copy / "go.mod").write_text(f"module {found['Path']}\n", encoding="utf-8")
            replaced.append(f"\nreplace {found['Path']} => {copy}\n")
    changed = folder / "patched.mod"
    changed.write_text((module / "go.mod").read_text(encoding="utf-8") + "".join(replaced), encoding="utf-8")
    shutil.copy(module / "go.sum", changed.with_suffix(".sum"))
    return [f"-modfile={changed}"]


def _downloaded(module: Path, *paths: str) -> Iterator[dict[str, Any]]:
    """Yield what Go says about each of the modules ``paths`` that it has: at least ``Path`` and ``Dir``."""
    done = subprocess.run(
        ["go", "mod", "download", "-json", *paths],
        cwd=module,
        env={**os.environ, **GO_ENVIRONMENT},
        capture_output=True,
        text=True,
        check=False,
    )
    decoder, text = json.JSONDecoder(), done.stdout.strip()
    while text:
        found, end = decoder.raw_decode(text)
        text = text[end:].lstrip()
        if "Dir" in found:
            yield found


def _patch(source: Path, copy: Path, files: dict[str, list[list[str]]]) -> bool:
    """Write the module in ``source`` to ``copy`` with its files changed; return whether it has all texts once."""
    if not all((source / name).is_file() for name in files):
        return False
    texts = {name: (source / name).read_text(encoding="utf-8") for name in files}
    if not all(texts[name].count(old) == 1 for name, pairs in files.items() for old, _ in pairs):
        return False
    shutil.copytree(source, copy, copy_function=shutil.copyfile)
    for folder, _, _ in os.walk(copy):
        Path(folder).chmod(0o755)
    for name, pairs in files.items():
        for old, new in pairs:
            texts[name] = texts[name].replace(old, new)
        (copy / name).write_text(texts[name], encoding="utf-8")
    return True
