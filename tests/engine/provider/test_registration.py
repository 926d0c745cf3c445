"""Test that lean registration and the SDK's give the same state."""

from __future__ import annotations

import pytest

from tests.engine.provider.conftest import ExchangeableStack

UP = "up --yes --skip-preview --suppress-outputs"


@pytest.mark.parametrize("stack", ["declared_topics.py"], indirect=True)
def test_lean_registration_and_the_sdk_give_the_same_state(stack: ExchangeableStack) -> None:
    stack.use("own")
    states = {}
    for way, other in (("sdk", "lean"), ("lean", "sdk")):
        stack.register(way)
        stack.pulumi(UP)
        states[way] = stack.everything()
        stack.register(other)
        stack.pulumi("preview --expect-no-changes")
        stack.pulumi(f"{UP} --expect-no-changes")
        assert stack.everything() == states[way]
        stack.pulumi("state unprotect --yes --all")
        stack.pulumi("destroy --yes --skip-preview")
    assert len(states["sdk"]) == 9
    assert states["lean"] == states["sdk"]
