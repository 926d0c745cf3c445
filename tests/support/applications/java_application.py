"""Run Java applications on the sandbox during a scenario."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from topicwarden.model.problem import Refusal

_QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m")
_STOP_S = 20.0
_PAUSE_S = 0.5
"""The time between two looks at the cluster. A look costs CPU time that the application needs."""


@dataclass(frozen=True)
class JavaApplication:
    """The ``java`` executable, the folders with the required jars, and a folder for the application's files."""

    java: Path
    jars: Sequence[Path]
    folder: Path

    def settings_file(self, settings: Mapping[str, str]) -> Path:
        """Write ``settings`` into a file of the application, in the form of Java's properties."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "settings.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="utf-8")
        return path

    @property
    def class_path(self) -> str:
        return os.pathsep.join(str(jars / "*") for jars in self.jars)

    @contextmanager
    def running(
        self, *arguments: str | Path, ready: Callable[[], bool], timeout_s: float = 120, class_path: str | None = None
    ) -> Iterator[None]:
        """Run ``java`` with ``arguments`` during the block; the block starts when ``ready`` returns true.

        ``class_path``: another one than that of the jars. Raises Refusal with the last line of the application's log
        if it exits early, or is not ready after ``timeout_s`` seconds.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.folder / "console.log"
        command = [str(part) for part in (self.java, *_QUICK, "-cp", class_path or self.class_path, *arguments)]
        with log.open("wb") as console:
            process = subprocess.Popen(command, cwd=self.folder, stdout=console, stderr=console)
        try:
            deadline = time.monotonic() + timeout_s
            while not ready():
                if process.poll() is not None or time.monotonic() > deadline:
                    output = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
                    how = "is not ready yet" if process.poll() is None else "ended"
                    raise Refusal(
                        f"the application {arguments[0]} {how}: {output[-1] if output else 'it output nothing'}"
                    )
                time.sleep(_PAUSE_S)
            yield
        finally:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
