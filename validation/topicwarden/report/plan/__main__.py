"""Draws a plan that was kept as JSON: ``python -m topicwarden.report.plan markdown < plan.json > plan.md``.

So one preview serves a comment, the annotations and an artifact, and all three speak of the same plan.
"""

from __future__ import annotations

import sys

from topicwarden.model.planned_change import PlanReport
from topicwarden.model.project import find_project
from topicwarden.report.plan import FORMATS, render


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0] not in FORMATS:
        print(f"usage: python -m topicwarden.report.plan {{{','.join(FORMATS)}}} < plan.json", file=sys.stderr)
        return 2
    report = PlanReport.model_validate_json(sys.stdin.buffer.read())
    sys.stdout.buffer.write(render(report, arguments[0], find_project().root).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
