"""Compare the model of the authorizer with a real broker; ``python -m tests.campaigns.authorizer`` compares much more.

``TOPICWARDEN_SEED`` asks for other ACLs and questions.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.campaigns.authorizer.brokers import authorizing_broker
from tests.campaigns.authorizer.runner import Tally, compare
from tests.campaigns.versions.clusters import KafkaVersion

SEED = os.environ.get("TOPICWARDEN_SEED", "20261124")


@pytest.mark.nightly("The suite keeps brokers that deny by default.", stays=("False",))
@pytest.mark.parametrize("open_without_acl", [False, True])
def test_the_model_decides_as_a_real_broker(java: Path, jars: Path, tmp_path: Path, *, open_without_acl: bool) -> None:
    print(f"TOPICWARDEN_SEED={SEED}")
    line = ".".join(next(jars.glob("kafka-clients-*.jar")).stem.removeprefix("kafka-clients-").split(".")[:2])
    tally = Tally()
    with authorizing_broker(KafkaVersion(line), java, tmp_path, open_without_acl=open_without_acl, jars=jars) as broker:
        compare(broker, SEED, draws=2, clients=4, tally=tally)
    print(f"{tally.decisions} decisions, {tally.rules} logged rules")
    assert tally.differences == []
    assert tally.decisions > 2_000
    assert tally.rules > 2_000
    assert 0 < tally.allowed < tally.decisions
