"""Records which topics the provider is about to create or delete, so that a killed deploy leaves no topic behind.

A deploy that is killed may have created topics that Pulumi's state does not have, because the engine writes the state
later. If their YAML is removed before the next deploy, nothing would name them any more. The record is a file of the
project's cache, one line of JSON for each batch, written to the disk before the request is sent. Access and subjects
have records of their own, with the names of their resources.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from topicwarden.kinds.announced_writes import Intent
from topicwarden.model.files import replace_file
from topicwarden.model.planned_change import PlanSection
from topicwarden.model.project import Project


@dataclass(frozen=True)
class IntentLog:
    """The record of one stack."""

    path: Path

    def write(self, intent: Intent, topics: Iterable[str]) -> None:
        """Add a line, and return when it is on the disk."""
        if not (topics := list(topics)):
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(json.dumps([intent.value, topics]).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def read(self) -> dict[str, Intent]:
        """Return the last intent for each topic. A line that a killed process did not finish is left out."""
        intents: dict[str, Intent] = {}
        for line in self.path.read_bytes().splitlines() if self.path.is_file() else ():
            try:
                intent, topics = json.loads(line)
                intents |= dict.fromkeys(topics, Intent(intent))
            except (ValueError, TypeError):
                continue
        return intents

    def keep(self, intents: Mapping[str, Intent]) -> None:
        """Replace the record by ``intents``. Only a deploy may do so: it has the lock on the stack."""
        if not self.path.is_file():
            return
        lines = (json.dumps([intent.value, [topic]]) + "\n" for topic, intent in sorted(intents.items()))
        replace_file(self.path, "".join(lines))


def intent_log(project: Project, stack: str, section: PlanSection = PlanSection.TOPICS) -> IntentLog:
    """Return the record of a section of ``stack``. Projects that share a cache have records of their own."""
    suffix = "" if section is PlanSection.TOPICS else f"-{section.value}"
    name = hashlib.sha256(str(project.root.resolve()).encode()).hexdigest()[:12]
    return IntentLog(project.cache / "deploys" / f"{name}-{stack.rpartition('/')[2]}{suffix}.jsonl")
