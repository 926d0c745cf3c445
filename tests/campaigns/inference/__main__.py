"""Infer the contracts of many drawn topics, and hold later records against them.

``python -m tests.campaigns.inference --topics 300 --seed 1``
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.campaigns.inference.drawn_topics import (
    LATER,
    RECORDS,
    DrawnTopics,
    failures,
    import_contents,
    share_of_found_rules,
)
from tests.campaigns.inference.hidden_contract import MARK
from tests.conftest import REPOSITORY
from tests.support.projects import own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.model.project import Project
from topicwarden.toolchain import toolchain

_SINGLE = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.replication.factor": "1",
}
_MOST_FALSE, _LEAST_FOUND = 0.01, 0.9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    tools = toolchain(Project(REPOSITORY))
    with tempfile.TemporaryDirectory() as scratch, own_cache(Path(scratch)) as folder:
        sandbox = Sandbox(folder / "sandbox", tools.java, tools.kafka_jars)
        with running(sandbox, brokers=1, overrides=_SINGLE):
            topics = DrawnTopics.create(sandbox.bootstrap_servers, arguments.seed, arguments.topics)
            topics.write(RECORDS)
            servers = ", ".join(topics.servers)
            settings = f"config: {{'kafka:bootstrapServers': [{servers}], 'kafka:tlsEnabled': false}}\n"
            hidden = import_contents(project_of(folder / "hidden", {}, settings), show_values=False)
            project = project_of(folder / "project", {}, settings)
            import_contents(project, show_values=True)
            share, missing = share_of_found_rules(project, topics.contracts)
            at_once = failures(project)
            topics.write(LATER)
            false = {finding.topic for finding in failures(project)}
    print(f"{arguments.topics} topics: {share:.1%} of their rules found; {len(at_once)} findings on the records read; ")
    print(f"{len(false)} topics with a finding on later records; values shown: {MARK in hidden}")
    print(*missing[:50], sep=os.linesep)
    failed = at_once or MARK in hidden or share < _LEAST_FOUND or len(false) > _MOST_FALSE * arguments.topics
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
