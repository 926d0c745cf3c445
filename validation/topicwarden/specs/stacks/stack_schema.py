"""The JSON Schema of ``stacks/Pulumi.<stack>.yaml``: Pulumi's file, with the settings that topicwarden reads."""

from __future__ import annotations

from typing import Any, Final

from topicwarden.specs.editor_schema import DRAFT
from topicwarden.specs.stacks.connection_settings import NAMES, OF_THE_PROVIDER, SERVERS
from topicwarden.specs.stacks.stack_settings import CLUSTER, ENCRYPTED, SETTINGS

_TEXT: Final = {"type": "string"}
_FLAG: Final = {"anyOf": [{"type": "boolean"}, {"enum": ["true", "false"]}]}
_TEXTS: Final = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}

_SPECIAL: Final = {SERVERS: _TEXTS, "kafka:saslOauthScopes": _TEXTS} | dict.fromkeys(
    ("kafka:tlsEnabled", "kafka:skipTlsVerify"), _FLAG
)
"""The schemas of the ``kafka:`` settings that are not text."""

_DESCRIPTIONS: Final = {
    SERVERS: "The addresses of brokers: `[broker-1.example.com:9093]`.",
    "kafka:tlsEnabled": "Whether to connect with TLS; the default is true.",
    "kafka:skipTlsVerify": "Whether to accept any certificate of a broker; the default is false.",
    "kafka:caCert": "The CA certificates to trust, as PEM text or a path; the default are those of the system.",
    "kafka:caCertFile": "The path of the CA certificates to trust, relative to the project.",
    "kafka:clientCert": "The client's certificate for mutual TLS, as PEM text or a path.",
    "kafka:clientCertFile": "The path of the client's certificate, relative to the project.",
    "kafka:clientKey": "The client's private key, as PEM text or a path.",
    "kafka:clientKeyFile": "The path of the client's private key, relative to the project.",
    "kafka:clientKeyPassphrase": "The passphrase of an encrypted private key.",
    "kafka:saslMechanism": "How to authenticate: plain, scram-sha256, scram-sha512, oauthbearer or aws-iam.",
    "kafka:saslUsername": "The user name; with oauthbearer, the id of the client.",
    "kafka:saslPassword": "The password; with oauthbearer, the secret of the client.",
    "kafka:saslTokenUrl": "The token endpoint for oauthbearer.",
    "kafka:saslOauthScopes": "The scopes to request from the token endpoint.",
    "kafka:saslAwsRegion": "The AWS region of the cluster, for aws-iam.",
    "kafka:saslAwsProfile": "The profile of AWS's configuration files to sign with.",
    "kafka:saslAwsRoleArn": "The ARN of the role to assume before signing.",
    "kafka:saslAwsExternalId": "The external id that the role demands.",
    "kafka:saslAwsAccessKey": "The id of the access key to sign with.",
    "kafka:saslAwsSecretKey": "The secret of the access key; encrypt this setting.",
    "kafka:saslAwsToken": "The session token of a temporary access key; encrypt this setting.",
}


def stack_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12). Settings of other programs may have any value."""
    properties = {name: {"description": each.description} | each.schema for name, each in SETTINGS.items()}
    for name in NAMES:
        described = {"description": _DESCRIPTIONS[name]} if name in _DESCRIPTIONS else {}
        properties[name] = described | {"anyOf": [_SPECIAL.get(name, _TEXT), ENCRYPTED]}
    for name in OF_THE_PROVIDER:
        properties[name] = {"description": "A setting of the provider; topicwarden ignores it."}
    other = {"not": {"pattern": "^(topicwarden|kafka):"}}
    return {
        "$schema": DRAFT,
        "description": "The settings of a stack for Pulumi and topicwarden.",
        "type": "object",
        "properties": {
            "config": {
                "description": "The settings by name. Pulumi encrypts secrets: `pulumi config set --secret NAME`.",
                "type": ["object", "null"],
                "properties": properties,
                "propertyNames": {"anyOf": [{"enum": list(properties)}, other]},
                "not": {"required": [CLUSTER, SERVERS]},
            }
        },
        "title": "Pulumi stack",
    }
