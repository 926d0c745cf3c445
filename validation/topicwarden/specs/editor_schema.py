"""JSON Schemas of the YAML files, for completion, documentation and validation in editors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from topicwarden.kafka_facts.configs import ConfigDefinition, definitions, group_definitions, kafka_lines
from topicwarden.kinds.subject.spec import SubjectDocument
from topicwarden.specs.document_model import AccessDocument, TopicDocument
from topicwarden.specs.stacks.connection_settings import NAMES, OF_THE_PROVIDER, SERVERS
from topicwarden.specs.stacks.stack_settings import CLUSTER, ENCRYPTED, SETTINGS

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def spec_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a topic's document, with Kafka's documentation of each ``config``."""
    schema = editor_schema(TopicDocument.model_json_schema(by_alias=True), "Kafka topic")
    _add_facts(schema["properties"]["config"]["properties"], definitions())
    schema["$defs"]["TopicSettings"]["properties"]["config"] = {"$ref": "#/properties/config"}
    return schema


def access_schema() -> dict[str, Any]:
    """Return the JSON Schema of a file below ``access/``, with Kafka's documentation of each setting of a group."""
    schema = editor_schema(AccessDocument.model_json_schema(by_alias=True), "Access to Kafka")
    settings = next(each for each in schema["properties"]["group_configs"]["anyOf"] if "additionalProperties" in each)
    _add_facts(settings["additionalProperties"]["properties"], group_definitions())
    schema["$defs"]["AccessSettings"]["properties"]["group_configs"] = {"$ref": "#/properties/group_configs"}
    return schema


def subject_schema() -> dict[str, Any]:
    """Return the JSON Schema of a file below ``subjects/``."""
    return editor_schema(SubjectDocument.model_json_schema(by_alias=True), "Subjects of a Schema Registry")


def _add_facts(settings: dict[str, Any], known: Mapping[str, ConfigDefinition]) -> None:
    for name, definition in known.items():
        settings[name]["description"] += f"\n\n{_facts(definition)}"


def editor_schema(schema: dict[str, Any], title: str) -> dict[str, Any]:
    """Return pydantic's ``schema`` without noise in editors, and with a description (shown on hover) for every key.

    Titles and the defaults of mappings and lists are removed: editors would show or insert them.
    """
    defs: dict[str, Any] = schema.get("$defs", {})
    _simplify(schema, defs)
    return {"$schema": DRAFT} | schema | {"title": title}


def _simplify(node: Any, defs: dict[str, Any]) -> None:
    if isinstance(node, list):
        for item in node:
            _simplify(item, defs)
    elif isinstance(node, dict):
        # Keys below these are names in users' files, not keywords of JSON Schema.
        for container in ("properties", "$defs"):
            for child in node.get(container, {}).values():
                _simplify(child, defs)
        for entry in node.get("properties", {}).values():
            _describe(entry, defs)
        node.pop("title", None)
        if isinstance(node.get("default", 0), (dict, list, type(None))):
            del node["default"]
        for name, child in node.items():
            if name not in ("properties", "$defs", "enum", "const"):
                _simplify(child, defs)


def _describe(entry: dict[str, Any], defs: dict[str, Any]) -> None:
    """Copy the description of a referenced definition to a key that has none."""
    for reference in (entry, *entry.get("anyOf", ())):
        target = defs.get(str(reference.get("$ref", "")).rpartition("/")[2], {})
        if "description" in target:
            entry.setdefault("description", target["description"])


def _facts(definition: ConfigDefinition) -> str:
    lines = [f"Expected: {definition.expected}."]
    if definition.default is not None:
        lines.append(f"Kafka's default: {definition.default or 'none'}.")
    if definition.server_default:
        lines.append(f"The broker's {definition.server_default} applies if the topic does not set it.")
    known = kafka_lines()
    if definition.since != known[0]:
        lines.append(f"Since Kafka {definition.since}.")
    if definition.until != known[-1]:
        lines.append(f"Until Kafka {definition.until}.")
    return "\n".join(lines)


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
