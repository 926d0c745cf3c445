"""Java applications that run on the sandbox for as long as a scenario does."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from topicwarden.model.problem import Refusal

_QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m")
_STOP_S = 20.0


@dataclass(frozen=True)
class JavaApplication:
    """A ``java``, the folders of jars it needs, and a folder of its own for what it writes."""

    java: Path
    jars: Sequence[Path]
    folder: Path

    @contextmanager
    def running(self, *arguments: str | Path, ready: Callable[[], bool], patience_s: float = 120) -> Iterator[None]:
        """Runs ``java`` with ``arguments`` for as long as the block does; the block begins when it is ``ready``.

        Refuses with the last line of its log where it ends, or is not ready in time.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.folder / "console.log"
        class_path = os.pathsep.join(str(jars / "*") for jars in self.jars)
        command = [str(part) for part in (self.java, *_QUICK, "-cp", class_path, *arguments)]
        with log.open("wb") as console:
            process = subprocess.Popen(command, cwd=self.folder, stdout=console, stderr=console)
        try:
            deadline = time.monotonic() + patience_s
            while not ready():
                if process.poll() is not None or time.monotonic() > deadline:
                    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
                    how = "is not ready yet" if process.poll() is None else "ended"
                    raise Refusal(f"the application {arguments[0]} {how}: {said[-1] if said else 'it said nothing'}")
                time.sleep(0.1)
            yield
        finally:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
