"""The provider's settings, named as in the ``kafka:`` lines of ``Pulumi.<stack>.yaml``."""

from __future__ import annotations

from typing import Final

from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.stack_connection import connection_from
from topicwarden.kinds.properties import UNKNOWN, Properties
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.specs.stacks import connection_settings

_NOT_SETTINGS = ("version", "pluginDownloadURL", "__internal", "__defaults")

SECRETS: Final = (
    "saslPassword",
    "clientKey",
    "clientKeyPassphrase",
    *(name[6:] for name in connection_settings.AWS_SECRETS),
)
"""Settings that the state only has encrypted, also if the stack's settings have them in plain text."""


def connection(settings: Properties, project: Project) -> Connection:
    """Return the connection in ``settings``; refuse settings that do not fit.

    Relative paths are below the folder of ``project``, as for every other command.
    """
    anonymous = not settings.get("saslUsername") and not settings.get("saslPassword")
    # The SDK fills in `plain`; the official provider uses it only with a user name or a password.
    ignored = ("saslMechanism",) if anonymous and settings.get("saslMechanism") == "plain" else ()
    named = {f"kafka:{name}": value for name, value in settings.items() if name not in (*_NOT_SETTINGS, *ignored)}
    return connection_from(project, "settings of the kafka provider", named)


def failures(settings: Properties, project: Project) -> list[str]:
    """Return what is wrong with ``settings``, without a look at the cluster."""
    if UNKNOWN in settings.values():
        return []
    try:
        connection(settings, project)
    except Refusal as refusal:
        return [str(refusal)]
    return []
