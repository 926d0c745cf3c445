"""Compare the codecs with the reference libraries: ``python -m tests.campaigns.codecs --seed 1 --count 100000``."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from tests.campaigns.codecs.differential import EXPLAINED, run
from tests.spark.codecs.judge import judging


def main() -> None:
    """Run the comparison that the arguments select, and print the counts."""
    parser = argparse.ArgumentParser(description="Compare the reader's codecs with the reference Python libraries.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100_000, help="pairs of a schema and a record")
    arguments = parser.parse_args()
    java = shutil.which("java")
    if java is None:
        parser.error("no java on the PATH")
    with tempfile.TemporaryDirectory() as scratch, judging(Path(java).resolve(), Path(scratch)) as judge:
        counts = run(judge, arguments.seed, arguments.count)
    print(f"seed {arguments.seed}: {sum(counts.values()):,} pairs")
    for what, number in counts.most_common():
        print(f"{number:>9,}  {what}{f': {EXPLAINED[what]}' if what in EXPLAINED else ''}")


if __name__ == "__main__":
    main()
