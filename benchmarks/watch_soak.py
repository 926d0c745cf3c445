"""Measure the memory of `topicwarden watch` over many audits, with an interval of one second instead of minutes.

The benchmark starts its own broker with some topics. Before every ``EACH``th audit, it writes records, so that Spark
reads. The live heap is what is left in the JVM after a full garbage collection, as ``jcmd`` reports it::

    .venv/bin/python benchmarks/watch_soak.py [AUDITS [TOPICS [EACH]]]
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from brokers import create_topics, started

from topicwarden.extensions.sandbox.scenarios.writer import writing

EACH = 10
RECORDS = 200
ROWS = 12
_PORT = re.compile(r"http://127\.0\.0\.1:(\d+)")
_AUDIT = re.compile(r"; next audit in ")
_GOOD = re.compile(r": [0-9,]+ topics?, [0-9,]+ records? in ")


class Memory(NamedTuple):
    """Sizes in KiB: the resident memory of the watch and its JVM, and the JVM's live heap and used metaspace."""

    python: int
    jvm: int
    live_heap: int
    metaspace: int


_NAMES = ("Python", "JVM", "live heap", "metaspace")


def main() -> int:
    audits = int(sys.argv[1]) if len(sys.argv) > 1 else 1_440
    topics = [f"soak.t{number:04}.v1" for number in range(int(sys.argv[2]) if len(sys.argv) > 2 else 20)]
    each = int(sys.argv[3]) if len(sys.argv) > 3 else EACH
    with tempfile.TemporaryDirectory() as folder, started(Path(folder) / "sandbox") as sandbox:
        create_topics(sandbox.bootstrap_servers, topics, 1)
        project = _project(Path(folder) / "project", sandbox.bootstrap_servers, topics)
        return soak(project, sandbox.bootstrap_servers, topics, audits, each)


def soak(project: Path, servers: list[str], topics: list[str], audits: int, each: int) -> int:
    """Run a watch for a number of audits, and print its memory."""
    command = [Path(sys.executable).with_name("topicwarden"), "watch", "--stack", "dev", "--every", "1s"]
    process = subprocess.Popen(
        [*map(str, command), "--listen", "127.0.0.1:0"], cwd=project, stderr=subprocess.PIPE, text=True
    )
    lines: list[str] = []

    def collect() -> None:
        assert process.stderr
        lines.extend(iter(process.stderr.readline, ""))

    Thread(target=collect, daemon=True).start()
    sizes: list[Memory] = []
    written, shown, writes = 0, 0, 0
    print(f"{'audits':>8} {'records':>9}  Python RSS     JVM RSS   live heap   metaspace  threads  files", flush=True)
    try:
        while process.poll() is None:
            done = sum(bool(_AUDIT.search(line)) for line in lines)
            if done >= audits:
                break
            if done >= writes * each:
                _write(servers, topics)
                written += len(topics) * RECORDS
                writes = done // each + 1
            if done >= shown + max(1, audits // ROWS):
                _scrape(lines)
                sizes.append(_memory(process.pid))
                _show(done, written, sizes[-1], process.pid)
                shown = done
            time.sleep(0.2)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        code = process.wait(10)
        print(f"\nSIGTERM: ended with exit code {code} after {time.monotonic() - began:.1f} s")
    finally:
        process.kill()
    failed = sum(_GOOD.search(line) is None for line in lines if _AUDIT.search(line))
    half = sizes[len(sizes) // 2 :]
    if half:
        growth = [(last - first) / 1024 for first, last in zip(half[0], half[-1], strict=True)]
        text = ", ".join(f"{name} {each:+.1f} MiB" for name, each in zip(_NAMES, growth, strict=True))
        print(f"growth in the second half: {text}")
    print(f"{failed} failed audits")
    return code


def _project(folder: Path, servers: list[str], topics: list[str]) -> Path:
    for name in ("topics", "stacks"):
        (folder / name).mkdir(parents=True)
    (folder / "Pulumi.yaml").write_text("name: soak\nruntime: python\n", encoding="utf-8")
    settings = f"config: {{'kafka:bootstrapServers': ['{servers[0]}'], 'kafka:tlsEnabled': false}}\n"
    (folder / "stacks" / "Pulumi.dev.yaml").write_text(settings, encoding="utf-8")
    for name in topics:
        text = "partitions: 1\nreplication_factor: 1\ncontents: {key: {required: true}}\n"
        (folder / "topics" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def _write(servers: list[str], topics: list[str]) -> None:
    with writing(servers) as writer:
        for topic in topics:
            for number in range(RECORDS):
                writer.send(topic, f"key-{number}", "x" * 100)


def _scrape(lines: list[str]) -> None:
    """Request each page, as Prometheus and people do."""
    found = _PORT.search("".join(lines))
    for path in ("/metrics", "/report", "/report.json", "/readyz"):
        if found:
            with urllib.request.urlopen(f"http://127.0.0.1:{found[1]}{path}", timeout=60) as page:
                page.read()


def _show(done: int, written: int, memory: Memory, pid: int) -> None:
    threads = "+".join(str(_status(each, "Threads")) for each in (pid, *_children(pid)))
    files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    sizes = " ".join(f"{kilobytes / 1024:7.1f} MiB" for kilobytes in memory)
    print(f"{done:8} {written:9,} {sizes} {threads:>8} {files:6}", flush=True)


def _memory(pid: int) -> Memory:
    children = _children(pid)
    resident = _resident(pid), sum(map(_resident, children))
    heaps = [_live_heap(child) for child in children]
    return Memory(*resident, sum(heap for heap, _ in heaps), sum(metaspace for _, metaspace in heaps))


def _live_heap(pid: int) -> tuple[int, int]:
    """Return the live heap of a JVM and its used metaspace, in KiB; 0 if they are unknown, as without ``jcmd``."""
    jcmd = shutil.which("jcmd")
    if jcmd is None:
        return 0, 0
    total = re.search(r"^Total +\d+ +(\d+)", _jcmd(jcmd, pid, "GC.class_histogram"), re.MULTILINE)
    metaspace = re.search(r"Metaspace +used (\d+)K", _jcmd(jcmd, pid, "GC.heap_info"))
    return int(total[1]) // 1024 if total else 0, int(metaspace[1]) if metaspace else 0


def _jcmd(program: str, pid: int, command: str) -> str:
    """Return the answer of a JVM. Its histogram of classes counts what is left after a full garbage collection."""
    done = subprocess.run([program, str(pid), command], capture_output=True, text=True, timeout=120, check=False)
    return done.stdout


def _resident(pid: int) -> int:
    """Return the resident memory of a process, in KiB."""
    return _status(pid, "VmRSS")


def _status(pid: int, name: str) -> int:
    """Return a number of a process; 0 if it has ended."""
    with suppress(OSError):
        found = re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
        return int(found[1]) if found else 0
    return 0


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # the thread has ended meanwhile
            found += map(int, (task / "children").read_text(encoding="utf-8").split())
    return found


if __name__ == "__main__":
    sys.exit(main())
