"""Makes sure that Pulumi starts this package's resource provider, whose behaviour the plan predicts."""

from __future__ import annotations

from typing import Final

from topicwarden.deploy.pulumi_project import project_settings
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
