"""A Pulumi program that evaluates no rule, so that only the policy pack can refuse its topics."""

from __future__ import annotations

from pathlib import Path

import pulumi
import pulumi_kafka

from topicwarden.deploy.topic_registration import TopicRegistration
from topicwarden.deploy.topic_resources import TopicResources
from topicwarden.model.project import find_project
from topicwarden.specs.load import load
from topicwarden.specs.resolve import resolve


def deploy() -> None:
    project = find_project(Path(__file__).parent)
    current = resolve(load(project.topics, project.root, project.stack_names()), pulumi.get_stack()).declarations
    provider = pulumi_kafka.Provider("nowhere", bootstrap_servers=["127.0.0.1:1"], tls_enabled=False)
    TopicResources("topics", [TopicRegistration(each.topic) for each in current], root=project.root, provider=provider)


if __name__ == "__main__":
    deploy()
