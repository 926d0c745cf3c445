"""The wheel that all tests of this folder install."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.installations import build_wheel
from topicwarden.toolchain import Toolchain


@pytest.fixture(scope="package")
def wheel(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("dist"))
