"""Test what later audits may conclude if the first segment of a log may contain hidden records."""

from __future__ import annotations

import pytest

from tests.support.subjects import NOW, counted, subject
from tests.unit.checks.cases import COMPACT, extent, with_logs
from topicwarden.audit.checks.common.persistence import first_segment_rolled

STOOD_MS = 100_000
AHEAD, LAG = "message.timestamp.after.max.ms", "min.compaction.lag.ms"


@pytest.mark.parametrize(
    ("settings", "start", "latest", "rolled"),
    [
        ({AHEAD: "93999"}, 40, NOW, True),
        pytest.param({AHEAD: "94000"}, 40, NOW, False, id="the log's youngest record is a roll younger, and no more"),
        pytest.param({AHEAD: "94000"}, 0, NOW, True, id="nothing is hidden"),
        ({AHEAD: "50000", LAG: "44999"}, 40, NOW, True),
        pytest.param({AHEAD: "50000", LAG: "45000"}, 40, NOW, False, id="hidden records may be within the lag"),
        pytest.param({}, 40, NOW, False, id="hidden records may be as young as the youngest"),
        pytest.param({AHEAD: "50000"}, 40, None, False, id="the youngest is not told"),
        pytest.param({}, 40, None, False, id="nothing bounds them"),
    ],
)
def test_hidden_records_have_rolled_with_what_was_written_since(
    settings: dict[str, str], start: int, latest: int | None, rolled: bool
) -> None:
    """``segment.ms`` is 1,000. Hidden timestamps are at most ``STOOD_MS`` ago plus ``AHEAD`` plus 5,000 ms."""
    of = with_logs(subject(live={**COMPACT, **settings}), extent(start, latest=latest))
    assert first_segment_rolled(counted(of), 0, STOOD_MS) == rolled
