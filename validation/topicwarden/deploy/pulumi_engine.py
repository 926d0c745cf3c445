"""The ``pulumi`` command, run for one stack of a project."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from topicwarden import child_processes
from topicwarden.deploy.backend_locks import past_lost_locks
from topicwarden.deploy.partial_state import once_written, stop_at_half_written
from topicwarden.kafka.connection import NO_PULUMI
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project

_LEVELS = ("error", "info#err")
TOPIC_TYPE = "kafka:index/topic:Topic"


@dataclass(frozen=True)
class EngineStep:
    """What a preview would do to one resource: Pulumi's ``op``, such as ``create``, ``import`` and ``same``."""

    op: str
    urn: str
    type: str
    parent: str | None


@dataclass(frozen=True)
class PulumiEngine:
    """``variables`` are those of the environment that ``pulumi`` needs besides this process's own."""

    project: Project
    stack: str
    variables: Mapping[str, str] = field(default_factory=dict)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """``pulumi``, without a question asked; whatever it ends with is for the caller."""
        environment = {**os.environ, **self.variables}
        pulumi = shutil.which("pulumi", path=environment.get("PATH"))
        if pulumi is None:
            raise Refusal(NO_PULUMI)
        command = [pulumi, *arguments, "--stack", self.stack, "--non-interactive"]
        try:
            return child_processes.run(command, self.project.root, environment)
        except OSError as error:  # thousands of targets may be more than a command line holds
            raise Refusal(f"{pulumi} cannot be run: {error.strerror}") from error

    def look(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """``pulumi`` with a command that changes nothing, once more while the state is being written; see ``run``."""

        def looked() -> subprocess.CompletedProcess[str]:
            done = self.run(*arguments)
            if done.returncode:
                said = complaint(done)
                stop_at_half_written(said)
                _stop_at_no_backend(said, self.stack)
            return done

        return once_written(looked)

    def resources(self, remedy: str | None = None) -> list[dict[str, Any]]:
        """The stack's state; refuses a stack that Pulumi does not know, with what to do about it."""
        done = self.look("stack", "export")
        if done.returncode:
            if done.returncode < 0:
                raise Refusal(f"`pulumi stack export` was killed by signal {-done.returncode}: run the command again")
            raise Refusal(
                f"Pulumi has no stack {self.stack}, or cannot read it: {complaint(done)}; "
                + (remedy or f"`pulumi stack init {self.stack}` makes one")
            )
        deployment = decoded(done, "pulumi stack export").get("deployment") or {}
        return deployment.get("resources") or []

    def preview(self, targets: Sequence[str] = ()) -> list[EngineStep]:
        """What ``pulumi up`` would do; with ``targets``, to these URNs alone. Refuses with what stops it."""
        done = self.look("preview", "--json", *targeted(targets))
        if done.returncode:
            raise Refusal(f"`pulumi preview` is refused: {complaint(done)}", details=log_of(done))
        return [_step(entry) for entry in decoded(done, "pulumi preview").get("steps") or ()]

    def up(self, targets: Sequence[str]) -> None:
        """Applies what concerns ``targets``, past the lock of a killed ``pulumi``; refuses with what stops it."""
        done = past_lost_locks(self.run, "up", "--yes", "--skip-preview", *targeted(targets))
        if done.returncode:
            raise Refusal(f"`pulumi up` failed: {complaint(done)}", details=log_of(done))


def decoded(done: subprocess.CompletedProcess[str], command: str) -> dict[str, Any]:
    """Return the JSON object that ``pulumi`` printed; refuses output that is no whole one."""
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        answer = None
    if not isinstance(answer, dict):
        raise Refusal(f"`{command}` did not come to its end: {complaint(done)}", details=log_of(done))
    return answer


def log_of(done: subprocess.CompletedProcess[str]) -> str:
    """Return what a log keeps of ``pulumi``: its exit code, its errors in full, and no configuration."""
    try:
        said = "".join(str(entry["message"]) for entry in json.loads(done.stdout)["diagnostics"])
    except (ValueError, KeyError, TypeError):
        return f"exit code {done.returncode}\n{_plain(done)}\n"
    return f"exit code {done.returncode}\n{said}\n{done.stderr}"


def _stop_at_no_backend(said: str, stack: str) -> None:
    """Refuses where Pulumi lacks what a shell must give it: a backend, or the passphrase of the stack."""
    sandbox = f'a stack on the sandbox gets it by `eval "$(topicwarden sandbox env --stack {stack})"`'
    if "PULUMI_ACCESS_TOKEN must be set" in said:
        raise Refusal(
            "Pulumi is not logged in to a backend, which holds the stacks' state: run `pulumi login`, or set "
            f"PULUMI_BACKEND_URL or PULUMI_ACCESS_TOKEN; {sandbox}"
        )
    if "passphrase must be set" in said:
        raise Refusal(f"stack {stack} is encrypted with a passphrase: set PULUMI_CONFIG_PASSPHRASE; {sandbox}")


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """What ``pulumi`` said is wrong: its errors alone, without the progress around them, and no traceback."""
    try:
        diagnostics = [(entry["severity"], str(entry["message"])) for entry in json.loads(done.stdout)["diagnostics"]]
        # A program's own standard error comes as "info#err".
        said = next(filter(None, ([text for of, text in diagnostics if of == level] for level in _LEVELS)), [])
    except (ValueError, KeyError, TypeError):
        said = list(_errors((done.stdout + done.stderr).splitlines()))
    texts = dict.fromkeys(without_traceback(text.strip().removeprefix("error:").strip()) for text in said)
    return "\n".join(filter(None, texts)) or _plain(done) or _exit(done.returncode)


def _plain(done: subprocess.CompletedProcess[str]) -> str:
    """Return what ``pulumi`` printed, without JSON, which has the configuration and may be cut off."""
    return (done.stderr or ("" if done.stdout.lstrip().startswith("{") else done.stdout)).strip()


def _exit(code: int) -> str:
    return f"it was killed by signal {-code}" if code < 0 else f"it ended with exit code {code}"


def _errors(lines: Sequence[str]) -> Iterator[str]:
    """Each line that tells of an error; of one that ends with a colon, the lines down to the next empty one."""
    for number, line in enumerate(lines):
        if line.strip().startswith("error:"):
            rest = takewhile(str.strip, lines[number + 1 :]) if line.rstrip().endswith(":") else ()
            yield "\n".join([line, *rest])


def without_traceback(text: str) -> str:
    """Of a program's traceback, the exception."""
    first, traceback, rest = text.partition("Traceback (most recent call last):")
    return f"{first.strip()} {rest.strip().splitlines()[-1].strip()}" if traceback and rest.strip() else text


def targeted(targets: Sequence[str]) -> list[str]:
    """The options with which ``pulumi`` looks at these URNs alone; none for all."""
    return [argument for target in targets for argument in ("--target", target)]


def _step(entry: Mapping[str, Any]) -> EngineStep:
    state = entry.get("newState") or entry.get("oldState") or {}
    return EngineStep(entry["op"], entry["urn"], state.get("type", ""), state.get("parent"))
