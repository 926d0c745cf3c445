"""Runs a job of a workflow step by step: the shell lines of the file itself, in a folder that stands for the clone.

Steps of other people's actions are not run; what they would be given is noted. Every expression that a job uses has to
be in the context, so that one which is misspelt, or new, fails.
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

from tests.conftest import REPOSITORY

WORKFLOWS: Final = REPOSITORY / ".github" / "workflows"
INSTALLS: Final = ("make setup", "make .venv/.locked")
"""What has been done before any test runs, and takes a network."""

_EXPRESSION: Final = re.compile(r"\$\{\{ *(.+?) *\}\}")
_OURS: Final = ("PULUMI_", "TOPICWARDEN_", "GITHUB_", "SPARK_CONF_DIR", "FORCE_COLOR", "NO_COLOR")


def load(path: Path) -> dict[Any, Any]:
    """A workflow, or an action; `on` is YAML 1.1's true."""
    loaded: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return loaded


@dataclass(frozen=True)
class Ran:
    """A step that was run: its exit code and all that it printed; or an action, with its inputs."""

    code: int = 0
    log: str = ""
    given: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Runner:
    """A machine with one clone, ``folder``.

    ``context`` gives each expression's value, ``programs`` is a folder that comes first on the PATH, and ``checkout``
    puts the target branch where a step asks for it.
    """

    folder: Path
    context: dict[str, str]
    programs: Path
    checkout: Callable[[Path], None]

    @property
    def summary(self) -> Path:
        return self.folder.parent / "summary"

    def job(self, workflow: str, job: str, first: str | None = None) -> dict[str, Ran]:
        """The steps that were run, by name; after one that failed, only those that run nevertheless.

        With ``first``, from the step of that name on: what is before it was run in this clone.
        """
        held = load(WORKFLOWS / workflow)
        assert held["defaults"] == {"run": {"shell": "bash"}}
        described = held["jobs"][job]
        self.summary.write_text("")
        ran: dict[str, Ran] = {}
        steps = described["steps"]
        start = next(at for at, step in enumerate(steps) if first in (None, step.get("name")))
        self._steps(steps[start:], described.get("env", {}), ran)
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
            action = load(REPOSITORY / step["uses"] / "action.yml")
            self.context |= {f"inputs.{key}": value for key, value in ran[name].given.items()}
            self._steps(action["runs"]["steps"], {}, ran)
            outputs = {output: self.value(held["value"]) for output, held in action["outputs"].items()}
            self._keep(step, outputs)
        elif "path" in ran[name].given and "checkout" in step["uses"]:
            self.checkout(self.folder / ran[name].given["path"])

    def _shell(self, step: Mapping[str, Any], env: Mapping[str, str]) -> Ran:
        if step["run"] in INSTALLS:
            return Ran()
        # An expression within shell lines would be put in before the shell reads them: an injection.
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
        # As GitHub calls it where a step's shell is bash.
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
        # An output that a step did not write is empty; that there is such a step, actionlint tells.
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
