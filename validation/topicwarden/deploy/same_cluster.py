"""Refuses a command that would take another cluster for the one that a stack was deployed to."""

from __future__ import annotations

from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.stack_state import read_stack_state
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.plan.cluster_identity import check_cluster
from topicwarden.plan.deployed_stack import DeployedStack


def require_same_cluster(engine: PulumiEngine) -> DeployedStack:
    """Return the stack as deployed; refuse another cluster than that of the last deploy.

    A refresh would remove the topics from the state that the other cluster does not have. The program refuses it, too,
    but runs after the refresh.
    """
    connection, deployed = connect_to(engine.project, engine.stack), read_stack_state(engine)
    with open_cluster(connection) as cluster:
        check_cluster(engine.stack, connection, deployed, cluster.snapshot(deployed.topics))
    return deployed
