"""Run mutmut on the rules, the consequences and the checks: ``tests/mutants.py run``. See docs/mutants.md.

mutmut expects the package in ``src/`` and writes to ``mutants/``, so it runs in ``.cache/mutants``. It does not mutate
sentences. It mutates a name, such as the name of a setting, once instead of three times.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import libcst
from mutmut.__main__ import cli
from mutmut.mutation import file_mutation
from mutmut.mutation.mutators import mutation_operators, operator_string

REPOSITORY = Path(__file__).parents[1]
FOLDER = REPOSITORY / ".cache/mutants"
TESTS = (
    *("__init__.py", "conftest.py", "support"),
    *("unit/audit", "unit/checks", "unit/plan", "unit/policies"),
)
"""The tests that run, and what they import."""
LINKS = {
    "src": "validation",
    **{name: name for name in ("docs", "pyproject.toml", *(f"tests/{each}" for each in TESTS))},
}


def names_only(node: libcst.BaseString) -> Iterable[libcst.BaseString]:
    """Return a mutant of a string without spaces, and none of a text."""
    is_name = isinstance(node, libcst.SimpleString) and " " not in node.value
    return list(operator_string(node))[:1] if is_name else []


def main() -> None:
    for link, target in LINKS.items():
        (FOLDER / link).parent.mkdir(parents=True, exist_ok=True)
        if not (FOLDER / link).is_symlink():
            (FOLDER / link).symlink_to(REPOSITORY / target)
    os.chdir(FOLDER)
    # For the type checker, which mutmut runs as a program.
    os.environ |= {"MYPYPATH": "src", "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    file_mutation.mutation_operators = [
        (kind, names_only if operator is operator_string else operator) for kind, operator in mutation_operators
    ]
    cli()


if __name__ == "__main__":
    main()
