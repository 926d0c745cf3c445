"""Deliver assertions to DataHub: definitions once, and results that are news or older than a day."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from topicwarden.catalogues.catalogue_client import CatalogueClient
from topicwarden.catalogues.catalogue_target import CatalogueTarget
from topicwarden.catalogues.datahub_assertions import DataHubAssertion, assertions, definition_request, result_request
from topicwarden.catalogues.remembered_text import RememberedText
from topicwarden.catalogues.topic_verdicts import TopicVerdict, topic_verdicts
from topicwarden.deliveries.delivery_error import DeliveryError
from topicwarden.deliveries.delivery_thread import DeliverySender
from topicwarden.model.finding import AuditReport
from topicwarden.model.verdict import Verdict
from topicwarden.stacks.stack_settings import CATALOGUES

PATH: Final = "/api/graphql"
"""The endpoint of DataHub's GraphQL, below the URL of the catalogue."""
BATCH: Final = 50
"""How many assertions one request has."""
REPEAT_MS: Final = 24 * 3_600_000
"""After how many milliseconds an unchanged result is reported again."""
REMEMBER_S: Final = 2.0
"""How often the memory is written during a delivery, so that a process that ends continues and does not start again."""
_FORGET_MS: Final = 8 * REPEAT_MS
_DENIED: Final = {"UNAUTHORIZED", "FORBIDDEN", 401, 403}
_INVALID: Final = {"ValidationError", "InvalidSyntax"}
"""The classifications of graphql-java for a request that no server of this version accepts."""

_Delivered: TypeAlias = dict[str, tuple[str, str, int]]
"""The hashes of the definition and the result that DataHub has, and the time of the result, by URN."""


class DataHubServer(DeliverySender):
    """DataHub's GraphQL interface. ``memory`` saves requests; without it, all requests are repeated with no harm."""

    def __init__(self, target: CatalogueTarget, memory: RememberedText) -> None:
        self._target, self._memory = target, memory
        self._client = CatalogueClient(target.settings)
        self._delivered: _Delivered = {}

    def deliver(self, content: bytes) -> None:
        """Send what DataHub does not have, definitions before results. Raises DeliveryError."""
        try:
            payload = json.loads(content)
            verdicts = [
                TopicVerdict(topic, check, Verdict(word), *rest) for topic, check, word, *rest in payload["verdicts"]
            ]
            stack, finished = str(payload["stack"]), int(payload["finished"])
        except (ValueError, TypeError, KeyError):
            raise DeliveryError("the queue has an audit in another form", rejected=True) from None
        self._delivered = self._remembered()  # another process may have delivered in the meantime
        every = assertions(stack, finished, verdicts, self._target)
        try:
            self._send(definition_request, [each for each in every if self._is_new(each)], _define, finished)
            self._send(result_request, [each for each in every if self._is_news(each)], _report, finished)
        finally:
            self._remember(finished)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _is_new(self, assertion: DataHubAssertion) -> bool:
        return self._delivered.get(assertion.urn, ("", "", 0))[0] != assertion.definition_hash

    def _is_news(self, assertion: DataHubAssertion) -> bool:
        _, result, reported = self._delivered.get(assertion.urn, ("", "", 0))
        return result != assertion.result_hash or assertion.finished - reported >= REPEAT_MS

    def _send(
        self,
        request: Callable[[Sequence[DataHubAssertion]], dict[str, Any]],
        pending: Sequence[DataHubAssertion],
        note: Callable[[_Delivered, DataHubAssertion], None],
        now: int,
    ) -> None:
        written = time.monotonic()
        for start in range(0, len(pending), BATCH):
            batch = pending[start : start + BATCH]
            self._refuse_errors(self._client.post(PATH, request(batch)))
            for each in batch:
                note(self._delivered, each)
            if time.monotonic() - written >= REMEMBER_S:
                self._remember(now)
                written = time.monotonic()

    def _refuse_errors(self, content: bytes) -> None:
        """Raise DeliveryError for an answer with errors, which GraphQL sends with the status 200."""
        setting = f"{CATALOGUES}.{self._target.name}"
        try:
            answer = json.loads(content)
            errors = answer.get("errors") or []
            if not errors and answer["data"] is not None:
                return
            extensions = [each.get("extensions") or {} for each in errors]
            message = self._client.shown(str(errors[0].get("message", "an error without a message")))
        except (ValueError, RecursionError, AttributeError, IndexError, KeyError, TypeError):
            raise DeliveryError(f"{self._client.name} answers no GraphQL; correct its URL in {setting}") from None
        reasons = {each.get("code") for each in extensions} | {each.get("type") for each in extensions}
        if reasons & _DENIED:
            raise DeliveryError(
                f"{self._client.name} denies the request ({message}); give the user of token in {setting} the "
                "privilege to edit assertions of datasets"
            )
        invalid = bool({each.get("classification") for each in extensions} & _INVALID)
        raise DeliveryError(f"{self._client.name} reports an error: {message}", rejected=invalid, limited=True)

    def _remembered(self) -> _Delivered:
        """Return what DataHub has, unless the memory is that of another server."""
        try:
            content = json.loads(self._memory.read())
            if content["server"] != self._server:
                return {}
            return {urn: (str(a), str(b), int(at)) for urn, (a, b, at) in content["assertions"].items()}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return {}

    def _remember(self, now: int) -> None:
        recent = {urn: each for urn, each in self._delivered.items() if now - each[2] < _FORGET_MS}
        self._delivered = recent
        content = {"server": self._server, "assertions": recent}
        self._memory.write(json.dumps(content, separators=(",", ":")))

    @property
    def _server(self) -> str:
        return self._client.name


def verdict_rows(report: AuditReport) -> bytes:
    """Return the verdicts of an audit; requests are made from them when it is known what DataHub has."""
    verdicts = [_row(each) for each in topic_verdicts(report)]
    content = {"stack": report.stack, "finished": report.finished, "verdicts": verdicts}
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def _define(delivered: _Delivered, assertion: DataHubAssertion) -> None:
    _, result, reported = delivered.get(assertion.urn, ("", "", 0))
    delivered[assertion.urn] = (assertion.definition_hash, result, reported or assertion.finished)


def _report(delivered: _Delivered, assertion: DataHubAssertion) -> None:
    delivered[assertion.urn] = (
        assertion.definition_hash,
        assertion.result_hash,
        assertion.finished,
    )


def _row(verdict: TopicVerdict) -> list[Any]:
    """Return a verdict as a list without the empty values at its end."""
    row = [verdict.topic, verdict.check, verdict.verdict, verdict.message, verdict.remedy, verdict.location]
    while not row[-1]:
        row.pop()
    return row
