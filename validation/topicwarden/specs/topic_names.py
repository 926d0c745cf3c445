"""Which names a topic may have: the rule of ``org.apache.kafka.common.internals.Topic``."""

from __future__ import annotations

import re
from typing import Final

from topicwarden.model.topic import INTERNAL_TOPICS
from topicwarden.specs.message_text import quoted

MAX_LENGTH: Final = 249


def name_problem(name: str) -> str | None:
    """Why a topic cannot be declared under ``name``; None where it can."""
    if not name:
        return "expected a topic name, seen empty text"
    if name in (".", ".."):
        return f"{quoted(name)} cannot be a topic's name: it would be a folder"
    if len(name) > MAX_LENGTH:
        return f"expected a topic name of at most {MAX_LENGTH} characters, seen {len(name)}: {quoted(name)}"
    if illegal := re.search(r"[^a-zA-Z0-9._-]", name):
        return (
            f"expected a topic name of ASCII letters, digits, '.', '_' and '-', seen {quoted(name)}; "
            f"replace {quoted(illegal[0])}"
        )
    if name in INTERNAL_TOPICS:
        return f"{name} is Kafka's own topic, which Kafka makes and keeps; do not declare it"
    return None


def metric_name(name: str) -> str:
    """What Kafka's metrics call a topic; it refuses a second topic of the same (``Topic.unifyCollisionChars``)."""
    return name.replace(".", "_")
