"""Test that a check of a pull request starts fast: what it imports, and what runs before the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support.command import bad_project
from topicwarden import __version__

HEAVY = ("pulumi", "pulumi_kafka", "pulumi_policy", "pyspark", "py4j", "kafka", "confluent_kafka", "pandas", "numpy")
NEEDLESS = ("cryptography", "jinja2", "junitparser", "asyncio", "grpc")
COMMANDS = (
    ["check"],
    ["check", "--format", "sarif"],
    ["check", "--format", "json"],
    ["check", "--diff"],
    ["show", "--stack", "dev"],
    ["show", "legacy.fine", "--stack", "dev"],
    ["schema", "topic"],
    ["schema", "policy"],
)
RUN = """
import io, json, sys
from contextlib import redirect_stdout
from topicwarden.cli.main import app
for arguments in json.loads(sys.argv[1]):
    with redirect_stdout(io.StringIO()) as output:
        try:
            app(arguments, standalone_mode=False)
        except BaseException as stopped:
            print(repr(stopped), file=sys.stderr)
    imported = sorted({name.partition(".")[0] for name in sys.modules})
    print(json.dumps([" ".join(arguments), bool(output.getvalue()), imported]))
"""


def test_nothing_heavy_is_imported(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(COMMANDS)],
        cwd=bad_project(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [command for command, printed, _ in lines if printed] == [" ".join(command) for command in COMMANDS]
    for command, _, imported in lines:
        assert "topicwarden" in imported
        assert (command, sorted({*HEAVY, *NEEDLESS} & set(imported))) == (command, [])


INTERRUPTED = """
import sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == "topicwarden.cli.main":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
from topicwarden.__main__ import main
main()
"""


def run(*arguments: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_the_module_is_the_program() -> None:
    assert run("-m", "topicwarden", "--version") == (0, f"{__version__}\n", "")


def test_an_interrupt_while_modules_load_prints_no_traceback() -> None:
    assert run("-c", INTERRUPTED) == (130, "", "")
