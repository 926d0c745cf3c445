"""Checks that the cluster is the one that the stack was deployed to, so no other cluster gets its changes."""

from __future__ import annotations

from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.deployed_stack import DeployedStack
from topicwarden.model.problem import Refusal
from topicwarden.specs.stacks.stack_settings import MOVED_TO


def check_cluster(stack: str, connection: Connection, deployed: DeployedStack, snapshot: Snapshot) -> str | None:
    """Return a remark about the cluster's identity, or None; refuse another cluster.

    Compares Kafka's cluster id with the id in Pulumi's state; nothing is checked if either is unknown. Another cluster
    is accepted if ``topicwarden:movedTo`` names it, or if it is a new sandbox that has none of the deployed topics: the
    data of a sandbox is disposable. ``snapshot`` has at least the deployed topics.
    """
    before, now, moved_to = deployed.cluster_id, snapshot.cluster_id, connection.moved_to
    if before is None or now is None:
        return None
    if moved_to is not None and moved_to != now:
        raise Refusal(
            f"{MOVED_TO} in stacks/Pulumi.{stack}.yaml says that the stack moved to cluster {moved_to}, but "
            f"{connection.source} leads to cluster {now}: correct one of the two settings"
        )
    if before == now:
        return f"{MOVED_TO} is no longer needed: `pulumi config rm {MOVED_TO} --stack {stack}`" if moved_to else None
    if moved_to is not None:
        return (
            f"the stack moves from cluster {before} to {now}: `topicwarden up --refresh` creates topics that do not "
            "exist there yet"
        )
    if connection.sandbox and not deployed.topics.keys() & snapshot.topics.keys():
        return (
            f"the sandbox is a new cluster: the stack was deployed to cluster {before}, and this is cluster {now}; "
            "`topicwarden up --refresh` creates the topics again, empty"
        )
    raise Refusal(
        f"the stack {stack} was deployed to cluster {before}, but {connection.source} leads to cluster {now}: "
        "nothing is planned or changed there. Correct the setting; if the stack really moved, confirm it with "
        f"`pulumi config set {MOVED_TO} {now} --stack {stack}`"
    )
