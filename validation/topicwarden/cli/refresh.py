"""`topicwarden refresh`: read the topics as they are on the cluster into Pulumi's state."""

from __future__ import annotations

from topicwarden.cli.terminal import TERMINAL, engine_output
from topicwarden.model.project import find_project
from topicwarden.operations.deploy import refresh_topics
from topicwarden.operations.find_pulumi import writing_engine_of


def refresh(stack: str) -> int:
    """Write the settings and partitions of the live topics into Pulumi's state; return 1 if Pulumi failed."""
    engine = writing_engine_of(find_project(), stack, TERMINAL)
    return 0 if refresh_topics(engine, engine_output(), listener=TERMINAL) else 1
