"""Runs the project's program and the provider in the process of a command, and lets Pulumi's engine call them.

The engine gets the address of this process with its options ``--client``, as from Pulumi's Automation API, and
``PULUMI_DEBUG_PROVIDERS``. A command is then two processes, and both sides share their values.
"""

# ruff: noqa: N802 - the methods are named by language.proto

from __future__ import annotations

import asyncio
import platform
import runpy
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, redirect_stdout, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

import grpc
import grpc.aio
import pulumi
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

from topicwarden.deploy.engine_connection import NO_LIMIT
from topicwarden.deploy.program_execution import executed
from topicwarden.deploy.program_run import ProgramRun, running
from topicwarden.deploy.provider.adoption_gate import AdoptionGate
from topicwarden.deploy.provider.home import ProviderHome
from topicwarden.deploy.provider.server import start_provider
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.pulumi_project import program_file, require_program_file
from topicwarden.model.problem import Refusal

_POLL_S: Final = 0.05
_GRACE_S: Final = 1.0
"""How long the servers wait for calls that still run when the engine has ended."""


@dataclass(frozen=True)
class EngineOptions:
    """The options of a ``pulumi`` whose engine calls this process."""

    arguments: tuple[str, ...]
    variables: dict[str, str]

    def on(self, engine: PulumiEngine) -> PulumiEngine:
        """Return ``engine`` with these variables, attached to this process."""
        return replace(engine, variables={**engine.variables, **self.variables}, attached=True)


@contextmanager
def attached_provider(
    engine: PulumiEngine, *, judged: bool = False, adoption: AdoptionGate | None = None
) -> Iterator[EngineOptions]:
    """Serve the provider within the block, for commands of Pulumi that run no program.

    ``judged``: the command has predicted who loses access. ``adoption``: it only adopts topics.
    """
    with _provider(ProviderHome(engine.project, engine.variables, judged, adoption)) as port:
        yield EngineOptions((), {"PULUMI_DEBUG_PROVIDERS": f"kafka:{port}"})


@contextmanager
def inline_program(run: ProgramRun) -> Iterator[EngineOptions]:
    """Serve the program of ``run`` and the provider within the block. Raises Refusal if there is no program."""
    require_program_file(run.engine.project)
    runtime = _Runtime(run)
    # One worker runs the program, and the others answer the engine's questions meanwhile.
    server = grpc.server(ThreadPoolExecutor(max_workers=4), options=NO_LIMIT)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(runtime, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        # What the program prints must not be part of the command's output, which is often JSON.
        gate = run.adoption.gate if run.adoption else None
        with redirect_stdout(sys.stderr), attached_provider(run.engine, adoption=gate) as provider:
            yield EngineOptions((f"--client=127.0.0.1:{port}",), provider.variables)
            runtime.end()
    finally:
        runtime.ended.set()
        server.stop(_GRACE_S)


class _Runtime(language_pb2_grpc.LanguageRuntimeServicer):
    """The language runtime for ``stacks/__main__.py``, as Pulumi's Automation API has one for functions."""

    def __init__(self, run: ProgramRun) -> None:
        self._run = run
        self._file = program_file(run.engine.project)
        self._program_thread: Thread | None = None
        self.ended = Event()
        """Set when nobody waits for the program any more."""

    def end(self) -> None:
        """Wait no longer for the program than it needs to notice that the engine has ended."""
        self.ended.set()
        if self._program_thread is not None:
            self._program_thread.join(_GRACE_S)

    def Handshake(self, request: Any, context: grpc.ServicerContext) -> Any:
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Empty, context: grpc.ServicerContext) -> Any:
        return plugin_pb2.PluginInfo()

    def About(self, request: Any, context: grpc.ServicerContext) -> Any:
        return language_pb2.AboutResponse(executable=sys.executable, version=platform.python_version())

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
                with suppress(grpc.RpcError), running(self._run):  # the engine has ended
                    self._run.failed = not executed(request, self._file, self._program, self._prepare)
            finally:
                if self._run.adoption:
                    self._run.adoption.gate.close()
                done.set()

        self.ended.clear()
        # A daemon, because a program that hangs must not delay the end of the command.
        self._program_thread = Thread(target=execute, name="program", daemon=True)
        self._program_thread.start()
        while not done.wait(_POLL_S) and not self.ended.is_set():
            pass
        return language_pb2.RunResponse(bail=not self._run.complete)  # the error is reported already

    def _prepare(self) -> None:
        """Judge an adoption before the stack is registered, so that a refused one leaves the state as it is."""
        if self._run.adoption:
            from topicwarden.deploy.program import judge  # noqa: PLC0415 -- only an adoption needs it before the program

            judge(self._run)

    def _program(self) -> None:
        """Run the folder ``stacks``, whose modules the program may import.

        It must not seem to end well before the topics are registered: the SDK then tells the engine that no resource
        follows (``SignalAndWaitForShutdown``), and the engine deletes what is not registered before ``Run`` returns.
        """
        with self._run.adoption.gate.registering() if self._run.adoption else nullcontext():
            if self._run.adoption:
                pulumi.runtime.register_stack_transformation(partial(_refuse_reads, self._run.adoption.gate))
            run_program(self._file.parent)
            if not self._run.registering:
                raise SystemExit


def _refuse_reads(gate: AdoptionGate, resource: pulumi.ResourceTransformationArgs) -> None:
    """Refuse an import and a read of a project's own program: the engine makes both, whatever its targets are."""
    if resource.opts.import_ or resource.opts.id:
        reason = f"Pulumi would also {'import' if resource.opts.import_ else 'read'} {resource.name}"
        gate.close(reason)
        raise pulumi.RunError(reason)


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


@contextmanager
def _provider(home: ProviderHome) -> Iterator[int]:
    """Serve the provider in a thread within the block; yield its port."""
    ready, ports, failures = Event(), list[int](), list[str]()
    stop: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve() -> None:
        try:
            server = await start_provider(None, home)
            stopped = asyncio.Event()
            stop.append((asyncio.get_running_loop(), stopped))
            ports.append(server.port)
        except (OSError, RuntimeError) as error:
            failures.append(str(error))
            return
        finally:
            ready.set()
        await stopped.wait()
        await server.stop()

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
