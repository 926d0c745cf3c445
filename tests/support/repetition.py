"""A pytest plugin: the last repetition of a failed test uses new fixtures."""

from __future__ import annotations

import pytest
from pytest_rerunfailures import get_reruns_count, suspended_finalizers


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """End all fixtures before the last run, shared clusters too: the topics of a first run would still exist."""
    if getattr(item, "execution_count", 1) == 1 + (get_reruns_count(item) or 0) > 1:
        state = item.session._setupstate
        state.stack.update(suspended_finalizers)
        suspended_finalizers.clear()
        state.teardown_exact(None)
