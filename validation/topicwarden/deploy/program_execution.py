"""Runs a Pulumi program as the engine requests it, in a command's own process or in a process of its own.

``main`` is the program of the process that ``language_host`` starts.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import runpy
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import grpc
import pulumi
from pulumi.runtime import reset_options, run_in_stack, set_all_config
from pulumi.runtime.proto import engine_pb2_grpc, language_pb2, resource_pb2_grpc

from topicwarden.deploy.engine_connection import engine_channel
from topicwarden.deploy.program_run import ENDED_EARLY, ProgramRun

BAIL: Final = 32
"""The exit code of a program whose error is already reported, as in Pulumi's own language host."""
_GRACE_S: Final = 1.0
"""How long a failed program waits for its tasks."""


def executed(request: Any, file: Path, program: Callable[[], None], prepare: Callable[[], None] = lambda: None) -> bool:
    """Run ``program``, the code of ``file``, as the engine's ``request`` says; return whether it succeeded.

    ``prepare`` runs before: if it fails, nothing is registered, not even the stack.

    Its error is logged to the engine. ``request`` is a ``RunRequest`` of ``language.proto``.
    """
    with _connected(request) as (monitor, engine):
        reset_options(
            project=request.project,
            stack=request.stack,
            organization=request.organization or "organization",
            monitor_address=monitor,
            engine_address=engine,
            parallel=request.parallel,
            preview=request.dryRun,
        )
        set_all_config(dict(request.config), list(request.configSecretKeys))
        loop = asyncio.new_event_loop()
        # Otherwise each unfinished task of a failed program would be logged after the actual error.
        loop.set_exception_handler(lambda *_: None)
        loop.set_default_executor(ThreadPoolExecutor(max_workers=max(request.parallel, 1)))
        try:
            prepare()
            loop.run_until_complete(run_in_stack(program))
        except grpc.RpcError:
            raise
        except BaseException as error:  # noqa: BLE001 - any failure of a program that others write becomes one message
            pulumi.log.error(_message(error, file))
            return False
        finally:
            _end_tasks(loop)
            loop.close()
    return True


@contextmanager
def _connected(request: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the stubs of the engine's monitor and of the engine (None without an address); the SDK closes neither."""
    with ExitStack() as stack:
        monitor = stack.enter_context(engine_channel(request.monitor_address))
        engine = stack.enter_context(engine_channel(request.args[0])) if request.args else None
        yield resource_pb2_grpc.ResourceMonitorStub(monitor), engine and engine_pb2_grpc.EngineStub(engine)


def _end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel the tasks that a failed program has left, and wait a moment for them."""
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        with suppress(BaseException):  # the first error is reported, and asyncio raises a SystemExit of each task
            loop.run_until_complete(asyncio.wait(tasks, timeout=_GRACE_S))


def _message(error: BaseException, file: Path) -> str:
    """Return what Pulumi's own language host reports about a program's ``error``."""
    if isinstance(error, pulumi.RunError):
        return str(error)
    if isinstance(error, SystemExit):
        return ENDED_EARLY
    return f"Program failed with an unhandled exception:\n{_program_traceback(error, file)}"


def _program_traceback(error: BaseException, file: Path) -> str:
    """Return the traceback from the program's first frame on; without frames if the program could not be loaded."""
    frames = traceback.extract_tb(error.__traceback__)
    first = next((n for n, frame in enumerate(frames) if frame.filename == str(file)), None)
    if first is None and isinstance(error, (SyntaxError, ImportError)):
        return "".join(traceback.format_exception_only(error))
    return "".join(traceback.format_exception(error, limit=(first or 0) - len(frames)))


def main() -> None:
    """Run the program of the request on the standard input. The exit code is BAIL if its error is reported."""
    request = language_pb2.RunRequest.FromString(sys.stdin.buffer.read())
    program = Path(request.info.program_directory, request.info.entry_point)
    file = program / "__main__.py" if program.is_dir() else program
    sys.argv = [str(program)]

    def run() -> None:
        runpy.run_path(str(program), run_name="__main__")

    if not executed(request, file, run):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(BAIL)  # does not wait for threads of a failed program


def fail_unless_complete(run: ProgramRun) -> None:
    """Let this process, a program of plain `pulumi`, fail when it ends unless ``run`` is complete then.

    The engine takes exit code 0 for a complete program, and deletes every unprotected resource that is not registered.
    The SDK registers in the background, so ``sys.exit(0)`` after ``deploy()`` would end a program too early.
    """

    def at_exit() -> None:
        if run.complete:
            return
        print(ENDED_EARLY, file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(BAIL)

    atexit.register(at_exit)
