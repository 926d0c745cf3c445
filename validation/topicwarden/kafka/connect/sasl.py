"""The SASL settings of a connection for kafka-python, and why a broker that answers refuses to authenticate.

A broker closes the connection right after its answer, so clients often report a lost connection instead of the reason.
"""

from __future__ import annotations

import socket
import struct
from typing import Any

from kafka.net.sasl import get_sasl_mechanism

from topicwarden.kafka.connect.broker_probe import Unreachable, connected
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.oauth_tokens import NoToken, SignedTokens, tokens_of
from topicwarden.kafka.connect.probe_requests import request_sasl_authenticate, request_sasl_handshake
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


_UNSUPPORTED_MECHANISM, _ILLEGAL_STATE = 33, 34


def refused_by_listener(connection: Connection, address: str) -> str | None:
    """Return why the listener at ``address`` refuses ``connection``; None if it does not, or nothing is known."""
    try:
        with connected(connection, address) as channel:
            error, mechanisms = request_sasl_handshake(channel, connection.sasl_mechanism or "PLAIN")
            offered = ", ".join(sorted(mechanisms))
            if connection.sasl_mechanism is None:
                needed = f"its listener needs SASL ({offered}); set kafka:saslMechanism and the user"
                return needed if error != _ILLEGAL_STATE else None
            if error == _ILLEGAL_STATE:
                return "its listener has no SASL; remove kafka:saslMechanism, kafka:saslUsername, kafka:saslPassword"
            if error == _UNSUPPORTED_MECHANISM:
                return f"its listener does not offer {connection.sasl_mechanism}, but {offered}"
            return _authentication_error(connection, channel)
    except NoToken as error:
        return str(error)
    except (Unreachable, OSError, ValueError, struct.error):
        pass
    return None


def _authentication_error(connection: Connection, channel: socket.socket) -> str | None:
    mechanism = get_sasl_mechanism(connection.sasl_mechanism)(**sasl_settings(connection))
    while not mechanism.is_done():
        error, message, token = request_sasl_authenticate(channel, mechanism.auth_bytes())
        if error and connection.aws:
            return (
                f"the signed token ({connection.aws}) is refused: {message}; allow kafka-cluster:Connect in its "
                "policy, and look at kafka:saslAwsRegion"
            )
        if error and connection.token_url:
            return f"the token of {connection.token_url} is refused: {message}; look at its audience, issuer and scope"
        if error:
            return (
                f"wrong user name or password ({connection.sasl_mechanism}, user {connection.username!r}): {message}; "
                "correct kafka:saslUsername or kafka:saslPassword"
            )
        mechanism.receive(token)
    return None
