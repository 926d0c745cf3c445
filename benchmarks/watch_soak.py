"""Measure the memory of `topicwarden watch` over many audits, with an interval of one second instead of minutes.

The benchmark starts its own broker with some topics. Every ``EACH`` audits, it writes records, so that Spark reads::

    .venv/bin/python benchmarks/watch_soak.py [AUDITS [TOPICS]]
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from threading import Thread

from brokers import create_topics, started

from topicwarden.sandbox.scenarios.writer import writing

EACH = 10
RECORDS = 200
_PORT = re.compile(r"http://127\.0\.0\.1:(\d+)")
_AUDIT = re.compile(r"; next audit in ")
_GOOD = re.compile(r": [0-9,]+ topics?, [0-9,]+ records? in ")


def main() -> int:
    audits = int(sys.argv[1]) if len(sys.argv) > 1 else 1_440
    topics = [f"soak.t{number:04}.v1" for number in range(int(sys.argv[2]) if len(sys.argv) > 2 else 20)]
    with tempfile.TemporaryDirectory() as folder, started(Path(folder) / "sandbox") as sandbox:
        create_topics(sandbox.bootstrap_servers, topics, 1)
        project = _project(Path(folder) / "project", sandbox.bootstrap_servers, topics)
        return soak(project, sandbox.bootstrap_servers, topics, audits)


def soak(project: Path, servers: list[str], topics: list[str], audits: int) -> int:
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
    sizes: list[tuple[int, int]] = []
    written, shown = 0, 0
    print(f"{'audits':>8} {'records':>9} {'Python RSS':>12} {'JVM RSS':>12} {'threads':>8} {'files':>6}", flush=True)
    try:
        while process.poll() is None:
            done = sum(bool(_AUDIT.search(line)) for line in lines)
            if done >= audits:
                break
            if done * len(topics) * RECORDS // EACH >= written and done % EACH == 0:
                _write(servers, topics)
                written += len(topics) * RECORDS
            if done >= shown + max(1, audits // 12):
                _scrape(lines)
                sizes.append((_resident(process.pid), sum(map(_resident, _children(process.pid)))))
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
        print(f"growth in the second half: Python {growth[0]:+.1f} MiB, JVM {growth[1]:+.1f} MiB")
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


def _show(done: int, written: int, size: tuple[int, int], pid: int) -> None:
    threads = re.search(r"Threads:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
    files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    python, jvm = (f"{kilobytes / 1024:.1f} MiB" for kilobytes in size)
    print(f"{done:8} {written:9,} {python:>12} {jvm:>12} {threads[1] if threads else '':>8} {files:6}", flush=True)


def _resident(pid: int) -> int:
    """Return the resident memory of a process, in KiB."""
    with suppress(OSError):
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
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
