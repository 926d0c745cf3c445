"""Build the newest supported Pulumi, that of the SDK, beside the built one, which is the oldest."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.conftest import REPOSITORY
from topicwarden.deploy.linked_environment import write_language_host
from topicwarden.model.files import replace_file
from topicwarden.toolchain import pulumi_cli
from topicwarden.toolchain.pulumi_cli import GoProgram, go_build

MODULE: Final = Path(__file__).parent
CACHE: Final = REPOSITORY / ".cache" / "pulumi-newest"
"""A cache with this Pulumi, and links to all other tools: the value of `TOPICWARDEN_CACHE`."""
BIN: Final = CACHE / "pulumi" / "bin"


def version() -> str:
    """Return the version that `go.mod` requires, such as ``3.250.0``."""
    [found] = re.findall(r"github\.com/pulumi/pulumi/pkg/v3 v(\S+)", (MODULE / "go.mod").read_text(encoding="utf-8"))
    return str(found)


def built() -> bool:
    """Return whether this version is built."""
    stamp = BIN.parent / "version"
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == version()


def build(say: Callable[[str], None]) -> None:
    """Build this version into its cache, if it is missing. Raises Refusal if that fails."""
    pulumi = BIN / "pulumi"
    CACHE.mkdir(parents=True, exist_ok=True)
    jars = CACHE / "jars"
    if not jars.is_symlink():
        jars.symlink_to(REPOSITORY / ".cache" / "jars")
    if not built():
        package, variable = "pulumi/pkg/v3/cmd/pulumi", "pulumi/sdk/v3/go/common/version.Version"
        program = GoProgram(MODULE, f"github.com/pulumi/{package}", f"github.com/pulumi/{variable}", f"v{version()}")
        go_build(program, pulumi, BIN.parent, say)
    for folder in ("home", "state"):
        (BIN.parent / folder).mkdir(exist_ok=True)
    write_language_host(BIN)
    # As if it was found on the PATH: an installation does not build it again.
    record = {"way": "path", "executable": str(pulumi), "fingerprint": pulumi_cli.fingerprint()}
    replace_file(BIN.parent / "chosen.json", json.dumps(record))
    replace_file(BIN.parent / "version", version())
