"""Test that both providers write the same state, and see no change in the state of the other one."""

from __future__ import annotations

import pytest

from tests.engine.provider.conftest import ExchangeableStack

pytestmark = pytest.mark.nightly("It needs another build with Go. The suite has the same tests with the locked one.")
UP = "up --yes --skip-preview --suppress-outputs"
SECRETS = ("76543210", "65432109", "plain-in-the-program")


@pytest.mark.parametrize(("first", "second"), [("official", "own"), ("own", "official")])
def test_the_other_provider_sees_no_change_and_no_secret(stack: ExchangeableStack, first: str, second: str) -> None:
    stack.use(first)
    stack.pulumi(UP)
    before = stack.resources()
    assert len(before) == 10
    assert [secret for secret in SECRETS if secret in stack.state()] == []

    stack.use(second)
    stack.pulumi("preview --expect-no-changes")
    stack.pulumi(f"{UP} --expect-no-changes")
    assert stack.resources() == before
    stack.pulumi("refresh --yes --skip-preview --expect-no-changes")
    refreshed = stack.resources()
    assert {name: resource["outputs"] for name, resource in refreshed.items()} == {
        name: resource["outputs"] for name, resource in before.items()
    }
    assert [secret for secret in SECRETS if secret in stack.state()] == []

    stack.use(first)
    stack.pulumi("preview --expect-no-changes")
    stack.use(second)
    stack.pulumi("state unprotect --yes --all")
    stack.pulumi("destroy --yes --skip-preview")
    assert stack.resources() == {}


def test_both_providers_write_the_same_state(stack: ExchangeableStack) -> None:
    states = {}
    for provider in ("official", "own"):
        stack.use(provider)
        stack.pulumi(UP)
        states[provider] = stack.resources()
        stack.pulumi("state unprotect --yes --all")
        stack.pulumi("destroy --yes --skip-preview")
    assert states["own"] == states["official"]
