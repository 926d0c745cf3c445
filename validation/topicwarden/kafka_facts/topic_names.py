"""Kafka's rules for topic names (``org.apache.kafka.common.internals.Topic``)."""

from __future__ import annotations

import re
from typing import Final

from topicwarden.model.message_text import quoted
from topicwarden.model.topic import INTERNAL_TOPICS

MAX_LENGTH: Final = 249


def name_problem(name: str) -> str | None:
    """Return the message why no topic with this name can be declared; None if the name is valid."""
    if not name:
        return "expected a topic name, got empty text"
    if name in (".", ".."):
        return f"{quoted(name)} cannot be a topic name, because it names a directory"
    if len(name) > MAX_LENGTH:
        return f"expected a topic name of at most {MAX_LENGTH} characters, got {len(name)}: {quoted(name)}"
    if illegal := re.search(r"[^a-zA-Z0-9._-]", name):
        return (
            f"expected a topic name of ASCII letters, digits, '.', '_' and '-', got {quoted(name)}; "
            f"replace {quoted(illegal[0])}"
        )
    if name in INTERNAL_TOPICS:
        return f"{name} is an internal topic, which Kafka creates and manages itself; do not declare it"
    return None


def is_legal_part(text: str) -> bool:
    """Return whether a topic name can be ``text``, or begin with it."""
    return 0 < len(text) <= MAX_LENGTH and not re.search(r"[^a-zA-Z0-9._-]", text)


def metric_name(name: str) -> str:
    """Return the topic's name in Kafka's metrics, where a dot becomes an underscore.

    Kafka rejects a second topic with the same metric name (``Topic.unifyCollisionChars``).
    """
    return name.replace(".", "_")
