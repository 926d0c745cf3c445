"""The provider's settings, named as in the ``kafka:`` lines of ``Pulumi.<stack>.yaml``."""

from __future__ import annotations

from pathlib import Path

from topicwarden.deploy.provider.properties import UNKNOWN, Properties
from topicwarden.kafka.connection import Connection, connection_from
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project

_NOT_SETTINGS = ("version", "pluginDownloadURL", "__internal", "__defaults")


def connection(settings: Properties, folder: Path) -> Connection:
    """Return the connection in ``settings``; relative paths are below ``folder``. Refuse settings that do not fit."""
    anonymous = not settings.get("saslUsername") and not settings.get("saslPassword")
    # The SDK fills in `plain`; the official provider uses it only with a user name or a password.
    ignored = ("saslMechanism",) if anonymous and settings.get("saslMechanism") == "plain" else ()
    named = {f"kafka:{name}": value for name, value in settings.items() if name not in (*_NOT_SETTINGS, *ignored)}
    return connection_from(Project(folder), "settings of the kafka provider", named)


def failures(settings: Properties) -> list[str]:
    """Return what is wrong with ``settings``, without a look at the cluster."""
    if UNKNOWN in settings.values():
        return []
    try:
        connection(settings, Path.cwd())
    except Refusal as refusal:
        return [str(refusal)]
    return []
