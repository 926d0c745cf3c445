"""A Pulumi program with every type of ``pulumi-kafka``, and with the options that a state records."""

from __future__ import annotations

import os

import pulumi
import pulumi_kafka as kafka

PREFIX = os.environ["TEST_PREFIX"]
provider = kafka.Provider(
    "cluster", bootstrap_servers=os.environ["TEST_SERVERS"].split(","), tls_enabled=False, sasl_mechanism="plain"
)


def options(**others: object) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(provider=provider, **others)  # type: ignore[arg-type]


def topic(name: str, config: pulumi.Input[dict[str, pulumi.Input[str]]] | None, **others: object) -> kafka.Topic:
    return kafka.Topic(
        name,
        name=f"{PREFIX}.{name}",
        partitions=2,
        replication_factor=1,
        config=config,
        opts=options(**others),
    )


topic("plain", {"retention.ms": "86400000", "cleanup.policy": "delete"})
topic("bare", None)
topic("empty", {})
topic("protected", {"retention.ms": "86400000"}, protect=True)
topic("ignored", {"retention.ms": "86400000"}, ignore_changes=["config", "replicationFactor"])
topic("secret", {"retention.ms": pulumi.Output.secret("76543210"), "segment.ms": "86400000"})
topic("all-secret", pulumi.Output.secret({"retention.ms": "65432109"}))
kafka.Acl(
    "acl",
    acl_principal="User:alice",
    acl_host="*",
    acl_operation="Read",
    acl_permission_type="Allow",
    acl_resource_type="Topic",
    acl_resource_name=PREFIX,
    opts=options(),
)
kafka.Quota(
    "quota",
    entity_name=PREFIX,
    entity_type="client-id",
    config={"producer_byte_rate": "4000000"},
    opts=options(),
)
kafka.UserScramCredential(
    "credential", username=PREFIX, scram_mechanism="SCRAM-SHA-512", password="plain-in-the-program", opts=options()
)
