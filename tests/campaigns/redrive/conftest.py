"""Use the fixtures of ``tests.broker.redrive``, with a cluster of their own."""

from __future__ import annotations

from tests.broker.redrive.conftest import redrives

__all__ = ["redrives"]
