"""A hook of mkdocs that adds the JSON Schemas of `topicwarden schema` to the website, as ``NAME.schema.json``."""

from __future__ import annotations

import json

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from topicwarden.cli.schema import SCHEMAS


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return ``files`` with a generated file for each schema that the repository does not have."""
    for name, schema in SCHEMAS.items():
        path = f"{name}.schema.json"
        if files.get_file_from_path(path) is None:
            text = json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
            files.append(File.generated(config, path, content=text))
    return files
