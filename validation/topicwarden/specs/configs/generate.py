"""Makes ``catalogue.json`` from Kafka's jars, which Maven fetches: the maintainers' tool, never run by a check::

    python -m topicwarden.specs.configs.generate 3.9.2 4.0.1 4.1.1 4.2.0 4.3.1

The last release given has the documentation and the definitions; ``differs`` says where an earlier line's are others,
``since`` and ``until`` name the first and the last line that has a configuration, where it is not the first or last
of all.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>topicwarden</groupId><artifactId>configs</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{release}</version>
  </dependency></dependencies>
</project>"""


def dump(release: str) -> Mapping[str, dict[str, Any]]:
    """What ``DumpTopicConfigs`` prints of one release of Kafka: definitions by name."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pom.xml").write_text(_POM.format(release=release), encoding="utf-8")
        subprocess.run(
            ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"], cwd=folder, check=True
        )
        java = ["java", "-cp", f"{folder}/jars/*", str(HERE / "DumpTopicConfigs.java")]
        dumped = json.loads(subprocess.run(java, check=True, stdout=subprocess.PIPE).stdout)
    configs: dict[str, dict[str, Any]] = dumped["configs"]
    return configs


def merge(dumps: Mapping[str, Mapping[str, dict[str, Any]]]) -> dict[str, Any]:
    """The catalogue of several releases, given from the oldest."""
    lines = {release.rpartition(".")[0]: configs for release, configs in dumps.items()}
    names = sorted({name for configs in lines.values() for name in configs})
    kafka = {release.rpartition(".")[0]: release for release in dumps}
    return {"kafka": kafka, "configs": {name: _entry(name, lines) for name in names}}


def _entry(name: str, lines: Mapping[str, Mapping[str, dict[str, Any]]]) -> dict[str, Any]:
    held = {line: configs[name] for line, configs in lines.items() if name in configs}
    order, (first, *_), last = list(lines), held, list(held)[-1]
    differs = {line: _difference(fields, held[last]) for line, fields in held.items()}
    entry: dict[str, Any] = {}
    if first != order[0]:
        entry["since"] = first
    if last != order[-1]:
        entry["until"] = last
    entry["definition"] = held[last]
    if any(differs.values()):
        entry["differs"] = {line: fields for line, fields in differs.items() if fields}
    return entry


def _difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in one.items() if key != "documentation" and value != other[key]}


def main(releases: Sequence[str]) -> None:
    catalogue = merge({release: dump(release) for release in releases})
    (HERE / "catalogue.json").write_text(json.dumps(catalogue, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
