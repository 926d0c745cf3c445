"""Whether the cluster is the one that the stack was deployed to: another one would get this stack's changes."""

from __future__ import annotations

from topicwarden.kafka.connection import Connection
from topicwarden.kafka.snapshot import Snapshot
from topicwarden.model.problem import Refusal
from topicwarden.plan.deployed_stack import DeployedStack
from topicwarden.specs.broker_settings import MOVED_TO


def check_cluster(stack: str, connection: Connection, deployed: DeployedStack, snapshot: Snapshot) -> str | None:
    """Return a remark about the cluster's identity, if there is one.

    Compares Kafka's cluster id with the one that Pulumi's state records; there is no judgement if either is unknown.
    ``snapshot`` holds at least the deployed topics. Refuses another cluster, unless ``topicwarden:movedTo`` names it,
    or unless it is a sandbox that was made anew: what a sandbox holds is throw-away, and none of the deployed topics
    is there.
    """
    before, now, moved_to = deployed.cluster_id, snapshot.cluster_id, connection.moved_to
    if before is None or now is None:
        return None
    if moved_to is not None and moved_to != now:
        raise Refusal(
            f"{MOVED_TO} in stacks/Pulumi.{stack}.yaml says that the stack moved to cluster {moved_to}, and "
            f"{connection.source} leads to cluster {now}: correct the one or the other"
        )
    if before == now:
        return f"{MOVED_TO} has done its work: `pulumi config rm {MOVED_TO} --stack {stack}`" if moved_to else None
    if moved_to is not None:
        return (
            f"the stack moves from cluster {before} to {now}: topics that are not there yet are created by "
            "`pulumi up --refresh`"
        )
    if connection.sandbox and not deployed.topics.keys() & snapshot.topics.keys():
        return (
            f"the sandbox was made anew: the stack was deployed to cluster {before}, and this is cluster {now}; "
            "`pulumi up --refresh` creates the topics again, empty"
        )
    raise Refusal(
        f"the stack {stack} was deployed to cluster {before}, and {connection.source} leads to cluster {now}: "
        "nothing is planned or changed there. Correct the setting; if the stack really moved, say so with "
        f"`pulumi config set {MOVED_TO} {now} --stack {stack}`"
    )
