"""Compare the count of unreadable records with independent readers: ``python -m tests.campaigns.readability``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

from tests.campaigns.readability.compared import Comparison, broker, differences, reference_reader, table
from tests.campaigns.readability.drawn_schemas import compiled_proto
from tests.conftest import REPOSITORY
from tests.support.projects import borrowing_cache, project_of
from tests.support.registry import running_registry
from topicwarden.audit import retained_records
from topicwarden.audit.retained_records import ReaderRecords
from topicwarden.extensions.sandbox import ports
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.project import Project
from topicwarden.model.readability import Readability
from topicwarden.specs.stacks.registry_settings import RegistrySettings
from topicwarden.toolchain import toolchain

AT_ONCE = 400


def main() -> int:
    """Run the comparison; return 1 if any pair differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.readability", description=__doc__)
    parser.add_argument("--pairs", type=int, default=2_000, help="drawn pairs of an old and a new schema")
    parser.add_argument("--seed", default=str(int(time.time())), help="everything is drawn from it; default: the time")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        ports.BROKERS_FROM += 1_000 * (1 + int(worker.removeprefix("gw")))
    print(f"seed {arguments.seed}", flush=True)
    tools = toolchain(Project(REPOSITORY))
    began = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - began:6.0f} s  {line}", flush=True)

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        reference = stack.enter_context(reference_reader(tools.java, folder))
        comparison = Comparison(arguments.seed, arguments.pairs, reference)
        say(f"{len(comparison.drawn)} pairs drawn and judged")
        url = stack.enter_context(running_registry(folder / "registry"))
        sandbox = stack.enter_context(broker(tools, folder))
        comparison.register(url)
        say(f"{len(comparison.drawn)} old schemas registered")
        open_transaction = comparison.write(sandbox.bootstrap_servers)
        say(f"{len(comparison.records)} committed records written")
        os.environ["TOPICWARDEN_CACHE"] = str(borrowing_cache(folder / "cache"))
        stack.enter_context(patch.object(retained_records, "compile_proto", compiled_proto))
        connection = Connection(tuple(sandbox.bootstrap_servers), tls=False)
        reader = ReaderRecords(connection, RegistrySettings(url), project_of(folder / "project", {}))
        found: list[Readability] = []
        for start in range(0, len(comparison.drawn), AT_ONCE):  # a task waits two minutes for a registry, in all
            found += reader.read([drawn.scan() for drawn in comparison.drawn[start : start + AT_ONCE]])
            say(f"{len(found)} pairs scanned")
        open_transaction.abort_transaction(60)
        wrong = differences(comparison.drawn, comparison.expected(), found)
        say("compared")
        print(table(comparison.drawn, found, len(comparison.records)))
        print(*wrong[:20], sep="\n")
        print(f"{len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
