"""Compare ``check --base`` with a real registry: ``python -m tests.campaigns.compatibility --pairs 500``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.campaigns.compatibility.verdicts import FORMATS, agreement, report
from tests.support.registry import running_registry
from topicwarden.model.project import find_project


def main() -> int:
    """Print the numbers of equal verdicts and each difference. Return 1 if there is a difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=300, help="pairs of each format")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", choices=FORMATS, help="only this format")
    chosen = parser.parse_args()
    project = find_project()
    with tempfile.TemporaryDirectory() as folder, running_registry(Path(folder)) as url:
        found = [
            (form, agreement(url, project, form, chosen.pairs, chosen.seed))
            for form in ([chosen.format] if chosen.format else FORMATS)
        ]
    print(report(found))
    return 1 if any(each.differences for _, each in found) else 0


if __name__ == "__main__":
    sys.exit(main())
