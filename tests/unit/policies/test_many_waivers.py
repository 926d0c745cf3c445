"""Test that a violation is only compared with the waivers that may hide it, and that the first of them hides it."""

from __future__ import annotations

from pathlib import Path

import pytest

from topicwarden.model.project import Project
from topicwarden.model.topic import Topic
from topicwarden.policies.judge_topics import judge_topics
from topicwarden.policies.policy_file import load_policy
from topicwarden.policies.waivers import WaiverEntry

COUNT = 100


def test_a_violation_is_compared_with_the_waivers_of_its_topic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = ["'t5?'", *(f"t{number}" for number in range(COUNT)), "'t1*'", "'*'"]
    for name in ("topics", "policies", "stacks"):
        (tmp_path / name).mkdir()
    waivers = [
        f"- {{rule: min-insync-replicas, topics: {each}, until: 9999-12-31, reason: r, by: b}}\n" for each in patterns
    ]
    (tmp_path / "policies" / "a.yaml").write_text(f"waivers:\n{''.join(waivers)}", encoding="utf-8")
    policy = load_policy(Project(tmp_path))
    compared: list[None] = []
    covers = WaiverEntry.covers

    def counted(entry: WaiverEntry, rule: str, topic: Topic) -> bool:
        compared.append(None)
        return covers(entry, rule, topic)

    monkeypatch.setattr(WaiverEntry, "covers", counted)
    topics = [Topic(f"t{number}", 1, 1, {"min.insync.replicas": "2"}) for number in [*range(COUNT), 1_000, 2_000]]
    results = judge_topics(topics, policy, "dev")
    hidden = {each.topic: each.waiver.waiver.topics[0] for each in results if each.waiver}
    own = {f"t{number}": f"t{number}" for number in range(COUNT)}
    assert hidden == {**own, **{f"t5{digit}": "t5?" for digit in range(10)}, "t1000": "t1*", "t2000": "*"}
    assert len(compared) < 5 * COUNT
