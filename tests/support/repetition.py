"""A pytest plugin: the last repetition of a failed test uses new fixtures."""

from __future__ import annotations

from typing import Final

import pytest
from pytest_rerunfailures import suspended_finalizers

LAST_RUN: Final = 3
"""Which run of a test is the last one. The second run uses shared fixtures as the first run left them."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """End all fixtures before the last run, shared clusters too: the topics of a first run would still exist."""
    if getattr(item, "execution_count", 1) == LAST_RUN:
        state = item.session._setupstate
        state.stack.update(suspended_finalizers)
        suspended_finalizers.clear()
        state.teardown_exact(None)
