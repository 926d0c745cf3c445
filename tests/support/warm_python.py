"""Start Pulumi's programs, language hosts and providers as forks of a process that has already imported Pulumi.

A deployment starts four Python processes. Their imports take two thirds of its CPU time. Tests that only need the
result of a deployment use this server, which forks. The forked processes run the product's own code, each in a separate
process. Tests of process startup and shutdown use the real interpreter.
"""

from __future__ import annotations

import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SOCKET, ENVIRONMENT = "TOPICWARDEN_TESTS_WARM_PYTHON", "TOPICWARDEN_TESTS_ENVIRONMENT"
"""Variable names: the server's address, and the virtual environment whose ``python`` connects to the server."""
_CLIENT = """#!{python} -ISE
import json, os, select, signal, socket, sys
parent, arguments = os.getppid(), {prefix!r} + sys.argv[1:]
try:
    server = socket.socket(socket.AF_UNIX)
    server.connect(os.environ["{variable}"])
except (KeyError, OSError):
    os.execv({python!r}, [{python!r}, *{cold!r}, *sys.argv[1:]])
request = json.dumps([arguments, os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [len(request).to_bytes(8, "big")], [0, 1, 2])
server.sendall(request)
def forward(number, _):
    try:
        server.sendall(bytes([number]))
    except OSError:  # the process has just ended
        pass
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, forward)
answer = b""
while len(answer) < 4:
    if select.select([server], [], [], 1)[0]:
        if not (more := server.recv(4 - len(answer))):
            break
        answer += more
    elif os.getppid() != parent:  # the process would have looked, but has another parent
        os._exit(1)
code = int.from_bytes(answer, "big", signed=True) if len(answer) == 4 else 1
if code < 0:
    signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
    os.kill(os.getpid(), -code)
os._exit(code)
"""
_HOST = "from topicwarden.deploy.language_host import main; main()"


@contextmanager
def warm_python(cache: Path, folder: Path) -> Iterator[dict[str, str]]:
    """Serve processes during the block; ``cache`` then has a Pulumi that uses the server, ``folder`` an environment.

    Yield the variables for the processes that use the server. If this project did not build Pulumi, Pulumi uses its own
    language host, and the block runs without a server.
    """
    chosen = json.loads((cache / "pulumi" / "chosen.json").read_text(encoding="utf-8"))
    if chosen["way"] != "build":
        yield {}
        return
    _install(cache, folder, chosen)
    address = folder / "socket"
    server = subprocess.Popen([sys.executable, "-m", "tests.support.warm_python", str(address)])
    try:
        while not address.exists():
            assert server.poll() is None, "the server of warm processes ended"
            select.select([], [], [], 0.05)
        yield {SOCKET: str(address), ENVIRONMENT: str(folder / "venv")}
    finally:
        server.kill()
        server.wait()


def _install(cache: Path, folder: Path, chosen: dict[str, str]) -> None:
    """Install a ``pulumi`` with a language host, and a ``python`` in a virtual environment. Both use the server."""
    real = Path(chosen["executable"]).resolve()
    binaries, environment = real.parent.parent / "warm", folder / "venv"
    for directory in (binaries, environment / "bin"):
        directory.mkdir(parents=True, exist_ok=True)
    pulumi = binaries / "pulumi"
    if not pulumi.exists() or not pulumi.samefile(real):
        _replace(pulumi, lambda partial: _same(real, partial))
    host = _CLIENT.format(python=sys.executable, prefix=["-c", _HOST], cold=["-c", _HOST], variable=SOCKET)
    _replace(binaries / "pulumi-language-python", lambda partial: _write(partial, host))
    _write(environment / "bin" / "python", _CLIENT.format(python=sys.executable, prefix=[], cold=[], variable=SOCKET))
    provider = ["-m", "topicwarden.deploy.provider"]
    _write(
        environment / "bin" / "pulumi-resource-kafka",
        _CLIENT.format(python=sys.executable, prefix=provider, cold=provider, variable=SOCKET),
    )
    (environment / "lib").symlink_to(Path(sys.prefix) / "lib")
    record = cache / "pulumi" / "chosen.json"
    record.unlink()
    record.write_text(json.dumps({**chosen, "executable": str(pulumi)}), encoding="utf-8")


