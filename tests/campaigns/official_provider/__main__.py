"""Builds the official provider into the cache of the repository, if it is missing and there is Go."""

from __future__ import annotations

import shutil
import sys
from importlib.metadata import version
from pathlib import Path

from topicwarden.model.project import find_project
from topicwarden.toolchain.pulumi_cli import GoProgram, go_build


def main() -> None:
    number, root = version("pulumi-kafka"), find_project().tools_cache / "pulumi"
    # The CLI looks for it there if PULUMI_HOME is root/home.
    plugin = root / "home" / "plugins" / f"resource-kafka-v{number}" / "pulumi-resource-kafka"
    if not plugin.is_file() and shutil.which("go"):
        program = GoProgram(Path(__file__).parent, ".", "main.version", number)
        go_build(program, plugin, root, lambda line: print(line, file=sys.stderr))


if __name__ == "__main__":
    main()
