"""The Pulumi program: what ``stacks/__main__.py`` runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import pulumi
import pulumi_kafka as kafka

from topicwarden.change import Action, TopicPlan
from topicwarden.deploy.adopt import ADOPTING
from topicwarden.deploy.half_written import once_written, stop_at_half_written
from topicwarden.deploy.preview import PLANNING
from topicwarden.deploy.state import read_by
from topicwarden.deploy.topic_set import Registration, TopicSet
from topicwarden.kafka.cluster import open_cluster
from topicwarden.kafka.connection import SETTINGS, Connection, connection_from, refuse_sandbox_passphrase
from topicwarden.plan.deployed import DeployedStack
from topicwarden.plan.predict import predict, refusals
from topicwarden.policies.check import check
from topicwarden.problem import Problem, Refusal
from topicwarden.project import find_project
from topicwarden.specs.kinds import KINDS
from topicwarden.specs.resolve import Declaration
from topicwarden.topic import Allowance


def deploy() -> None:
    """Declares every topic of the selected stack; ends the preview where a declaration or a change may not be.

    Nothing is registered with the engine before everything was judged, so a refusal has no half effect.
    """
    stack = pulumi.get_stack()
    try:
        project = find_project()
        refuse_sandbox_passphrase(project, stack)
        checked = check(project, [stack])
        _stop_at(_hindering(checked.errors))
        declarations = checked.declarations[stack]
        settings = {name: value for name in SETTINGS if (value := _setting(name)) is not None}
        connection = connection_from(project, stack, settings)
        deployed = _deployed(stack)
        with open_cluster(connection) as cluster:
            names = {*deployed.topics, *deployed.duplicates, *(held.topic.name for held in declarations)}
            live = cluster.snapshot(names, expected=names)
            plans = predict(cluster, live, declarations, deployed)
    except Refusal as refusal:
        raise pulumi.RunError(str(refusal)) from None
    if not (PLANNING in os.environ and pulumi.runtime.is_dry_run()):
        _stop_at(refusals(plans))
    _warn_of_replicas(plans)
    topics = TopicSet(stack, _registrations(declarations, plans), live.cluster_id, _provider(settings, connection))
    pulumi.export("topics", topics.topics)


def _registrations(declarations: Iterable[Declaration], plans: Iterable[TopicPlan]) -> Iterable[Registration]:
    today = datetime.now(UTC).date()
    actions = {plan.topic: plan.action for plan in plans}
    for declaration in declarations:
        allowed, action = declaration.topic.allowed(today), actions.get(declaration.topic.name)
        yield Registration(
            declaration.topic,
            declaration.places.at(()).file,
            adopt=action is Action.ADOPT,
            deletable=Allowance.DELETE in allowed,
            replaceable=Allowance.RECREATE in allowed and action is Action.RECREATE,
        )


def _hindering(errors: Sequence[Problem]) -> list[Problem]:
    """All of them; for an adoption, which changes no topic, only those that hide what is declared."""
    return [error for error in errors if error.rule in KINDS or ADOPTING not in os.environ]


def _stop_at(errors: Sequence[Problem]) -> None:
    if errors:
        raise pulumi.RunError("\n".join(map(str, errors)))


def _setting(name: str) -> str | None:
    namespace, _, key = name.partition(":")
    return pulumi.Config(namespace).get(key)


def _deployed(stack: str) -> DeployedStack:
    """This stack's own state, as it is before the deploy."""
    name = f"{pulumi.get_organization()}/{pulumi.get_project()}/{stack}"
    return read_by(once_written(lambda: _outputs(name)))


def _outputs(stack: str) -> dict[str, Any]:
    """What a state holds of each resource, by URN."""
    try:
        answer = pulumi.runtime.invoke("pulumi:pulumi:readStackResourceOutputs", {"stackName": stack})
    except Exception as error:  # the SDK raises no narrower one for what the engine refuses
        stop_at_half_written(str(error))
        raise Refusal(f"Pulumi's engine cannot read the stack's state: {error}") from error
    return (answer.value or {}).get("outputs") or {}


def _warn_of_replicas(plans: Sequence[TopicPlan]) -> None:
    for plan in plans:
        for consequence in plan.consequences:
            if consequence.kind == "replication-factor":
                pulumi.warn(f"{plan.topic}: {consequence.message}")


def _provider(settings: dict[str, str], connection: Connection) -> kafka.Provider | None:
    """The sandbox's ports are not in the stack's settings; any other cluster's provider reads those itself."""
    if "kafka:bootstrapServers" in settings:
        return None
    return kafka.Provider("sandbox", bootstrap_servers=list(connection.bootstrap_servers), tls_enabled=connection.tls)
