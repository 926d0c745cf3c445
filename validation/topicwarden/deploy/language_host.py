"""Pulumi's language runtime for Python, for a ``pulumi`` that was built from source and has no language runtime.

The CLI starts it as ``pulumi-language-python ENGINE_ADDRESS``, reads a port from its output, and calls it over gRPC
(``LanguageRuntime`` in Pulumi's ``language.proto``). Programs and policy packs run as child processes.
"""

# ruff: noqa: N802 - the methods are named by language.proto

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import IO

import grpc
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import language_pb2 as rpc
from pulumi.runtime.proto import language_pb2_grpc, plugin_pb2

from topicwarden.deploy.language_exec import BAIL
from topicwarden.deploy.language_venv import activated, python_of, site_packages

_EXEC = Path(__file__).with_name("language_exec.py")


class LanguageHost(language_pb2_grpc.LanguageRuntimeServicer):
    """Runs programs and policy packs. Other methods of ``language.proto``, for code generation, are unimplemented."""

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._children: set[subprocess.Popen[bytes]] = set()

    def Handshake(self, request: rpc.LanguageHandshakeRequest, context: grpc.ServicerContext) -> object:
        return rpc.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Empty, context: grpc.ServicerContext) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=importlib.metadata.version("pulumi"))

    def About(self, request: rpc.AboutRequest, context: grpc.ServicerContext) -> rpc.AboutResponse:
        return rpc.AboutResponse(executable=sys.executable, version=platform.python_version())

    def RuntimeOptionsPrompts(
        self, request: rpc.RuntimeOptionsRequest, context: grpc.ServicerContext
    ) -> rpc.RuntimeOptionsResponse:
        return rpc.RuntimeOptionsResponse()

    def GetProgramDependencies(
        self, request: rpc.GetProgramDependenciesRequest, context: grpc.ServicerContext
    ) -> rpc.GetProgramDependenciesResponse:
        found = importlib.metadata.distributions(path=[str(path) for path in site_packages(request.info)])
        versions = sorted({(distribution.name, distribution.version) for distribution in found})
        return rpc.GetProgramDependenciesResponse(
            dependencies=[rpc.DependencyInfo(name=name, version=version) for name, version in versions]
        )

    def GetRequiredPackages(
        self, request: rpc.GetRequiredPackagesRequest, context: grpc.ServicerContext
    ) -> rpc.GetRequiredPackagesResponse:
        """Return the plug-ins that the installed SDKs need, as listed in each SDK's ``pulumi-plugin.json``."""
        packages = []
        for folder in site_packages(request.info):
            for file in sorted(folder.glob("*/pulumi-plugin.json")):
                plugin = json.loads(file.read_text(encoding="utf-8"))
                if plugin.get("resource"):
                    packages.append(
                        plugin_pb2.PackageDependency(
                            name=plugin["name"],
                            kind="resource",
                            version=plugin.get("version", ""),
                            server=plugin.get("server", ""),
                        )
                    )
        return rpc.GetRequiredPackagesResponse(packages=packages)

    def InstallDependencies(
        self, request: rpc.InstallDependenciesRequest, context: grpc.ServicerContext
    ) -> Iterator[rpc.InstallDependenciesResponse]:
        yield rpc.InstallDependenciesResponse(
            stdout=b"Python packages: `pip install 'topicwarden[deploy]'` installs them\n"
        )

    def Run(self, request: rpc.RunRequest, context: grpc.ServicerContext) -> rpc.RunResponse:
        settings = {
            "project": request.project,
            "stack": request.stack,
            "organization": request.organization or "organization",
            "monitor": request.monitor_address,
            "engine": request.args[0] if request.args else self._engine,
            "parallel": str(request.parallel),
            "dry_run": "true" if request.dryRun else "false",
        }
        variables = {
            "PULUMI_CONFIG": json.dumps(dict(request.config)),
            "PULUMI_CONFIG_SECRET_KEYS": json.dumps(list(request.configSecretKeys)),
        }
        program = str(Path(request.info.program_directory, request.info.entry_point))
        command = [self._python(request.info, context), "-u", str(_EXEC), json.dumps(settings), program]
        # The child inherits this host's output, whose lines the engine shows immediately.
        child = self._start(command, request.pwd, {**activated(request.info), **variables}, None, context)
        code = child.wait()
        self._children.discard(child)
        if code == BAIL:
            return rpc.RunResponse(bail=True)
        return rpc.RunResponse(error=f"Program exited with non-zero exit code: {code}" if code else "")

    def RunPlugin(
        self, request: rpc.RunPluginRequest, context: grpc.ServicerContext
    ) -> Iterator[rpc.RunPluginResponse]:
        if request.kind != "analyzer":
            context.abort(grpc.StatusCode.UNIMPLEMENTED, f"plug-ins of kind {request.kind!r} are not supported")
        command = [self._python(request.info, context), "-u", "-m", "pulumi.policy", *request.args]
        variables = {**activated(request.info), **dict(entry.split("=", 1) for entry in request.env)}
        child = self._start(
            [*command, request.info.program_directory], request.pwd, variables, subprocess.PIPE, context
        )
        assert child.stdout and child.stderr
        chunks: SimpleQueue[rpc.RunPluginResponse | None] = SimpleQueue()
        for stream, wrap in ((child.stdout, _stdout), (child.stderr, _stderr)):
            threading.Thread(target=_pump, args=(stream, wrap, chunks), daemon=True).start()
        open_streams = 2
        while open_streams:
            chunk = chunks.get()
            if chunk is None:
                open_streams -= 1
            else:
                yield chunk
        yield rpc.RunPluginResponse(exitcode=child.wait())
        self._children.discard(child)

    def Cancel(self, request: Empty, context: grpc.ServicerContext) -> Empty:
        self.end_children()
        return Empty()

    def end_children(self) -> None:
        """Terminate all programs and policy packs that still run."""
        for child in list(self._children):
            child.terminate()

    def _python(self, info: rpc.ProgramInfo, context: grpc.ServicerContext) -> str:
        python = python_of(info)
        if not python.is_file():
            context.abort(
                grpc.StatusCode.FAILED_PRECONDITION,
                f"runtime.options.virtualenv: {python} does not exist; create that environment, and install "
                "topicwarden[deploy] into it",
            )
        return str(python)

    def _start(
        self,
        command: list[str],
        folder: str,
        variables: dict[str, str],
        output: int | None,
        context: grpc.ServicerContext,
    ) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(
            command,
            cwd=folder or None,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        self._children.add(child)
        context.add_callback(child.terminate)  # has no effect if the child has ended
        return child


def _stdout(line: bytes) -> rpc.RunPluginResponse:
    return rpc.RunPluginResponse(stdout=line)


def _stderr(line: bytes) -> rpc.RunPluginResponse:
    return rpc.RunPluginResponse(stderr=line)


def _pump(
    stream: IO[bytes],
    wrap: Callable[[bytes], rpc.RunPluginResponse],
    chunks: SimpleQueue[rpc.RunPluginResponse | None],
) -> None:
    for line in stream:
        chunks.put(wrap(line))
    chunks.put(None)


def main() -> None:
    """Serve until the CLI that started this process sends a signal, or has ended."""
    addresses = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    host = LanguageHost(addresses[0] if addresses else "")
    # Each program and policy pack uses a worker while it runs.
    server = grpc.server(ThreadPoolExecutor(max_workers=64), options=[("grpc.max_receive_message_length", -1)])
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())  # the engine stops language hosts with a signal
    parent = os.getppid()
    while not stopped.wait(timeout=1) and os.getppid() == parent:
        pass
    host.end_children()
    os._exit(0)


if __name__ == "__main__":
    main()
