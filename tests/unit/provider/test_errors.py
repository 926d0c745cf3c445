"""Test the line that a refused topic gets."""

from __future__ import annotations

from pathlib import Path

from tests.support.projects import project_of
from topicwarden.deploy.provider.errors import resource_error
from topicwarden.deploy.provider.home import ProviderHome
from topicwarden.kafka.connect.request_error import RequestError

URN = "urn:pulumi:dev::p::topicwarden:index:TopicSet$topicwarden:index:Domain$kafka:index/topic:Topic::"


def test_it_has_the_line_of_yaml_the_topic_and_the_words_of_the_broker(tmp_path: Path) -> None:
    document = "topic: {}\npartitions: 1\nreplication_factor: 1\n"
    files = {"shop/orders.yaml": document.format("orders.v1") + "---\n" + document.format("paid.v1")}
    locations = ProviderHome(project_of(tmp_path, files)).locations("dev")
    refused = RequestError("POLICY_VIOLATION", "at least 3 partitions")
    assert resource_error(refused, f"{URN}paid.v1", locations["paid.v1"]) == (
        "topics/shop/orders.yaml:5:1: paid.v1: Kafka refuses: at least 3 partitions"
    )
    assert (
        resource_error(refused, f"{URN}other", locations.get("other")) == "other: Kafka refuses: at least 3 partitions"
    )


def test_a_denied_right_is_named() -> None:
    line = resource_error(RequestError("TOPIC_AUTHORIZATION_FAILED", "Authorization failed."), f"{URN}a", None)
    assert line.startswith("a: Kafka denies this user the change: Authorization failed.; a new topic needs Create")
    create = RequestError("TOPIC_AUTHORIZATION_FAILED", "Authorization failed.")
    create.right = "Create"
    assert resource_error(create, f"{URN}a", None) == (
        "a: Kafka denies this user the change: Authorization failed.; grant Create on the topic"
    )


def test_an_error_that_may_pass_is_no_refusal() -> None:
    late = RequestError("REQUEST_TIMED_OUT", "Request timed out after 9999 ms", passing=True)
    assert resource_error(late, f"{URN}a", None) == (
        "a: Kafka has not done this in time: Request timed out after 9999 ms; run the command again"
    )
