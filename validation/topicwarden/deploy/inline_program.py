"""Runs the project's program and the provider in the process of a command, and lets Pulumi's engine call them.

The engine gets the address of this process with its options ``--client``, as from Pulumi's Automation API, and
``PULUMI_DEBUG_PROVIDERS``. A command is then two processes, and both sides share their values.
"""

# ruff: noqa: N802 - the methods are named by language.proto

from __future__ import annotations

import asyncio
import logging
import runpy
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

import grpc
import grpc.aio
import pulumi
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime import reset_options, run_in_stack, set_all_config
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

from topicwarden.deploy.program_run import ENDED_EARLY, ProgramRun, running
from topicwarden.deploy.provider.home import ProviderHome
from topicwarden.deploy.provider.server import start_provider
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.model.problem import Refusal

_NO_LIMIT: Final = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
_PROGRAM: Final = "stacks/__main__.py"
_POLL_S: Final = 0.05
_GRACE_S: Final = 1.0
"""How long the servers wait for calls that still run when the engine has ended."""


@dataclass(frozen=True)
class EngineOptions:
    """The options of a ``pulumi`` whose engine calls this process."""

    arguments: tuple[str, ...]
    variables: dict[str, str]

    def on(self, engine: PulumiEngine) -> PulumiEngine:
        """Return ``engine`` with these variables."""
        return replace(engine, variables={**engine.variables, **self.variables})


@contextmanager
def attached_provider(engine: PulumiEngine) -> Iterator[EngineOptions]:
    """Serve the provider within the block, for commands of Pulumi that run no program."""
    with _provider(ProviderHome(engine.project, engine.variables)) as port:
        yield EngineOptions((), {"PULUMI_DEBUG_PROVIDERS": f"kafka:{port}"})


@contextmanager
def inline_program(run: ProgramRun) -> Iterator[EngineOptions]:
    """Serve the program of ``run`` and the provider within the block."""
    runtime = _Runtime(run)
    # One worker runs the program, and the others answer the engine's questions meanwhile.
    server = grpc.server(ThreadPoolExecutor(max_workers=4), options=_NO_LIMIT)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(runtime, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with attached_provider(run.engine) as provider:
            yield EngineOptions((f"--client=127.0.0.1:{port}",), provider.variables)
    finally:
        runtime.ended.set()
        server.stop(_GRACE_S)


class _Runtime(language_pb2_grpc.LanguageRuntimeServicer):
    """The language runtime for ``stacks/__main__.py``, as Pulumi's Automation API has one for functions."""

    def __init__(self, run: ProgramRun) -> None:
        self._run = run
        self.ended = Event()
        """Set when nobody waits for the program any more."""

    def Handshake(self, request: Any, context: grpc.ServicerContext) -> Any:
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Empty, context: grpc.ServicerContext) -> Any:
        return plugin_pb2.PluginInfo()

    def GetRequiredPackages(self, request: Any, context: grpc.ServicerContext) -> Any:
        return language_pb2.GetRequiredPackagesResponse()

    def Cancel(self, request: Empty, context: grpc.ServicerContext) -> Empty:
        self.ended.set()
        return Empty()

    def Run(self, request: Any, context: grpc.ServicerContext) -> Any:
        done = Event()
        self._run.failed = True

        def execute() -> None:
            try:
                with suppress(grpc.RpcError), running(self._run), redirect_stdout(sys.stderr):  # the engine has ended
                    self._run.failed = not _executed(request, self._program)
            finally:
                done.set()

        self.ended.clear()
        # A daemon, because a program that hangs must not delay the end of the command.
        Thread(target=execute, name="program", daemon=True).start()
        while not done.wait(_POLL_S) and not self.ended.is_set():
            pass
        return language_pb2.RunResponse(bail=not self._run.complete)  # the error is reported already

    def _program(self) -> None:
        """Run the file.

        It must not seem to end well before the topics are registered: the SDK then tells the engine that no resource
        follows (``SignalAndWaitForShutdown``), and the engine deletes what is not registered before ``Run`` returns.
        """
        run_program(self._run.engine.project.stacks)
        if not self._run.registering:
            raise SystemExit


def run_program(folder: Path) -> None:
    """Run the program in ``folder``.

    Its modules are loaded again by the next run in this process: the engine deletes resources that a module registers
    when it is imported, if it is not imported again.
    """
    loaded = sys.modules.copy()
    try:
        runpy.run_path(str(folder), run_name="__main__")
    finally:
        for name, module in sys.modules.copy().items():
            file = getattr(module, "__file__", None)
            if name not in loaded and file and Path(file).is_relative_to(folder):
                del sys.modules[name]


def _executed(request: Any, program: Callable[[], None]) -> bool:
    """Run ``program`` as the engine requests it; return whether it succeeded. Its error is logged to the engine."""
    reset_options(
        project=request.project,
        stack=request.stack,
        organization=request.organization or "organization",
        monitor_address=request.monitor_address,
        engine_address=request.args[0] if request.args else "",
        parallel=request.parallel,
        preview=request.dryRun,
    )
    set_all_config(dict(request.config), list(request.configSecretKeys))
    # Otherwise each unfinished task of a failed program would be logged after the actual error.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    loop.set_default_executor(ThreadPoolExecutor(max_workers=max(request.parallel, 1)))
    try:
        loop.run_until_complete(run_in_stack(program))
    except grpc.RpcError:
        raise
    except BaseException as error:  # noqa: BLE001 - any failure of a program that others write becomes one message
        pulumi.log.error(_message(error))
        return False
    finally:
        _end_tasks(loop)
        loop.close()
    return True


def _end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel the tasks that a failed program has left, and wait a moment for them."""
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        with suppress(BaseException):  # the first error is reported, and asyncio raises a SystemExit of each task
            loop.run_until_complete(asyncio.wait(tasks, timeout=_GRACE_S))


def _message(error: BaseException) -> str:
    """Return what Pulumi's own language host reports about a program's ``error``."""
    if isinstance(error, pulumi.RunError):
        return str(error)
    if isinstance(error, SystemExit):
        return ENDED_EARLY
    return f"Program failed with an unhandled exception:\n{_program_traceback(error)}"


def _program_traceback(error: BaseException) -> str:
    """Return the traceback from the program's first frame on; without frames if the program could not be loaded."""
    frames = traceback.extract_tb(error.__traceback__)
    first = next((n for n, frame in enumerate(frames) if frame.filename.endswith(_PROGRAM)), None)
    if first is None and isinstance(error, (SyntaxError, ImportError)):
        return "".join(traceback.format_exception_only(error))
    return "".join(traceback.format_exception(error, limit=(first or 0) - len(frames)))


@contextmanager
def _provider(home: ProviderHome) -> Iterator[int]:
    """Serve the provider in a thread within the block; yield its port."""
    ready, ports, failures = Event(), list[int](), list[str]()
    stop: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve() -> None:
        try:
            server, port = await start_provider(None, home)
            stopped = asyncio.Event()
            stop.append((asyncio.get_running_loop(), stopped))
            ports.append(port)
        except (OSError, RuntimeError) as error:
            failures.append(str(error))
            return
        finally:
            ready.set()
        await stopped.wait()
        await server.stop(None)

    thread = Thread(target=asyncio.run, args=(serve(),), name="provider", daemon=True)
    thread.start()
    ready.wait()
    if not ports:
        raise Refusal(f"the provider cannot listen on 127.0.0.1: {', '.join(failures)}")
    try:
        yield ports[0]
    finally:
        loop, stopped = stop[0]
        loop.call_soon_threadsafe(stopped.set)
        thread.join(_GRACE_S)
