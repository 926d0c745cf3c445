"""Run a small part of the comparison; ``python -m tests.campaigns.codecs`` runs more of it."""

from __future__ import annotations

from tests.campaigns.codecs.differential import EXPLAINED, RECORDS, run
from tests.spark.codecs.judge import Judge


def test_the_reader_agrees_with_the_reference_libraries(judge: Judge) -> None:
    counts = run(judge, 7, 500)
    assert sum(counts.values()) >= 500 - RECORDS
    assert min(counts["agreed: valid"], counts["agreed: invalid"]) > 50
    assert set(counts) - {"agreed: valid", "agreed: invalid"} <= set(EXPLAINED)
