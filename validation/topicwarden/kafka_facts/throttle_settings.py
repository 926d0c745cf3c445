"""The names of the settings of Kafka's replication throttle (KIP-73)."""

from __future__ import annotations

from typing import Final

RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""Settings of a broker, in bytes per second for throttled replicas: rate as leader, and rate as follower."""

REPLICAS: Final = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
"""Settings of a topic: ``partition:broker,…``, or ``*``."""
