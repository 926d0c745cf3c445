"""Recognises documents of tools whose topics are not converted, to say what they are and what to do."""

from __future__ import annotations

from typing import Any, Final

from topicwarden.extensions.interchange.convert.source_file import SourceFile

_DEPLOYED: Final = "; `topicwarden import --stack STACK` writes the topics that are on the cluster"
_KINDS: Final = {
    ("aiven.io/", "KafkaTopic"): "a topic of Aiven's operator, which has settings of its own",
    ("kafka.banzaicloud.io/", "KafkaTopic"): "a topic of Koperator (Banzai Cloud)",
    ("kafka/", "Topic"): "a topic of Conduktor",
    ("console/", ""): "a resource of Conduktor's console",
    ("self-serve/", ""): "a resource of Conduktor's self-service",
}
"""By the beginning of ``apiVersion``, and by ``kind`` (empty: any)."""
_KEYS: Final = {
    "dataContractSpecification": "a data contract of the Data Contract Specification, which ended in favour of ODCS; "
    "`datacontract export --format odcs` converts it",
}


def unsupported_message(source: SourceFile) -> str | None:
    """Return what the first document of ``source`` is and what to do instead of its import; None if it is unknown."""
    value: Any = source.documents[0].value if source.documents else None
    if not isinstance(value, dict):
        return None
    for key, what in _KEYS.items():
        if key in value:
            return f"this is {what}"
    version, kind = str(value.get("apiVersion", "")), value.get("kind")
    for (prefix, of_kind), what in _KINDS.items():
        if version.startswith(prefix) and kind is not None and of_kind in ("", kind):
            return f"this is {what}, and is not converted{_DEPLOYED}"
    return None
