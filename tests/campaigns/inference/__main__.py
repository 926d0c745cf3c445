"""Infer the contracts of many drawn topics, and hold later records against them.

``python -m tests.campaigns.inference --topics 300 --seed 1``
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from tests.campaigns.inference.comparison import compare
from tests.campaigns.inference.drawn_topics import DrawnTopics, cluster
from tests.conftest import REPOSITORY
from tests.support.projects import own_cache
from tests.support.registry import running_registry
from topicwarden.audit.scan.spark_session import spark_session
from topicwarden.model.project import Project
from topicwarden.toolchain import toolchain


def main() -> int:
    """Print the table of counts. Return 1 if the inference breaks one of its promises."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.inference", description=__doc__)
    parser.add_argument("--topics", type=int, default=300)
    parser.add_argument("--seed", type=int, default=None, help="of all that is drawn; another one each time")
    parser.add_argument("--no-registry", action="store_true", help="draw no values in the wire format of a registry")
    requested = parser.parse_args()
    seed = int(time.time()) if requested.seed is None else requested.seed
    print(f"seed {seed}", flush=True)
    tools = toolchain(Project(REPOSITORY))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        registry = "" if requested.no_registry else stack.enter_context(running_registry(folder / "registry"))
        stack.enter_context(own_cache(folder))
        servers = stack.enter_context(cluster(tools, folder))
        drawn = DrawnTopics.create(servers, registry, seed, requested.topics)
        stack.enter_context(spark_session(drawn.project(folder / "session")))
        comparison = compare(drawn, folder)
    print(comparison.table())
    return 0 if comparison.holds else 1


if __name__ == "__main__":
    sys.exit(main())
