"""The SASL settings of a connection for kafka-python."""

from __future__ import annotations

from typing import Any

from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.oauth_tokens import SignedTokens, tokens_of
from topicwarden.stacks.connection_settings import OAUTHBEARER


def sasl_settings(connection: Connection) -> dict[str, Any]:
    """Return the settings of the client and of its SASL mechanisms; empty without SASL."""
    if connection.sasl_mechanism is None:
        return {}
    if connection.sasl_mechanism == OAUTHBEARER:
        provider = SignedTokens(connection.aws) if connection.aws else tokens_of(connection)
        return {"sasl_mechanism": OAUTHBEARER, "sasl_oauth_token_provider": provider}
    return {
        "sasl_mechanism": connection.sasl_mechanism,
        "sasl_plain_username": connection.username,
        "sasl_plain_password": connection.password,
    }
