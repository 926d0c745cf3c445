"""The rules of ``contents:`` that records can show, one module each, in the order in which they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from topicwarden.audit.inference.inferred_rule import InferenceContext, InferredRule
from topicwarden.audit.inference.rules import (
    encoding,
    headers,
    key_required,
    partition_skew,
    partitioner,
    personal,
    record_size,
    timestamp_bounds,
)
from topicwarden.audit.inference.topic_summary import TopicSummary

Inference: TypeAlias = Callable[[TopicSummary, InferenceContext], Iterator[InferredRule]]

INFERENCES: Final[tuple[Inference, ...]] = (
    encoding.infer_key,
    key_required.infer,
    partitioner.infer,
    encoding.infer_value,
    headers.infer,
    timestamp_bounds.infer,
    record_size.infer,
    partition_skew.infer,
    personal.infer,
)
