"""Run jobs of GitHub's workflows and GitLab's component: the shell lines of the files, in a folder that acts as clone.

Third-party actions do not run; their inputs are recorded. Every expression that a job uses must be in the context, so
that a misspelt or new expression fails. A fake `python -m venv` creates an environment with this repository's
`topicwarden`, because the version under test is in no package index.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

import topicwarden
from tests.conftest import REPOSITORY

# Run jobs of GitHub's workflows and GitLab's component: the shell lines of the files, in a folder that acts as
# clone.

TEMPLATE: Final = Path(topicwarden.__file__).parent / "template"
"""The files for users' projects. This repository's example project is tested with them."""
WORKFLOWS: Final = TEMPLATE / ".github" / "workflows"
ACTION: Final = REPOSITORY / "action.yml"
PUBLISHED: Final = "topicwarden/topicwarden@v1"
"""The Action as other repositories name it."""
COMPONENT: Final = REPOSITORY / "templates" / "topicwarden.yml"
PAGE: Final = (REPOSITORY / "docs" / "how-to" / "continuous-integration.md").read_text(encoding="utf-8")
BLOCKS: Final[list[str]] = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
PAGE_WORKFLOWS: Final = [text for text in BLOCKS if "jobs:" in text]
"""The workflows that the page about CI shows."""

_BIN: Final = Path(sys.executable).parent
_EXPRESSION: Final = re.compile(r"\$\{\{ *(.+?) *\}\}")
_INPUT: Final = re.compile(r"\$\[\[ *inputs\.([\w-]+) *\]\]")
_OURS: Final = ("PULUMI_", "TOPICWARDEN_", "GITHUB_", "CI_", "GITLAB_", "SPARK_CONF_DIR", "FORCE_COLOR", "NO_COLOR")
_PYTHON: Final = f"""#!/bin/sh
test "$1 $2" = "-m venv" || exec {sys.executable} "$@"
mkdir -p "$3/bin"
ln -sf {_BIN / "topicwarden"} "$3/bin/topicwarden"
printf '#!/bin/sh\\necho pip "$@"\\n' > "$3/bin/pip"
chmod +x "$3/bin/pip"
"""


def load(path: Path) -> dict[Any, Any]:
    """Return a workflow or an action. The key `on` is True, as in YAML 1.1."""
    loaded: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return loaded


def component_jobs(inputs: Mapping[str, str]) -> dict[str, Any]:
    """Return the jobs of GitLab's component with ``inputs`` and the defaults, and with ``extends`` resolved."""
    header, body = COMPONENT.read_text(encoding="utf-8").split("\n---\n")
    declared = yaml.safe_load(header)["spec"]["inputs"]
    values = {name: str(each["default"]) for name, each in declared.items() if "default" in each} | dict(inputs)
    assert values.keys() == declared.keys()
    jobs: dict[str, Any] = _interpolated(yaml.safe_load(body), values)
    return {name: {**jobs.get(job.get("extends"), {}), **job} for name, job in jobs.items()}


def _interpolated(node: Any, values: Mapping[str, str]) -> Any:
    """Return ``node`` with the values of inputs. GitLab, too, parses the YAML first."""
    if isinstance(node, dict):
        return {_interpolated(key, values): _interpolated(value, values) for key, value in node.items()}
    if isinstance(node, list):
        return [_interpolated(each, values) for each in node]
    return _INPUT.sub(lambda found: values[found[1]], node) if isinstance(node, str) else node


@dataclass(frozen=True)
class Ran:
    """A step that ran: its exit code and its output; or an action with its inputs, and our Action with its steps."""

    code: int = 0
    log: str = ""
    given: Mapping[str, str] = field(default_factory=dict)
    steps: Mapping[str, Ran] = field(default_factory=dict)


