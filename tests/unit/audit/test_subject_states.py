"""Test that counts of earlier audits hold only as long as the Schema Registry answers the same."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from tests.support.http_answers import Request, answering, failing, http
from tests.support.subjects import subject
from topicwarden.audit.history.scan_plan import terms_digest
from topicwarden.audit.history.subject_states import registry_states
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.specs.stacks.registry_settings import RegistrySettings

TERMS = {"records": {"value": {"format": "avro", "registry": True, "subject": "t-value"}}}


@dataclass
class Registry:
    """A registry with one subject: its versions, the soft-deleted ones, and the id of the latest one."""

    versions: list[int]
    deleted: tuple[int, ...] = ()
    id: int = 7

    def __call__(self, request: Request) -> bytes:
        if request.path.endswith("deleted=true"):
            return http(sorted([*self.versions, *self.deleted]))
        if not self.versions:
            return failing("404 Not Found", 40401, "Subject not found.")
        latest = {"id": self.id, "version": self.versions[-1]}
        return http(latest if request.path.endswith("latest") else self.versions)


def digests(*registries: Registry) -> list[str]:
    """Return the digest of the rules for the topic ``t`` with each of these answers."""
    answers, found = list(registries), []

    def current(request: Request) -> bytes:
        return answers[0](request)

    with answering(current) as server:
        contracts = Contracts({"t": TERMS, "plain": {"records": {"value": {"format": "json"}}}}, settings(server.url))
        while answers:
            states = registry_states(contracts)
            assert states.keys() == {"t"}
            live = subject().live
            assert live
            found.append(terms_digest(live, replace(contracts, registry_states=states)))
            answers.pop(0)
    return found


def settings(url: str) -> RegistrySettings:
    return RegistrySettings(url)


@pytest.mark.parametrize(
    ("versions", "deleted", "id"),
    [([], (1, 2), 7), ([1], (2,), 7), ([2], (1,), 7), ([1, 2, 3], (), 8), ([1, 2], (), 9), ([1, 2], (3,), 7)],
    ids=["deleted", "latest deleted", "first deleted", "registered", "made again", "registered and deleted"],
)
def test_a_change_of_the_subject_is_noticed(versions: list[int], deleted: tuple[int, ...], id: int) -> None:
    before, after = digests(Registry([1, 2]), Registry(versions, deleted, id))
    assert before != after


def test_the_same_answers_have_the_same_digest() -> None:
    before, after = digests(Registry([1, 2]), Registry([1, 2]))
    assert before == after


def test_a_registry_that_does_not_answer_is_a_change() -> None:
    contracts = Contracts({"t": TERMS}, settings("http://127.0.0.1:9"))
    assert registry_states(contracts).keys() == {"t"}
    assert registry_states(replace(contracts, registry=None)) == {}
