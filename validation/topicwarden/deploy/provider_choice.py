"""Makes sure that Pulumi starts this package's resource provider, and that it writes to the checked cluster."""

from __future__ import annotations

from importlib.metadata import version
from typing import Final

import pulumi
import pulumi_kafka as kafka

from topicwarden.deploy.pulumi_project import project_settings
from topicwarden.kinds.topic.resource import REQUIRE_CLUSTER
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project

_LINES: Final = "plugins: {providers: [{name: kafka, path: .venv/bin}]}"


def require_provider(project: Project) -> None:
    """Refuse a project whose ``Pulumi.yaml`` does not name a provider for ``kafka``.

    Pulumi would start the official provider, which removes every setting that the YAML does not declare whenever it
    changes a topic.
    """
    plugins = project_settings(project).get("plugins")
    providers = plugins.get("providers") if isinstance(plugins, dict) else None
    if not any(isinstance(each, dict) and each.get("name") == "kafka" for each in providers or ()):
        raise Refusal(
            "Pulumi.yaml does not name topicwarden's provider for Kafka, and the official one removes settings that "
            f"the YAML does not declare: write `{_LINES}` (the folder that has pulumi-resource-kafka)"
        )


def require_cluster(cluster_id: str | None, provider: kafka.Provider | None) -> None:
    """Ask the provider that will write the topics to write to this cluster only; refuse any other provider.

    The plug-in that ``Pulumi.yaml`` names may be the official one, and may reach another cluster than the program did,
    if the bootstrap servers are of several clusters.
    """
    options = pulumi.InvokeOptions(provider=provider, version=None if provider else version("pulumi-kafka"))
    try:
        answer = pulumi.runtime.invoke(REQUIRE_CLUSTER, {"clusterId": cluster_id}, options).value or {}
    except Exception:  # noqa: BLE001 - the SDK raises no other type; this is another plug-in's answer
        answer = {}
    if refusal := answer.get("refusal"):
        raise Refusal(f"the provider cannot write to the cluster: {refusal}")
    if answer.get("clusterId") != cluster_id:
        raise Refusal(
            "the plug-in that Pulumi.yaml names for Kafka is not topicwarden's, and the official one removes settings "
            f"that the YAML does not declare: write `{_LINES}` (the folder that has pulumi-resource-kafka)"
        )
