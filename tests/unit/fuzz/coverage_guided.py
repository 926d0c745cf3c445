"""The coverage-guided fuzzer over the loader; runs until it is stopped, or for as many inputs as it is told::

.venv/bin/pip install atheris
.venv/bin/python -m tests.unit.fuzz.coverage_guided -runs=100000 -timeout=5
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["topicwarden"]):
    from tests.unit.fuzz.target import judged, project_in, seeds


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        for number, seed in enumerate(seeds()):
            (corpus / str(number)).write_bytes(seed)
        project = project_in(Path(folder) / "project")
        atheris.Setup([*sys.argv, str(corpus)], lambda data: judged(project, data))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
