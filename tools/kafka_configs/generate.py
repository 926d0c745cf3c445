"""Generate ``catalogue.json`` from Kafka's jars, which Maven downloads. Maintainers run this by hand::

    python -m tools.kafka_configs.generate 3.9.2 4.0.1 4.1.1 4.2.0 4.3.1 4.4.0

Definitions and documentation come from the last release that has a configuration. ``differs`` has the fields that are
different in earlier lines. ``since`` and ``until`` name the first and the last line that has the configuration. They
are omitted for the oldest and the newest line of the catalogue.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from topicwarden.kafka_facts import configs

HERE = Path(__file__).parent
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>topicwarden</groupId><artifactId>configs</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{release}</version>
  </dependency></dependencies>
</project>"""


def dump(release: str) -> Mapping[str, Mapping[str, dict[str, Any]]]:
    """Run ``DumpConfigs`` for one release of Kafka, and return its definitions by kind and name."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pom.xml").write_text(_POM.format(release=release), encoding="utf-8")
        subprocess.run(
            ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"], cwd=folder, check=True
        )
        java = ["java", "-cp", f"{folder}/jars/*", str(HERE / "DumpConfigs.java")]
        dumped: dict[str, dict[str, Any]] = json.loads(subprocess.run(java, check=True, stdout=subprocess.PIPE).stdout)
    return dumped


def merge(dumps: Mapping[str, Mapping[str, Mapping[str, dict[str, Any]]]]) -> dict[str, Any]:
    """Return the catalogue of several releases, given oldest first."""
    kafka = {release.rpartition(".")[0]: release for release in dumps}
    kinds = list(dict.fromkeys(kind for dumped in dumps.values() for kind in dumped))
    return {"kafka": kafka} | {
        kind: _entries({release.rpartition(".")[0]: dumped[kind] for release, dumped in dumps.items()})
        for kind in sorted(kinds)
    }


def _entries(lines: Mapping[str, Mapping[str, dict[str, Any]]]) -> dict[str, Any]:
    return {name: _entry(name, lines) for name in sorted({name for configs in lines.values() for name in configs})}


def _entry(name: str, lines: Mapping[str, Mapping[str, dict[str, Any]]]) -> dict[str, Any]:
    by_line = {line: configs[name] for line, configs in lines.items() if name in configs}
    all_lines, (first, *_), last = list(lines), by_line, list(by_line)[-1]
    differs = {line: _difference(fields, by_line[last]) for line, fields in by_line.items()}
    entry: dict[str, Any] = {}
    if first != all_lines[0]:
        entry["since"] = first
    if last != all_lines[-1]:
        entry["until"] = last
    entry["definition"] = by_line[last]
    if any(differs.values()):
        entry["differs"] = {line: fields for line, fields in differs.items() if fields}
    return entry


def _difference(fields: Mapping[str, Any], reference: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != "documentation" and value != reference[key]}


def main(releases: Sequence[str]) -> None:
    """Write ``catalogue.json`` for ``releases``, given oldest first."""
    catalogue = merge({release: dump(release) for release in releases})
    text = json.dumps(catalogue, indent=2, ensure_ascii=False) + "\n"
    Path(configs.__file__).with_name("catalogue.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
