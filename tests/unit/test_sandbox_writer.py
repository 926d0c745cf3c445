"""A record reaches a topic whose leader applies changed settings late.

The answers of the broker are stand-ins: a real one cannot be made to apply a setting late.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from confluent_kafka import KafkaError, Producer

from topicwarden.extensions.sandbox.scenarios import writer as module
from topicwarden.extensions.sandbox.scenarios.writer import Writer, write_once_valid
from topicwarden.model.problem import Refusal


def unused_answers(answers: Sequence[int | None], monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """Let the broker answer each record with the next error code, None for accepted; return the answers left over."""
    left = list(answers)

    @contextmanager
    def writing(servers: Sequence[str], refusals_expected: bool = False) -> Iterator[Writer]:
        writer = Writer(Producer({"bootstrap.servers": ",".join(servers), "log_level": 0}))
        monkeypatch.setattr(writer, "send", lambda *_, **__: None)
        code = left.pop(0)
        writer.errors.extend(KafkaError(one) for one in (code,) if one is not None)
        yield writer

    monkeypatch.setattr(module, "writing", writing)
    return left


def write() -> None:
    write_once_valid(["127.0.0.1:1"], "shop.customers", None, "{}", partition=0)


def test_a_record_is_sent_again_until_the_leader_applies_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    left = unused_answers([KafkaError.INVALID_RECORD, KafkaError.INVALID_RECORD, None, None], monkeypatch)
    write()
    assert left == [None], "an accepted record is not sent again"


def test_a_record_with_an_unknown_result_is_not_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    left = unused_answers([KafkaError._MSG_TIMED_OUT, None], monkeypatch)
    with pytest.raises(Refusal, match=r"refused a record for shop\.customers"):
        write()
    assert left == [None]