def _replace(path: Path, make: Callable[[Path], object]) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)
    make(partial)
    partial.replace(path)


def _same(real: Path, partial: Path) -> None:
    """Create a hard link: the CLI resolves symbolic links, and looks for the language host beside the resolved file."""
    try:
        os.link(real, partial)
    except OSError:
        shutil.copy2(real, partial)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def serve(address: str) -> None:
    """Fork a process for each connection, until the server is killed."""
    import grpc  # noqa: F401, PLC0415
    import pulumi.policy  # noqa: F401, PLC0415
    import pulumi_kafka  # noqa: F401, PLC0415

    import topicwarden.cli.plan  # noqa: PLC0415
    import topicwarden.cli.rebalance  # noqa: PLC0415
    import topicwarden.deploy.language_host  # noqa: PLC0415
    import topicwarden.deploy.policy_pack  # noqa: PLC0415
    import topicwarden.deploy.program  # noqa: PLC0415
    import topicwarden.deploy.provider.server  # noqa: PLC0415
    import topicwarden.extensions.interchange.import_operation  # noqa: F401, PLC0415

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{address}.partial")
        server.listen(64)
        Path(f"{address}.partial").rename(address)
        parent = os.getppid()
        while os.getppid() == parent:
            if not select.select([server], [], [], 1)[0]:
                continue
            connection, _ = server.accept()
            if os.fork() == 0:
                server.close()
                _supervise(connection)
            connection.close()


def _supervise(connection: socket.socket) -> None:
    """Run the client's request in a child process; stop the child when the client ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    head, files, _, _ = socket.recv_fds(connection, 8, 3)
    length, request = int.from_bytes(head, "big"), b""
    while len(request) < length:
        request += connection.recv(length - len(request))
    arguments, folder, variables = json.loads(request)
    child = os.fork()
    if child == 0:
        connection.close()
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(variables)
        _run(arguments)
    for file in files:
        os.close(file)
    ended = os.pidfd_open(child)
    server = os.getppid()
    while True:
        ready = select.select([ended, connection.fileno()], [], [], 1)[0]
        if ended in ready:
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            with suppress(OSError):
                connection.sendall(code.to_bytes(4, "big", signed=True))
            os._exit(0)
        requested = connection.recv(1) if connection.fileno() in ready else b""
        if requested:
            os.kill(child, requested[0])
        elif connection.fileno() in ready or os.getppid() != server:
            os.kill(child, signal.SIGKILL)
            os._exit(0)


def _run(arguments: list[str]) -> None:
    """Run these arguments as ``python`` does: ``-u`` or ``-uP``, then ``-c``, ``-m`` or a script."""
    # The server's own streams may be files, but these may be pipes.
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.path[:] = [path for path in sys.path if path]
    try:
        if arguments[0] in ("-u", "-uP"):
            arguments = arguments[1:]
        if arguments[0] == "-c":
            sys.argv = ["-c", *arguments[2:]]
            exec(arguments[1], {"__name__": "__main__"})
        elif arguments[0] == "-m":
            sys.argv = arguments[1:]
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = arguments
            sys.path.insert(0, str(Path(arguments[0]).parent))
            runpy.run_path(arguments[0], run_name="__main__")
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001 -- the interpreter's last resort
        sys.excepthook(*sys.exc_info())
        code = 1
    _exit(code)


def _exit(code: int) -> None:
    """Exit as an interpreter does: threads first, then exit handlers, then buffers."""
    import threading  # noqa: PLC0415

    threading._shutdown()  # type: ignore[attr-defined]
    import atexit  # noqa: PLC0415

    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
