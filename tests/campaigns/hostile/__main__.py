"""Audit hostile records and registries: `python -m tests.campaigns.hostile --records 2000 --seed 7 --bomb-mib 300`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.campaigns.hostile.campaign import audit_records, audit_with_registry, fill_registry_topic, hostile_project
from tests.campaigns.hostile.registry import ANSWERS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bomb-mib", type=int, default=300, help="what each bomb inflates to, at most 950")
    arguments = parser.parse_args()
    bad = False
    with tempfile.TemporaryDirectory() as folder, hostile_project(Path(folder)) as project:
        result = audit_records(project, arguments.records, arguments.seed, arguments.bomb_mib)
        print(f"{result.records} records: {result.seconds:.0f} s, at most {result.peak_mib} MiB, {result.verdicts}")
        for line in result.trouble:
            bad = True
            print(f"  {line}")
        fill_registry_topic(project)
        print("| answer of the registry | seconds | |\n|---|---|---|")
        for kind in ANSWERS:
            seconds, trouble = audit_with_registry(project, kind)
            bad = bad or bool(trouble)
            print(f"| {kind} | {seconds:.1f} | {'; '.join(trouble) or 'as expected'} |", flush=True)
    raise SystemExit(bad)


if __name__ == "__main__":
    main()
