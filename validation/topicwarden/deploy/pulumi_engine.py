"""Runs the ``pulumi`` command for one stack of a project."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Final, TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from topicwarden import child_processes
from topicwarden.kafka.connect.stack_connection import NO_PULUMI, pulumi_environment
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project

State = TypeVar("State")

_TIMEOUT_S: Final = 10.0
_PAUSE_S: Final = 0.05
_UNREADABLE: Final = "failed to load checkpoint"
_ENDS: Final = ("unexpected EOF", "unexpected end of JSON input")
"""The last words of Pulumi about a state that ends too early, compressed or not."""
_CONTRADICTION: Final = "snapshot integrity failure; refusing to use it: "


class PartialState(Refusal):
    """Raised for a state that ends too early."""


def raise_if_partial(error: str, stack: str) -> None:
    """Raise ``PartialState`` if Pulumi's ``error`` means that the state of ``stack``, or its attributes, end too early.

    ``file_backend`` says how attributes become empty.
    """
    text = error.rstrip()
    if text.endswith(f"{_UNREADABLE}: EOF"):
        file = f"{stack.rpartition('/')[2]}.json.attrs"
        raise PartialState(
            f"the attributes of Pulumi's state stay empty: {text}; the state itself is complete, so keep it. "
            f"`topicwarden up` deletes the empty file: `{file}`, beside the state in the folder of the backend"
        )
    if _UNREADABLE in text and text.endswith(_ENDS):
        raise PartialState(
            f"Pulumi's state stays incomplete: {text}; restore it from an older version of the file in its backend, "
            "such as the `.bak` file beside it. A full disk can cause this"
        )


def retry_partial_state(read: Callable[[], State]) -> State:
    """Return the result of ``read``, which is called again for up to ten seconds while it raises ``PartialState``."""
    retrying = Retrying(
        retry=retry_if_exception_type(PartialState),
        stop=stop_after_delay(_TIMEOUT_S),
        wait=wait_fixed(_PAUSE_S),
        reraise=True,
    )
    return retrying(read)


_LEVELS = ("error", "info#err")
MOST_AT_ONCE: Final = 10_000
ALL_AT_ONCE: Final = ("--parallel", str(MOST_AT_ONCE))
"""Options of `pulumi`: our provider sends together what the engine asks for at the same time."""


@dataclass(frozen=True)
class PulumiEngine:
    """The ``pulumi`` command for one stack; ``variables`` are added to the environment of this process.

    ``attached``: its engine calls this process, so it fails and ends by itself if this process is killed. It then gets
    no SIGINT, on which Pulumi 3.250 may end while it writes the state: it panics if a component's outputs are
    registered after the cancellation (``stepExecutor.cancelDueToError``), and no longer handles the signal at the end.
    """

    project: Project
    stack: str
    variables: Mapping[str, str] = field(default_factory=dict)
    attached: bool = False

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run ``pulumi`` without prompts and return its result, with any exit code."""
        return self.stream(None, *arguments)

    def stream(self, on_line: Callable[[str], None] | None, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run ``pulumi`` as ``run`` does; ``on_line`` gets each line of output and errors as it is written."""
        environment = pulumi_environment(self.variables)
        pulumi = shutil.which("pulumi", path=environment.get("PATH"))
        if pulumi is None:
            raise Refusal(NO_PULUMI)
        command = [pulumi, *arguments, "--stack", self.stack, "--non-interactive"]
        try:
            return child_processes.run(
                command, self.project.root, environment, on_line=on_line, death_signal=not self.attached
            )
        except OSError as error:  # thousands of targets may exceed the limit of a command line
            raise Refusal(f"{pulumi} cannot be run: {error.strerror}") from error

    def run_read_only(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a ``pulumi`` command that changes nothing; retry while the state is being written. See ``run``."""
        return self.retried(lambda: self.run(*arguments))

    def retried(self, run: Callable[[], subprocess.CompletedProcess[str]]) -> subprocess.CompletedProcess[str]:
        """Return the result of ``run``, a command that changes nothing; retry while the state is being written."""

        def run_once() -> subprocess.CompletedProcess[str]:
            done = run()
            if done.returncode:
                errors = error_text(done)
                raise_if_partial(errors, self.stack)
                refuse_missing_backend(errors, self.stack)
                refuse_contradictions(done.stdout + done.stderr, self.stack)
            return done

        return retry_partial_state(run_once)

    def require_known_stack(self, errors: str) -> None:
        """Refuse a stack that Pulumi does not know, if ``errors`` of ``pulumi`` say that; see ``resources``."""
        if "no stack named" in errors:
            self.require_stack()

    def require_stack(self, remedy: str | None = None) -> None:
        """Refuse a stack that Pulumi does not know or whose state cannot be read; see ``resources``."""
        self.resources(remedy)

    def resources(self, remedy: str | None = None) -> list[dict[str, Any]]:
        """Return the resources of the stack's state; refuse a stack that Pulumi does not know, with ``remedy``.

        Those that a program only reads, as `Topic.get` does, are left out: Pulumi never changes or deletes them.
        """
        done = self.run_read_only("stack", "export")
        if done.returncode:
            if done.returncode < 0:
                raise Refusal(f"`pulumi stack export` was killed by signal {-done.returncode}: run the command again")
            raise Refusal(
                f"Pulumi has no stack {self.stack}, or cannot read it: {error_text(done)}; "
                + (remedy or f"`pulumi stack init {self.stack}` creates it")
            )
        deployment = decoded(done, "pulumi stack export").get("deployment") or {}
        return [each for each in deployment.get("resources") or [] if not each.get("external")]


def decoded(done: subprocess.CompletedProcess[str], command: str) -> dict[str, Any]:
    """Return the JSON object that ``pulumi`` printed; refuse incomplete output."""
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        answer = None
    if not isinstance(answer, dict):
        raise Refusal(f"`{command}` ended early: {error_text(done)}", details=log_of(done))
    return answer


def log_of(done: subprocess.CompletedProcess[str]) -> str:
    """Return the log of a ``pulumi`` run: its exit code and its full errors, without configuration."""
    try:
        messages = "".join(str(entry["message"]) for entry in json.loads(done.stdout)["diagnostics"])
    except (ValueError, KeyError, TypeError):
        return f"exit code {done.returncode}\n{_plain(done)}\n"
    return f"exit code {done.returncode}\n{messages}\n{done.stderr}"


def refuse_missing_backend(errors: str, stack: str) -> None:
    """Refuse if ``errors`` of ``pulumi`` say that the environment lacks a backend, or the passphrase of the stack."""
    sandbox = f'for a stack on the sandbox, `eval "$(topicwarden sandbox env --stack {stack})"` sets it'
    if "PULUMI_ACCESS_TOKEN must be set" in errors:
        raise Refusal(
            "Pulumi is not logged in to a backend for the stacks' state: run `pulumi login`, or set "
            f"PULUMI_BACKEND_URL or PULUMI_ACCESS_TOKEN; {sandbox}"
        )
    if "passphrase must be set" in errors:
        raise Refusal(f"stack {stack} is encrypted with a passphrase: set PULUMI_CONFIG_PASSPHRASE; {sandbox}")
    if "incorrect passphrase" in errors:
        raise Refusal(
            f"PULUMI_CONFIG_PASSPHRASE, or PULUMI_CONFIG_PASSPHRASE_FILE, is not the passphrase of stack {stack}: "
            "correct it; for a stack on the sandbox, unset it"
        )


def refuse_contradictions(output: str, stack: str) -> None:
    """Refuse if ``output`` of ``pulumi`` says that the resources of a state contradict each other, as after an edit."""
    _, found, rest = output.partition(_CONTRADICTION)
    if found:
        reason = rest.partition("\n")[0].strip()
        raise Refusal(
            f"the resources in Pulumi's state of {stack} contradict each other: {reason}; `pulumi state repair --stack "
            f"{stack}` corrects what it can, and changes nothing on the cluster"
        )


def error_text(done: subprocess.CompletedProcess[str]) -> str:
    """Return the errors of a ``pulumi`` run, without progress messages and tracebacks."""
    try:
        diagnostics = [(entry["severity"], str(entry["message"])) for entry in json.loads(done.stdout)["diagnostics"]]
        # The standard error of a program has the severity "info#err".
        errors = next(
            filter(None, ([text for severity, text in diagnostics if severity == level] for level in _LEVELS)), []
        )
    except (ValueError, KeyError, TypeError):
        errors = list(_errors((done.stdout + done.stderr).splitlines()))
    texts = dict.fromkeys(without_traceback(text.strip().removeprefix("error:").strip()) for text in errors)
    return "\n".join(filter(None, texts)) or _plain(done) or _exit(done.returncode)


def _plain(done: subprocess.CompletedProcess[str]) -> str:
    """Return the output of ``pulumi``, unless it is JSON: JSON has the configuration, and may be incomplete."""
    return (done.stderr or ("" if done.stdout.lstrip().startswith("{") else done.stdout)).strip()


def _exit(code: int) -> str:
    return f"it was killed by signal {-code}" if code < 0 else f"it ended with exit code {code}"


def _errors(lines: Sequence[str]) -> Iterator[str]:
    """Yield each line with an error; if the line ends with a colon, with the lines up to the next empty line."""
    for number, line in enumerate(lines):
        if line.strip().startswith("error:"):
            rest = takewhile(str.strip, lines[number + 1 :]) if line.rstrip().endswith(":") else ()
            yield "\n".join([line, *rest])


def without_traceback(text: str) -> str:
    """Return ``text`` with a traceback replaced by its exception."""
    first, traceback, rest = text.partition("Traceback (most recent call last):")
    return f"{first.strip()} {rest.strip().splitlines()[-1].strip()}" if traceback and rest.strip() else text


def targeted(targets: Sequence[str]) -> list[str]:
    """Return the options that restrict ``pulumi`` to these URNs; empty for all resources."""
    return [argument for target in targets for argument in ("--target", target)]
