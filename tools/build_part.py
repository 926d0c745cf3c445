"""Build Pulumi or the Spark reader before there is any Python package: `python3 -m tools.build_part pulumi|reader`.

Pulumi is only built if it is not on the PATH. Uses those modules of `topicwarden.toolchain` that need the standard
library only.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tools.python_environment import REPOSITORY

sys.path[:0] = [str(REPOSITORY / "validation")]
if not TYPE_CHECKING and "topicwarden.toolchain" not in sys.modules:
    # The package imports other packages in its __init__.py. These modules of it do not.
    _toolchain = types.ModuleType("topicwarden.toolchain")
    _toolchain.__path__ = [str(REPOSITORY / "validation" / "topicwarden" / "toolchain")]
    sys.modules["topicwarden.toolchain"] = _toolchain

from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.toolchain import prerequisites, pulumi_cli, spark_reader
from topicwarden.toolchain.pulumi_cli import PulumiSource

__all__ = ["PROJECT", "PulumiSource", "Refusal", "prerequisites", "pulumi_cli", "spark_reader"]

PROJECT = Project(REPOSITORY)


def main(arguments: Sequence[str]) -> int:
    """Build the part. Return 2 if that fails."""
    try:
        match list(arguments):
            case ["pulumi"]:
                cache = PROJECT.tools_cache
                pulumi_cli.install(cache, pulumi_cli.choose(cache, download=False), print)
            case ["reader"]:
                spark_reader.build(PROJECT, print)
            case _:
                raise Refusal(f"expected pulumi or reader, got '{' '.join(arguments)}'")
    except Refusal as refusal:
        print(refusal, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
