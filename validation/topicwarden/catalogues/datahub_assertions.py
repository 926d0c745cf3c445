"""An audit as custom assertions of DataHub, and the GraphQL requests that report their results.

Source of names and types: ``assertions.graphql`` of DataHub's ``datahub-graphql-core``. Only fields that DataHub has
had since it has custom assertions are used: a server refuses a whole request with an unknown one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import Any, Final
from uuid import UUID, uuid5

from topicwarden.audit.check_docs import check_docs
from topicwarden.catalogues.catalogue_target import CatalogueTarget
from topicwarden.catalogues.topic_verdicts import TopicVerdict
from topicwarden.model.finding import OF_CLUSTER
from topicwarden.model.verdict import Verdict

_NAMESPACE: Final = UUID("6ad9a0a5-0d3b-5c4e-9a52-5a1d6f2f7a11")
_RESULT: Final = {
    Verdict.PASS: "SUCCESS",
    Verdict.FAIL: "FAILURE",
    Verdict.SUSPECT: "ERROR",
    Verdict.UNDECIDABLE: "ERROR",
}
"""The result of each verdict. An error says that the assertion was not evaluated: nothing is proven."""
CATEGORY: Final = "Kafka topic audit"
"""The category of the assertions in DataHub."""


@dataclass(frozen=True, slots=True)
class DataHubAssertion:
    """A check of a topic as DataHub shows it: its definition and its latest result, as inputs of GraphQL.

    ``stack`` was audited until ``finished`` (ms). Most assertions are no news, so inputs are made on demand.
    """

    urn: str
    dataset: str
    stack: str
    finished: int
    verdict: TopicVerdict

    @property
    def definition(self) -> dict[str, Any]:
        return {
            "entityUrn": self.dataset,
            "type": CATEGORY,
            "description": f"{self.verdict.check}: {_summary(self.verdict.check)}",
            "platform": {"name": "topicwarden"},
        }

    @property
    def result(self) -> dict[str, Any]:
        verdict = self.verdict
        details = {"verdict": verdict.verdict.value, "stack": self.stack, "message": verdict.message}
        details |= {"remedy": verdict.remedy, "declared": verdict.location or ""}
        result: dict[str, Any] = {
            "timestampMillis": self.finished,
            "type": _RESULT[verdict.verdict],
            "properties": [{"key": key, "value": value} for key, value in details.items() if value],
        }
        if result["type"] == "ERROR":
            message = verdict.message or "the evidence is missing or incomplete"
            result["error"] = {"type": "INSUFFICIENT_DATA", "message": f"{verdict.verdict.value}: {message}"}
        return result

    @property
    def definition_hash(self) -> str:
        """A hash of all that the definition depends on."""
        return _hash(self.dataset, self.verdict.check, _summary(self.verdict.check))

    @property
    def result_hash(self) -> str:
        """A hash of the part of the result that is news if it changes: not the time."""
        verdict = self.verdict
        return _hash(self.stack, verdict.verdict, verdict.message, verdict.remedy, verdict.location or "")


def dataset_urn(target: CatalogueTarget, topic: str) -> str:
    """Return DataHub's URN of a topic, as DataHub's own Kafka source has it."""
    instance = target.settings.instance
    name = f"{instance}.{topic}" if instance else topic
    return f"urn:li:dataset:(urn:li:dataPlatform:kafka,{name},{target.settings.env})"


def assertions(
    stack: str, finished: int, verdicts: Iterable[TopicVerdict], target: CatalogueTarget
) -> list[DataHubAssertion]:
    """Return one assertion for each verdict of an audit of ``stack`` that ended at ``finished`` (ms).

    Findings on no topic have no dataset, and are left out.
    """
    found = []
    for each in verdicts:
        if each.topic == OF_CLUSTER:
            continue
        dataset = dataset_urn(target, each.topic)
        identity = uuid5(_NAMESPACE, f"{stack}\0{dataset}\0{each.check}")
        found.append(DataHubAssertion(f"urn:li:assertion:topicwarden-{identity}", dataset, stack, finished, each))
    return found


def _hash(*parts: str) -> str:
    return blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()


@cache
def _summary(check: str) -> str:
    return check_docs().get(check, "a check of `topicwarden audit`").partition("\n\n")[0].replace("\n", " ").rstrip(".")


def definition_request(batch: Sequence[DataHubAssertion]) -> dict[str, Any]:
    """Return the request that creates or updates assertions, one alias for each."""
    inputs = [("UpsertCustomAssertionInput!", each.urn, each.definition) for each in batch]
    return _request("upsertCustomAssertion", "String", "input", inputs, " { urn }")


def result_request(batch: Sequence[DataHubAssertion]) -> dict[str, Any]:
    """Return the request that reports the results of assertions, one alias for each."""
    inputs = [("AssertionResultInput!", each.urn, each.result) for each in batch]
    return _request("reportAssertionResult", "String!", "result", inputs, "")


def _request(
    mutation: str, urn: str, argument: str, inputs: Sequence[tuple[str, str, Mapping[str, Any]]], selection: str
) -> dict[str, Any]:
    variables: dict[str, Any] = {}
    declared, fields = [], []
    for number, (kind, identity, value) in enumerate(inputs):
        declared.append(f"$u{number}: {urn}, $v{number}: {kind}")
        fields.append(f"  a{number}: {mutation}(urn: $u{number}, {argument}: $v{number}){selection}")
        variables |= {f"u{number}": identity, f"v{number}": value}
    lines = "\n".join(fields)
    return {
        "query": f"mutation {mutation}({', '.join(declared)}) {{\n{lines}\n}}",
        "variables": variables,
        "operationName": mutation,
    }
