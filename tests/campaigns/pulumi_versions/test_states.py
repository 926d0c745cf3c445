"""Test that the oldest and the newest supported Pulumi open the state of the other one."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.campaigns.pulumi_versions import newest
from tests.conftest import REPOSITORY
from tests.engine.provider.conftest import ExchangeableStack
from topicwarden.toolchain import Toolchain, pulumi_cli

pytestmark = pytest.mark.nightly("It needs another build with Go. The suite has the same tests with the locked one.")
UP = "up --yes --skip-preview --suppress-outputs"


def use(stack: ExchangeableStack, pulumi: Path) -> None:
    """Run this ``pulumi`` from now on, with the language host beside it."""
    variables = dict(stack.shell.variables)
    variables["PATH"] = os.pathsep.join([str(pulumi.parent), variables.get("PATH", os.environ["PATH"])])
    stack.shell = replace(stack.shell, variables=variables)
    expected = pulumi_cli.version(pulumi)
    assert expected and stack.pulumi("version").strip() == f"v{expected}"


@pytest.mark.parametrize("order", [("oldest", "newest"), ("newest", "oldest")], ids="-".join)
def test_each_version_opens_and_changes_the_state_of_the_other_one(
    stack: ExchangeableStack, tools: Toolchain, order: tuple[str, str]
) -> None:
    built = REPOSITORY / ".cache" / "pulumi" / "bin" / "pulumi"
    pulumis = {"oldest": built if built.exists() else tools.pulumi, "newest": newest.BIN / "pulumi"}
    first, second = (pulumis[name] for name in order)
    stack.use("own")
    use(stack, first)
    stack.pulumi(UP)
    before = stack.resources()
    assert before

    use(stack, second)
    stack.pulumi("preview --expect-no-changes")
    stack.pulumi("refresh --yes --skip-preview --expect-no-changes")
    stack.pulumi(f"{UP} --expect-no-changes")
    assert stack.resources() == before

    use(stack, first)
    stack.pulumi("preview --expect-no-changes")
    stack.pulumi("state unprotect --yes --all")
    use(stack, second)
    stack.pulumi("destroy --yes --skip-preview")
    assert stack.resources() == {}
