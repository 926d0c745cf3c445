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
import sysconfig
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue

import grpc
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import language_pb2 as rpc
from pulumi.runtime.proto import language_pb2_grpc, plugin_pb2

from topicwarden.deploy import program_execution
from topicwarden.deploy.engine_connection import NO_LIMIT

_PROGRAM = f"from {program_execution.__name__} import main; main()"


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
        distributions = importlib.metadata.distributions(path=[str(path) for path in _site_packages(request.info)])
        versions = sorted({(distribution.name, distribution.version) for distribution in distributions})
        return rpc.GetProgramDependenciesResponse(
            dependencies=[rpc.DependencyInfo(name=name, version=version) for name, version in versions]
        )

    def GetRequiredPackages(
        self, request: rpc.GetRequiredPackagesRequest, context: grpc.ServicerContext
    ) -> rpc.GetRequiredPackagesResponse:
        """Return the plug-ins that the installed SDKs need, as listed in each SDK's ``pulumi-plugin.json``."""
        packages = []
        for folder in _site_packages(request.info):
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
        if not request.args:
            request.args.append(self._engine)
        command = [self._python(request.info, context), "-uP", "-c", _PROGRAM]
        # The child inherits this host's output, whose lines the engine shows immediately.
        child = self._start(command, request.pwd, _activated(request.info), None, context)
        assert child.stdin
        with suppress(BrokenPipeError):  # its end is reported below
            child.stdin.write(request.SerializeToString())
            child.stdin.close()
        code = child.wait()
        self._children.discard(child)
        if code == program_execution.BAIL:
            return rpc.RunResponse(bail=True)
        return rpc.RunResponse(error=f"Program exited with non-zero exit code: {code}" if code else "")

    def RunPlugin(
        self, request: rpc.RunPluginRequest, context: grpc.ServicerContext
    ) -> Iterator[rpc.RunPluginResponse]:
        if request.kind != "analyzer":
            context.abort(grpc.StatusCode.UNIMPLEMENTED, f"plug-ins of kind {request.kind!r} are not supported")
        command = [self._python(request.info, context), "-u", "-m", "pulumi.policy", *request.args]
        variables = {**_activated(request.info), **dict(entry.split("=", 1) for entry in request.env)}
        child = self._start(
            [*command, request.info.program_directory], request.pwd, variables, subprocess.PIPE, context
        )
        chunks: SimpleQueue[rpc.RunPluginResponse | None] = SimpleQueue()
        for name in ("stdout", "stderr"):
            threading.Thread(target=_pump, args=(child, name, chunks), daemon=True).start()
        for _ in range(2):  # until both streams have ended
            yield from iter(chunks.get, None)
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
        folder = _virtualenv(info)
        python = folder / "bin" / "python" if folder else Path(sys.executable)
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
            stdin=subprocess.PIPE if output is None else subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        self._children.add(child)
        context.add_callback(child.terminate)  # has no effect if the child has ended
        return child


def _pump(child: subprocess.Popen[bytes], name: str, chunks: SimpleQueue[rpc.RunPluginResponse | None]) -> None:
    for line in getattr(child, name):
        chunks.put(rpc.RunPluginResponse(**{name: line}))
    chunks.put(None)


def _virtualenv(info: rpc.ProgramInfo) -> Path | None:
    """Return ``runtime.options.virtualenv`` of the project or policy pack; None for the host's environment."""
    virtualenv = dict(info.options).get("virtualenv")
    return Path(info.root_directory, str(virtualenv)).absolute() if virtualenv else None


def _activated(info: rpc.ProgramInfo) -> dict[str, str]:
    """Return the environment variables that the ``activate`` script would set."""
    folder, path = _virtualenv(info), os.environ.get("PATH", os.defpath)
    return {"VIRTUAL_ENV": str(folder), "PATH": f"{folder / 'bin'}{os.pathsep}{path}"} if folder else {}


def _site_packages(info: rpc.ProgramInfo) -> list[Path]:
    """Return the folders with the installed packages of the environment."""
    folder = _virtualenv(info)
    return sorted(folder.glob("lib/python*/site-packages")) if folder else [Path(sysconfig.get_path("purelib"))]


def main() -> None:
    """Serve until the CLI that started this process sends a signal, or has ended."""
    addresses = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    host = LanguageHost(addresses[0] if addresses else "")
    # Each program and policy pack uses a worker while it runs.
    server = grpc.server(ThreadPoolExecutor(max_workers=64), options=NO_LIMIT)
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
