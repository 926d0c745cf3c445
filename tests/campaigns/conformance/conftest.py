"""Share one JVM between all tests of this folder."""

from __future__ import annotations

from tests.spark.codecs.conftest import judge

__all__ = ["judge"]
