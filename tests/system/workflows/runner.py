"""Run a job of a template workflow step by step: the shell lines of the file, in a folder that acts as the clone.

Third-party actions do not run; their inputs are recorded. Every expression that a job uses must be in the context, so
that a misspelt or new expression fails.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

import topicwarden

TEMPLATE: Final = Path(topicwarden.__file__).parent / "template"
"""The files for users' projects. This repository's example project is tested with them."""
WORKFLOWS: Final = TEMPLATE / ".github" / "workflows"
INSTALL: Final = ["python -m venv .venv", ".venv/bin/pip install --requirement requirements.txt"]
"""The lines that need a package index. The clone uses the environment of this repository instead."""

_EXPRESSION: Final = re.compile(r"\$\{\{ *(.+?) *\}\}")
_OURS: Final = ("PULUMI_", "TOPICWARDEN_", "GITHUB_", "SPARK_CONF_DIR", "FORCE_COLOR", "NO_COLOR")


def load(path: Path) -> dict[Any, Any]:
    """Return a workflow or an action. The key `on` is True, as in YAML 1.1."""
    loaded: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return loaded


@dataclass(frozen=True)
class Ran:
    """A step that ran: its exit code and its output; or an action with its inputs."""

    code: int = 0
    log: str = ""
    given: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Runner:
    """A machine with one clone, ``folder``.

    ``context`` has the value of each expression. ``programs`` is a folder that comes first on the PATH. ``checkout``
    checks out the target branch into a folder.
    """

    folder: Path
    context: dict[str, str]
    programs: Path
    checkout: Callable[[Path], None]

    @property
    def summary(self) -> Path:
        return self.folder.parent / "summary"

    def job(self, workflow: str, job: str, first: str | None = None) -> dict[str, Ran]:
        """Return the steps that ran, by name. After a failed step, only steps with ``!cancelled()`` run.

        With ``first``, start at the step of that name: the clone has run the steps before it.
        """
        file = load(WORKFLOWS / workflow)
        assert file["defaults"] == {"run": {"shell": "bash"}}
        definition = file["jobs"][job]
        self.summary.write_text("")
        ran: dict[str, Ran] = {}
        steps = definition["steps"]
        start = next(at for at, step in enumerate(steps) if first in (None, step.get("name")))
        self._steps(steps[start:], definition.get("env", {}), ran)
        return ran

    def _steps(self, steps: list[dict[str, Any]], env: Mapping[str, str], ran: dict[str, Ran]) -> None:
        for step in steps:
            condition = _EXPRESSION.sub(r"\1", step.get("if", "success()"))
            failed = any(each.code for each in ran.values())
            if (failed and "!cancelled()" not in condition) or not self._holds(condition):
                continue
            name = str(step.get("name", step.get("uses")))
            if "run" in step:
                ran[name] = self._shell(step, {**env, **step.get("env", {})})
            else:
                ran[name] = Ran(given={key: self.value(str(value)) for key, value in step.get("with", {}).items()})
                self._action(step, ran, name)

    def _action(self, step: Mapping[str, Any], ran: dict[str, Ran], name: str) -> None:
        if step["uses"].startswith("./"):
            action = load(TEMPLATE / step["uses"] / "action.yml")
            self.context |= {f"inputs.{key}": value for key, value in ran[name].given.items()}
            self._steps(action["runs"]["steps"], {}, ran)
            outputs = {name: self.value(output["value"]) for name, output in action["outputs"].items()}
            self._keep(step, outputs)
        elif "path" in ran[name].given and "checkout" in step["uses"]:
            self.checkout(self.folder / ran[name].given["path"])

    def _shell(self, step: Mapping[str, Any], env: Mapping[str, str]) -> Ran:
        if step["run"].splitlines() == INSTALL:
            return Ran()
        # GitHub inserts an expression before the shell parses the line, so an expression here allows an injection.
        assert not _EXPRESSION.search(step["run"]), step["run"]
        output = self.folder.parent / "output"
        output.write_text("")
        variables = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        variables |= {name: self.value(value) for name, value in env.items()}
        variables |= {
            "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_ACTIONS": "true",
            "GITHUB_OUTPUT": str(output),
            "GITHUB_REPOSITORY": "acme/topics",
            "GITHUB_RUN_ID": "42",
            "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_STEP_SUMMARY": str(self.summary),
        }
        # The command line that GitHub documents for `shell: bash`.
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=240,
        )
        self._keep(step, dict(line.split("=", 1) for line in output.read_text().splitlines()))
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
        left, sign, right = term.split(" ")
        return (self._operand(left) == self._operand(right)) == (sign == "==")

    def _operand(self, text: str) -> str:
        if text.startswith("hashFiles("):
            return "hash" if (self.folder / text.split("'")[1]).is_file() else ""
        return text.strip("'") if text.startswith("'") else self._looked_up(text)
