"""Install what needs topicwarden's own packages: `.venv/bin/python -m tools.sandbox_part pulumi|kafka|demo|all`.

`pulumi` runs Pulumi's own installer. `kafka` downloads Kafka's jars and archives their classes. `demo` and `all`
install what is left; only `all` archives Spark's classes, which takes longer than the first audit gains from it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from topicwarden.cli.sandbox import install_tools
from topicwarden.extensions.sandbox import class_archive
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.toolchain import kafka_jars, prerequisites, pulumi_cli


def main(arguments: Sequence[str]) -> int:
    """Install the part. Return 2 if that fails."""
    [part] = arguments
    project = find_project()
    try:
        if part == "pulumi":
            cache = project.tools_cache
            pulumi_cli.install(cache, pulumi_cli.choose(cache), print)
        elif part == "kafka":
            jars = kafka_jars(project, print)
            class_archive.create(prerequisites.require_java(), jars, print)
        else:
            return install_tools(archive_spark=part == "all")
    except Refusal as refusal:
        print(refusal, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
