"""Digest what the Schema Registry answers about the subjects of topics, so that an audit notices a change.

Whether a record names a schema of its subject depends on the registry. Counts of an earlier audit hold only as long as
the registry has the same versions, and the same deleted ones.
"""

from __future__ import annotations

import hashlib
import json
from functools import partial
from typing import Any

from topicwarden.audit.scan.contracts import Contracts
from topicwarden.kafka.registry.client import RegistryClient
from topicwarden.kafka.registry.read import each_of, subject_state
from topicwarden.kafka.registry.registry_error import RegistryError
from topicwarden.specs.stacks.registry_settings import RegistrySettings


def registry_states(contracts: Contracts) -> dict[str, str]:
    """Return a digest of the registry's answers about the subjects of each topic whose records need the registry.

    If the registry does not answer, the digest is that of its error, because records are then undecidable.
    """
    subjects = {topic: found for topic, terms in contracts.topics.items() if (found := _subjects(terms))}
    if contracts.registry is None or not subjects:
        return {}
    answers = _answers(contracts.registry, sorted({name for names in subjects.values() for name in names}))
    return {
        topic: _digest([contracts.registry.url, *([name, answers[name]] for name in names)])
        for topic, names in subjects.items()
    }


def _subjects(terms: Any) -> list[str]:
    records = terms.get("records") or {}
    named = ((records.get(part) or {}).get("subject") for part in ("key", "value"))
    return [name for name in named if name]


def _answers(registry: RegistrySettings, names: list[str]) -> dict[str, Any]:
    try:
        with RegistryClient(registry) as client:
            return each_of(client, partial(subject_state, client), names)
    except RegistryError as error:
        return dict.fromkeys(names, error.reason)


def _digest(values: list[Any]) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()
