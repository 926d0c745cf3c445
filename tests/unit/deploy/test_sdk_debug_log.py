"""Test what is left of a long debug message."""

from __future__ import annotations

from topicwarden.deploy.sdk_registration import shortened


def test_a_long_message_is_cut_and_has_its_length() -> None:
    sent: list[tuple[str, object]] = []
    debug = shortened(lambda msg, *_, **options: sent.append((msg, options)))
    debug("short", ephemeral=True)
    debug("x" * 20_000)
    assert sent[0] == ("short", {"ephemeral": True})
    assert sent[1] == ("x" * 10_000 + "… (20,000 characters)", {})
