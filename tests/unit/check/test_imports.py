"""A check of a pull request starts in no time: it imports nothing that talks to a cluster, deploys or draws."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.command import HERE

HEAVY = ("pulumi", "pulumi_kafka", "pulumi_policy", "pyspark", "py4j", "kafka", "confluent_kafka", "pandas", "numpy")
NEEDLESS = ("vl_convert", "jinja2", "junitparser", "asyncio", "grpc")
RUN = """
import sys
from topicwarden.cli.main import app
try:
    app({arguments!r}, standalone_mode=False)
except BaseException as stopped:
    print(repr(stopped), file=sys.stderr)
print("|".join(sorted({{name.partition(".")[0] for name in sys.modules}})), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["check", "--format", "sarif"],
        ["check", "--format", "json"],
        ["check", "--diff"],
        ["show", "--stack", "dev"],
        ["show", "legacy.fine", "--stack", "dev"],
        ["schema", "topic"],
        ["schema", "policy"],
    ],
    ids=" ".join,
)
def test_nothing_heavy_is_imported(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(arguments=arguments)],
        cwd=HERE / "bad",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout
    imported = done.stderr.splitlines()[-1].split("|")
    assert "topicwarden" in imported
    assert sorted({*HEAVY, *NEEDLESS} & set(imported)) == []
