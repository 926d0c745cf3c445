"""Time several pieces of work in turn, in rounds, so that a change of the machine's load meets all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping


def in_turn(
    works: Mapping[str, Callable[[], object]],
    rounds: int,
    on_measured: Callable[[str, float], None] = lambda name, seconds: None,
) -> dict[str, list[float]]:
    """Return the seconds of each work in each of ``rounds``, after a first round that warms up the JVM.

    ``on_measured`` is called with the name and the seconds after each measured work.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for round_ in range(rounds + 1):
        for name, work in works.items():
            began = time.perf_counter()
            work()
            spent = time.perf_counter() - began
            if round_:
                seconds[name].append(spent)
                on_measured(name, spent)
    return seconds
