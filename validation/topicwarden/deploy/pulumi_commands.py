"""The commands of ``pulumi`` that use the program and the provider of this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from subprocess import CompletedProcess
from typing import Any

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from topicwarden.deploy.file_backend import run_past_lost_locks
from topicwarden.deploy.inline_program import attached_provider, inline_program
from topicwarden.deploy.program_run import ProgramRun
from topicwarden.deploy.pulumi_engine import ALL_AT_ONCE, PulumiEngine, decoded, error_text, targeted
from topicwarden.deploy.write_options import NO_REFRESH, WriteOptions
from topicwarden.kafka_facts.throttle_settings import REPLICAS
from topicwarden.kinds.access_resource import EDITED
from topicwarden.kinds.topic.resource import TOPIC_TYPE
from topicwarden.model.problem import Refusal
from topicwarden.plan.engine_steps import EngineStep


@dataclass(frozen=True)
class PreviewAnswer:
    """The output of `pulumi preview --json`, and the steps in it."""

    done: CompletedProcess[str]
    diagnostics: Sequence[Mapping[str, Any]]
    steps: tuple[EngineStep, ...]


def pulumi_preview(new_run: Callable[[], ProgramRun], targets: Sequence[str] = ()) -> tuple[ProgramRun, PreviewAnswer]:
    """Run `pulumi preview` for the resources ``targets`` (URNs), or for all; return the run of its program as well.

    ``new_run`` is called for each attempt: a state that is being written is read again. Raises Refusal if the program
    refused to go on.
    """
    runs: list[ProgramRun] = []

    def run_once() -> CompletedProcess[str]:
        runs.append(new_run())
        with inline_program(runs[-1]) as options:
            arguments = ("preview", "--json", NO_REFRESH, *ALL_AT_ONCE, *targeted(targets), *options.arguments)
            return options.on(runs[-1].engine).run(*arguments)

    done = new_run().engine.retried(run_once)
    run = runs[-1]
    if run.refusal is not None:
        raise run.refusal
    if done.returncode:
        run.engine.require_known_stack(error_text(done))
    answer = decoded(done, "pulumi preview")
    steps = tuple(_step(entry) for entry in answer.get("steps") or ())
    return run, PreviewAnswer(done, answer.get("diagnostics") or (), steps)


def pulumi_up(
    run: ProgramRun, options: WriteOptions, *arguments: str, on_line: Callable[[str], None] | None = None
) -> CompletedProcess[str]:
    """Run `pulumi up`, past the lock of a killed ``pulumi``; return its result, with any exit code."""
    with inline_program(run) as inline:
        engine = options.on(inline.on(run.engine))
        command = ("up", "--yes", "--skip-preview", *options.arguments, *arguments, *inline.arguments)
        return run_past_lost_locks(partial(engine.stream, on_line), engine.stack, *command)


def pulumi_without_program(
    engine: PulumiEngine, *arguments: str, judged: bool = False, on_line: Callable[[str], None] | None = None
) -> CompletedProcess[str]:
    """Run a command that only needs the provider, such as `refresh`, past the lock of a killed ``pulumi``.

    ``judged``: who loses access by the command is predicted.
    """
    with attached_provider(engine, judged=judged) as options:
        return run_past_lost_locks(partial(options.on(engine).stream, on_line), engine.stack, *arguments)


def _step(entry: Mapping[str, Any]) -> EngineStep:
    old, new = entry.get("oldState") or {}, entry.get("newState") or {}
    state = old or new
    properties = {**(state.get("inputs") or {}), **(state.get("outputs") or {})}
    latest = new or old
    return EngineStep(
        entry["op"], entry["urn"], latest.get("type", ""), latest.get("parent"), state.get("id"), properties
    )


_MOST_TARGETS = 100
"""Largest number of targets on the command line; if there are more, Pulumi refreshes all resources."""

_LOCK_TIMEOUT_S, _PAUSE_S = 60.0, 2.0


def stale(engine: PulumiEngine, factors: Mapping[str, int]) -> list[str]:
    """Return the URNs of topics whose state has another replication factor than ``factors`` has for the topic.

    The result includes topics whose state has a replication throttle, which a refresh during a move has read.
    """
    return [each["urn"] for each in engine.resources() if each["type"] == TOPIC_TYPE and _differs(each, factors)]


def refresh(engine: PulumiEngine, urns: list[str]) -> None:
    """Refresh ``urns``, past the lock of a killed ``pulumi``; wait up to a minute for a ``pulumi`` that still runs."""
    targets = urns if len(urns) <= _MOST_TARGETS else []
    arguments = ["refresh", "--yes", "--skip-preview", *targeted(targets)]
    retrying = Retrying(
        retry=retry_if_exception_type(Refusal),
        stop=stop_after_delay(_LOCK_TIMEOUT_S),
        wait=wait_fixed(_PAUSE_S),
        reraise=True,
    )
    done = retrying(pulumi_without_program, engine, *arguments)
    if done.returncode:
        raise Refusal(
            f"the replicas are placed, but `pulumi refresh` failed: {error_text(done)}; "
            f"run `topicwarden refresh --stack {engine.stack}`, so that Pulumi's state agrees"
        )


def _differs(resource: Mapping[str, Any], factors: Mapping[str, int]) -> bool:
    state = resource.get("outputs") or resource.get("inputs") or {}
    try:
        throttled = any(name in REPLICAS for name in state.get("config") or {})
        return state["name"] in factors and (throttled or int(state["replicationFactor"]) != factors[state["name"]])
    except EDITED:  # each plan refuses the topic
        return False
