"""Test that the campaign builds the version of Pulumi's SDK."""

from __future__ import annotations

from tests.campaigns.pulumi_versions import newest
from tests.conftest import REPOSITORY


def test_the_newest_version_is_that_of_the_sdk() -> None:
    assert f'"pulumi=={newest.version()}"' in (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
