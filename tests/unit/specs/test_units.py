from __future__ import annotations

import re

import pytest

from topicwarden.specs.units import DURATION, SIZE, ValueUnit, unit_of


@pytest.mark.parametrize(
    ("unit", "text", "number"),
    [
        (DURATION, "7d", 604_800_000),
        (DURATION, "36h", 129_600_000),
        (DURATION, "90m", 5_400_000),
        (DURATION, "30s", 30_000),
        (DURATION, "250ms", 250),
        (DURATION, " 1.5 h ", 5_400_000),
        (DURATION, "0.25s", 250),
        (DURATION, "604800000", 604_800_000),
        (DURATION, "0", 0),
        (DURATION, "-1", -1),
        (SIZE, "1MiB", 1_048_576),
        (SIZE, "500kB", 500_000),
        (SIZE, "1GiB", 1_073_741_824),
        (SIZE, "2TB", 2_000_000_000_000),
        (SIZE, "1.5KiB", 1536),
        (SIZE, "10B", 10),
    ],
)
def test_what_is_taken(unit: ValueUnit, text: str, number: int) -> None:
    assert unit.parse(text) == number
    assert re.search(unit.pattern, text.strip()), "the JSON Schema takes it too"


@pytest.mark.parametrize(
    ("unit", "text", "end"),
    [
        (DURATION, "", 'seen ""'),
        (DURATION, "7", None),
        (DURATION, "7 days", "units are ms, s, m, h, d"),
        (DURATION, "1M", "m means minutes, and a month is 30d"),
        (DURATION, "-7d", 'seen "-7d"'),
        (DURATION, "1e3", 'seen "1e3"'),
        (DURATION, "1_000", "write 1000"),
        (DURATION, "12:30", 'seen "12:30"'),
        (DURATION, "0.5ms", "0.5 milliseconds, not a whole number"),
        (DURATION, "forever", "write -1"),
        (DURATION, "٣d", 'seen "٣d"'),
        (SIZE, "1KB", "did you mean kB (1000) or KiB (1024)?"),
        (SIZE, "1G", "did you mean GB (1000000000) or GiB (1073741824)?"),
        (SIZE, "7d", "units are B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"),
        (SIZE, "1" * 5000, "..."),
    ],
)
def test_what_is_refused(unit: ValueUnit, text: str, end: str | None) -> None:
    if end is None:
        assert unit.parse(text) == int(text)
        return
    with pytest.raises(ValueError, match=f"expected a {unit.noun} such as .*{re.escape(end)}"):
        unit.parse(text)


def test_the_unit_is_in_the_name_of_the_setting() -> None:
    assert unit_of("retention.ms") is DURATION
    assert unit_of("max.message.bytes") is SIZE
    assert unit_of("flush.messages") is None
