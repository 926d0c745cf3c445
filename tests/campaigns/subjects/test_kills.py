"""Test that deploys of subjects that are killed at a random moment converge with the next deploy.

``TOPICWARDEN_KILLS`` asks for more kills.
"""

from __future__ import annotations

import json
import os
import random
import time
from functools import partial

from tests.engine.subjects.conftest import SubjectStack
from tests.support.killed_deploys import PROCESSES, deployed_again, killed_up
from topicwarden.kafka.registry.read import read_subject

KILLS = int(os.environ.get("TOPICWARDEN_KILLS", "2"))
SUBJECTS = 24


def declare(stack: SubjectStack, number: int, *, declared: bool) -> None:
    """Declare pairs of subjects in the version ``number``; the second one refers to the first one."""
    entries, files = [], {}
    for pair in range(SUBJECTS // 2):
        name = f"com.acme.Part{pair}"
        fields = [{"name": f"f{each}", "type": "string", "default": ""} for each in range(number)]
        files[f"subjects/part{pair}.avsc"] = json.dumps(
            {"type": "record", "name": f"Part{pair}", "namespace": "com.acme", "fields": fields}
        )
        files[f"subjects/whole{pair}.avsc"] = json.dumps(
            {"type": "record", "name": f"Whole{pair}", "fields": [{"name": "part", "type": name}]}
        )
        level = ("BACKWARD", "FULL")[number % 2]
        entries += [
            f"  NAME.part{pair}: {{format: avro, schema: part{pair}.avsc, compatibility: {level}}}",
            f"  NAME.whole{pair}: {{format: avro, schema: whole{pair}.avsc, "
            f"references: [{{name: {name}, subject: NAME.part{pair}}}]}}",
        ]
    topic = "{topic: NAME.orders, owner: team, partitions: 1, replication_factor: 1}\n"
    stack.write({"topics/orders.yaml": topic, **files})
    text = "subjects:\n" + "\n".join(entries) + "\nallow: [delete-subject]\n" if declared else ""
    stack.write({"subjects/all.yaml": text})
    if not declared:
        (stack.project.root / "subjects/all.yaml").unlink()


def test_killed_deploys_of_subjects_converge(stack: SubjectStack) -> None:
    up = partial(stack.shell.topicwarden, "up", "--stack", "dev", "--yes")
    chosen = random.Random(int(os.environ.get("TOPICWARDEN_SEED", "20261124")))
    names = [f"{stack.name}.{kind}{pair}" for pair in range(SUBJECTS // 2) for kind in ("part", "whole")]
    ids: dict[tuple[str, int], int] = {}
    running = 0
    for number in range(1, KILLS + 1):
        declare(stack, number, declared=True)
        pause = chosen.uniform(0.3, 4.0)
        process = chosen.choice(sorted(PROCESSES))
        running += killed_up(stack.project, stack.shell, process, partial(time.sleep, pause))
        attempts = deployed_again(up)
        print(f"{number}: {process} after {pause:.1f} s, {attempts} attempts")
        state = stack.in_state()
        for name in names:
            versions = stack.versions(name)
            assert [version for version, _ in versions] == list(range(1, number + 1)), (number, name)
            assert {key: id for key, id in ids.items() if key[0] == name}.items() <= {
                ((name, version), id) for version, id in versions
            }
            ids |= {(name, version): id for version, id in versions}
            assert (state[name]["version"], state[name]["schemaId"]) == versions[-1]
        latest = stack.client.get("subjects", f"{stack.name}.whole0", "versions", "latest")
        assert latest["references"][0]["version"] == number
        level = read_subject(stack.client, f"{stack.name}.part0").compatibility
        assert level is not None and level.value == ("BACKWARD", "FULL")[number % 2]
        registry = stack.plan().registry
        assert registry is not None and not registry.subjects
    declare(stack, KILLS, declared=False)
    killed_up(stack.project, stack.shell, "engine", lambda: time.sleep(chosen.uniform(1.0, 3.0)))
    deployed_again(up)
    assert not stack.in_state()
    print(f"{running} of {KILLS} deploys were killed while they ran")