@dataclass
class Runner:
    """A machine with one clone, ``folder``.

    ``context`` has the value of each expression, ``variables`` those of the run. ``programs`` is an empty folder that
    comes first on the PATH. ``checkout`` checks out the target branch into a folder.
    """

    folder: Path
    context: dict[str, str]
    variables: Mapping[str, str]
    programs: Path
    checkout: Callable[[Path], None]

    def __post_init__(self) -> None:
        self.programs.mkdir(exist_ok=True)
        (self.programs / "python").write_text(_PYTHON)
        (self.programs / "python").chmod(0o755)

    @property
    def summary(self) -> Path:
        return self.folder.parent / "summary"

    @property
    def temporary(self) -> Path:
        """The folder that GitHub calls RUNNER_TEMP."""
        return self.folder.parent / "runner temp"

    def job(self, workflow: str, job: str) -> dict[str, Ran]:
        """Return the steps that ran, by name. After a failed step, only steps with ``!cancelled()`` run."""
        file = load(WORKFLOWS / workflow)
        assert file["defaults"] == {"run": {"shell": "bash"}}
        self.summary.write_text("")
        return self.steps(file["jobs"][job]["steps"])

    def page_job(self, text: str, stack: str) -> dict[str, Ran]:
        """Return the steps of the only job of a workflow on the page about CI, with ``stack`` in the place of prod."""
        (job,) = yaml.safe_load(text.replace("stack: prod", f"stack: {stack}"))["jobs"].values()
        self.summary.write_text("")
        return self.steps(job["steps"])

    def action(self, **given: str) -> Ran:
        """Return the Action after a run with the inputs ``given``; a dash in a name is written as an underscore."""
        self.summary.write_text("")
        return self._action({"with": {name.replace("_", "-"): value for name, value in given.items()}})

    def steps(self, steps: list[dict[str, Any]]) -> dict[str, Ran]:
        ran: dict[str, Ran] = {}
        for step in steps:
            condition = _EXPRESSION.sub(r"\1", step.get("if", "success()"))
            failed = any(each.code for each in ran.values())
            if (failed and "!cancelled()" not in condition) or not self._holds(condition):
                continue
            name = str(step.get("name", step.get("uses")))
            if step.get("uses") == PUBLISHED:
                name = step["with"]["command"]
            if "run" in step:
                ran[name] = self._shell(step)
            elif step["uses"] == PUBLISHED or step["uses"].startswith("./"):
                assert step["uses"] == PUBLISHED or (TEMPLATE / step["uses"] / "action.yml").samefile(ACTION)
                ran[name] = self._action(step)
            else:
                ran[name] = Ran(given=self._given(step))
                if "path" in ran[name].given and "checkout" in step["uses"]:
                    self.checkout(self.folder / ran[name].given["path"])
        return ran

    def _action(self, step: Mapping[str, Any]) -> Ran:
        action, given = load(ACTION), self._given(step)
        assert given.keys() <= action["inputs"].keys()
        inputs = {name: str(each.get("default", "")) for name, each in action["inputs"].items()} | given
        outside = self.context
        self.context = {name: value for name, value in outside.items() if not name.startswith(("steps.", "inputs."))}
        self.context |= {f"inputs.{name}": value for name, value in inputs.items()}
        self.temporary.mkdir(exist_ok=True)
        ran = self.steps(action["runs"]["steps"])
        outputs = {name: self.value(output["value"]) for name, output in action["outputs"].items()}
        self.context = outside
        self._keep(step, outputs)
        return Ran(max(each.code for each in ran.values()), "".join(each.log for each in ran.values()), given, ran)

    def _given(self, step: Mapping[str, Any]) -> dict[str, str]:
        return {key: self.value(str(value)) for key, value in step.get("with", {}).items()}

    def _shell(self, step: Mapping[str, Any]) -> Ran:
        # GitHub inserts an expression before the shell parses the line, so an expression here allows an injection.
        assert not _EXPRESSION.search(step["run"]), step["run"]
        output = self.folder.parent / "output"
        output.write_text("")
        variables = {name: self.value(value) for name, value in step.get("env", {}).items()}
        variables |= {
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "RUNNER_TEMP": str(self.temporary),
        }
        folder = self.folder / self.value(step.get("working-directory", "."))
        # The command line that GitHub documents for `shell: bash`.
        ran = self.bash(["-eo", "pipefail"], step["run"], variables, folder)
        self._keep(step, dict(line.split("=", 1) for line in output.read_text().splitlines()))
        return ran

    def gitlab(self, job: Mapping[str, Any]) -> Ran:
        """Return the result of the script of a GitLab job. In GitLab's image, ``topicwarden`` is on the PATH."""
        variables = {"CI_PROJECT_DIR": str(self.folder)}
        for name, value in job["variables"].items():
            variables[name] = value.replace("$CI_PROJECT_DIR", str(self.folder))
        lines = "\n".join([*job["before_script"], *job["script"]])
        return self.bash(["-eo", "pipefail"], lines, variables, self.folder, [self.programs, _BIN])

    def bash(
        self, options: list[str], lines: str, env: Mapping[str, str], folder: Path, first: list[Path] | None = None
    ) -> Ran:
        variables = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        path = [*map(str, first or [self.programs]), os.environ["PATH"]]
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", *options, "-c", lines],
            cwd=folder,
            env={**variables, **self.variables, **env, "PATH": os.pathsep.join(path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=240,
        )
        return Ran(done.returncode, done.stdout)

    def value(self, text: str) -> str:
        return _EXPRESSION.sub(lambda found: self._looked_up(found[1]), text)

    def _looked_up(self, expression: str) -> str:
        # An output that no step wrote is empty. actionlint reports an unknown step.
        return self.context.get(expression, "") if expression.startswith("steps.") else self.context[expression]

    def _keep(self, step: Mapping[str, Any], outputs: Mapping[str, str]) -> None:
        self.context |= {f"steps.{step['id']}.outputs.{key}": value for key, value in outputs.items() if "id" in step}

    def _holds(self, condition: str) -> bool:
        return all(self._term(term) for term in condition.split(" && "))

    def _term(self, term: str) -> bool:
        if term in ("success()", "!cancelled()"):
            return True
        if " || " in term:
            return any(self._term(each) for each in term.split(" || "))
        if contains := re.fullmatch(r"contains\((\S+), '(.*)'\)", term):
            return contains[2] in self._looked_up(contains[1])
        left, sign, right = term.split(" ")
        return (self._operand(left) == self._operand(right)) == (sign == "==")

    def _operand(self, text: str) -> str:
        return text.strip("'") if text.startswith("'") else self._looked_up(text)


# Run the linters of workflows.

BIN = Path(sys.executable).parent
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"


def run(*command: str | Path, folder: Path = REPOSITORY) -> None:
    """Run ``command`` with shellcheck on the PATH, which actionlint uses; fail with the output."""
    variables = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def actionlint() -> list[str]:
    """Return the command of actionlint, which is run with Go if it is not installed; else skip the test."""
    if (found := shutil.which("actionlint")) is not None:
        return [found]
    if (go := shutil.which("go")) is not None:
        return [go, "run", ACTIONLINT]
    pytest.skip("neither actionlint nor Go is installed")
