"""The Schema Registry of the sandbox: Apicurio, which serves Confluent's REST API, with its data in a folder."""

from __future__ import annotations

import signal
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from itertools import chain
from pathlib import Path
from shutil import rmtree
from typing import Final

from topicwarden.extensions.sandbox.broker import BrokerProcess, failure_line, read_pid_file, spawn
from topicwarden.extensions.sandbox.jvm import FAST_START
from topicwarden.extensions.sandbox.ports import is_free
from topicwarden.extensions.sandbox.sandbox_state import HOST, Say, lock, port_lock
from topicwarden.model.files import replace_file
from topicwarden.model.problem import Refusal
from topicwarden.model.sandbox_folder import REGISTRY_FILE
from topicwarden.toolchain.apicurio import RUNNER

PORTS_FROM: Final = 18081
_API: Final = "/apis/ccompat/v7"
_HEAP: Final = "384m"
_READY_S: Final = 120.0
_STOP_S: Final = 20.0
_PAUSE_S: Final = 0.1
_PROBE_S: Final = 2.0


@dataclass(frozen=True)
class RegistryServer:
    """The registry of the sandbox in ``sandbox``. It need not be running, and may never have been started."""

    sandbox: Path

    @property
    def url(self) -> str | None:
        """The URL of the running registry; None if it is not running."""
        process = self._process
        if process is None or not process.alive:
            return None
        with suppress(OSError):
            return self._file.read_text(encoding="utf-8").strip()
        return None

    def up(self, java: Path, app: Path, say: Say) -> str:
        """Start the registry if it is not running, and return its URL when it answers.

        ``app`` is the folder of Apicurio. The port is the previous one if that is free. Raises Refusal if the process
        dies or does not answer.
        """
        with lock(self.sandbox, say):
            if url := self.url:
                return url
            self._stop(signal.SIGTERM, say)  # the process of a command that ended before the registry answered
            say("starting the Schema Registry")
            self._folder.mkdir(parents=True, exist_ok=True)
            with port_lock(say):
                port = self._port()
                self._file.unlink(missing_ok=True)
                self._spawn(java, app, port)
                url = f"http://{HOST}:{port}{_API}"
                self._wait(url)
            replace_file(self._file, f"{url}\n")
            return url

    def down(self, *, remove: bool, say: Say) -> None:
        """Stop the registry; with ``remove``, also delete its data."""
        with lock(self.sandbox, say):
            self._stop(signal.SIGKILL if remove else signal.SIGTERM, say)
            if remove:
                self._file.unlink(missing_ok=True)
                if self._folder.is_dir() and not self._folder.is_symlink():
                    rmtree(self._folder)

    def _stop(self, number: signal.Signals, say: Say) -> None:
        process = self._process
        if process is not None and process.alive:
            say("stopping the Schema Registry")
            process.send(number)
            if not process.wait(_STOP_S):
                process.send(signal.SIGKILL)
                process.wait(_STOP_S)

    @property
    def _file(self) -> Path:
        """The file with the URL. While a registry starts, it does not exist."""
        return self.sandbox / REGISTRY_FILE

    @property
    def _folder(self) -> Path:
        return self.sandbox / "registry"

    @property
    def _process(self) -> BrokerProcess | None:
        """The process that this folder started; None if the folder was copied from another sandbox."""
        process = read_pid_file(self._folder / "pid.json")
        return None if process is None or process.runs_another(self._folder) else process

    def _port(self) -> int:
        previous = PORTS_FROM
        with suppress(OSError, ValueError, IndexError):
            address = self._file.read_text(encoding="utf-8")
            previous = int(address.split(":")[2].partition("/")[0])
        candidates = chain([previous], range(PORTS_FROM, 65536))
        return next(filter(is_free, candidates))

    def _spawn(self, java: Path, app: Path, port: int) -> None:
        settings = {
            "quarkus.http.host": HOST,
            "quarkus.http.port": str(port),
            "quarkus.management.host": HOST,
            "quarkus.management.port": "0",  # any free port: nobody needs it
            "apicurio.datasource.url": f"jdbc:h2:file:{self._folder}/data",
        }
        options = [f"-D{name}={value}" for name, value in settings.items()]
        # The last argument says which sandbox the process belongs to. The server ignores it.
        command = [str(java), *FAST_START, f"-Xmx{_HEAP}", *options, "-jar", str(app / RUNNER), str(self._folder)]
        spawn(command, self._console, self._folder / "pid.json")

    def _wait(self, url: str) -> None:
        until = time.monotonic() + _READY_S
        while not _answers(url):
            process = self._process
            if process is None or not process.alive:
                raise Refusal(f"the Schema Registry died: {failure_line(self._output)}; see {self._console}")
            if time.monotonic() > until:
                raise Refusal(f"the Schema Registry did not answer within {_READY_S:.0f} s; see {self._console}")
            time.sleep(_PAUSE_S)

    @property
    def _console(self) -> Path:
        return self._folder / "console.log"

    @property
    def _output(self) -> str:
        return self._console.read_text(encoding="utf-8", errors="replace")


def _answers(url: str) -> bool:
    with suppress(OSError, HTTPException), urllib.request.urlopen(f"{url}/subjects", timeout=_PROBE_S):
        return True
    return False
