"""Write the generated parts of ``docs/reference``: `.venv/bin/python -m tests.unit.site.reference`.

The commands come from the command line's parser, the settings from the JSON Schemas. A page with settings
has its own text above ``MARK``, and the generated tables below. The metrics come from a report with all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final

from prometheus_client import parser as text_format

from tests.support import reports, usage_reports
from tests.support.documents import PARSER, leaves
from topicwarden.cli.schema import SCHEMAS
from topicwarden.report.audit.openmetrics import render

DOCS: Final = Path(__file__).parents[3] / "docs"
MARK: Final = "## All settings\n"
METRICS_MARK: Final = "## All metrics of an audit\n"
_Schema = Mapping[str, Any]
_COMMANDS: Final = """\
# Commands

`topicwarden COMMAND --help` prints the same. `-q`, `--quiet` before a command prints results and errors only;
`-v`, `--verbose` adds the details of an error and the rest of long lists; `--version` prints the
version. [Exit codes](exit-codes.md) are the same for all commands.
"""
_NAMED_TYPES: Final = {"integer": "number", "number": "number", "boolean": "true or false", "string": "text"}
_PATTERNS: Final = {"(ms|s|m|h|d)": "duration", "(B|kB|MB": "size", "date": "date"}


def commands() -> str:
    """Return the page of all commands, with their arguments and options."""
    parts = [_COMMANDS]
    for name, command in sorted(leaves(PARSER).items()):
        parts.append(f"## {name}\n\n{_sentence(command.help)}\n")
        rows = [_parameter(each) for each in command.params if not getattr(each, "hidden", False)]
        if rows:
            parts.append(_table(("argument or option", "meaning"), rows))
        example, _, rest = (command.epilog or "").removeprefix("Example: ").partition("\n\n")
        if example:
            parts.append(f"```sh\n{example.strip('`')}\n```\n")
        if rest:
            parts.append(f"{_sentence(rest)}\n")
    return "\n".join(parts)


def _parameter(one: Any) -> tuple[str, str]:
    metavar = f" {one.metavar}" if one.metavar else ""
    named = one.metavar or one.name.upper() if one.param_type_name == "argument" else ", ".join(one.opts) + metavar
    default = one.default.value if isinstance(one.default, Enum) else one.default
    shown = one.show_default and isinstance(default, str | int | float) and str(default) not in ("", "True", "False")
    suffix = f" Default: `{default}`." if shown else " Required." if one.required else ""
    return f"`{named}`", _sentence(one.help) + suffix


def topics() -> str:
    """Return the tables of the keys of a topic file, of ``contents``, and of Kafka's settings."""
    schema = _schema("topic")
    config = schema["properties"]["config"]["properties"]
    known = {**schema, "properties": {k: v for k, v in schema["properties"].items() if k not in ("config", "stacks")}}
    return "\n".join(
        [
            "`config` and `stacks` are described above.\n",
            _table(_HEADINGS, _fields(known, schema)),
            "## Kafka's settings\n",
            "The keys of `config`. Editors show Kafka's whole documentation, from the JSON Schema.\n",
            _table(_HEADINGS, [(f"`{name}`", _types(each, schema), _first(each)) for name, each in config.items()]),
        ]
    )


def access() -> str:
    """Return the tables of the keys of a file below ``access/``, and of Kafka's settings of groups."""
    schema = _schema("access")
    rest = {**schema, "properties": {k: v for k, v in schema["properties"].items() if k != "stacks"}}
    groups = next(each for each in schema["properties"]["group_configs"]["anyOf"] if "additionalProperties" in each)
    settings = groups["additionalProperties"]["properties"]
    description = schema["properties"]["group_configs"]["description"]
    rest["properties"]["group_configs"] = {"type": "object", "description": description}
    return "\n".join(
        [
            "`applications`, `users` and `group_configs` are mappings by name. `stacks` is described above.\n",
            _table(_HEADINGS, _fields(rest, schema)),
            "## Kafka's settings of groups\n",
            "The keys of `group_configs`. Editors show Kafka's whole documentation, from the JSON Schema.\n",
            _table(_HEADINGS, [(f"`{name}`", _types(each, schema), _first(each)) for name, each in settings.items()]),
        ]
    )


def subjects() -> str:
    """Return the table of the keys of a file below ``subjects/``."""
    schema = _schema("subject")
    rest = {**schema, "properties": {k: v for k, v in schema["properties"].items() if k != "stacks"}}
    return "\n".join(
        ["`subjects` is a mapping by name. `stacks` is described above.\n", _table(_HEADINGS, _fields(rest, schema))]
    )


def policies() -> str:
    """Return the tables of the keys of a policy file, and of the settings of each rule."""
    schema = _schema("policy")
    table = {name: _resolve(each, schema) for name, each in schema["$defs"]["RuleTable"]["properties"].items()}
    shared = set.intersection(*(set(each["properties"]) for each in table.values()))
    common = {**next(iter(table.values()))}
    common["properties"] = {name: each for name, each in common["properties"].items() if name in shared}
    own = [row for name, each in table.items() for row in _rule_rows(name, each, shared, schema)]
    rest = {**schema, "properties": {name: each for name, each in schema["properties"].items() if name != "rules"}}
    return "\n".join(
        [
            "Each rule under `rules` has these settings:\n",
            _table(_HEADINGS, _fields(common, schema)),
            "Some rules have more. [Rules](../rules.md) explains each rule:\n",
            _table(_HEADINGS, own),
            "Expressions and waivers are lists of mappings with these keys:\n",
            _table(_HEADINGS, _fields(rest, schema)),
        ]
    )


def _rule_rows(name: str, rule: _Schema, shared: set[str], schema: _Schema) -> Iterator[tuple[str, ...]]:
    own = {**rule, "properties": {key: each for key, each in rule["properties"].items() if key not in shared}}
    yield from _fields(own, schema, f"{name}: ")


def stacks() -> str:
    """Return the table of the settings of a stack file."""
    schema = _schema("stack")
    settings = schema["properties"]["config"]["properties"]
    rows = [(f"`{name}`", _sentence(each["description"])) for name, each in settings.items()]
    return _table(("setting", "meaning"), rows)


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "topics": topics,
    "access": access,
    "subjects": subjects,
    "policies": policies,
    "stacks": stacks,
}
_HEADINGS: Final = ("key", "value", "meaning")


def written() -> dict[Path, str]:
    """Return the text that each generated page must have."""
    pages = {DOCS / "reference" / "commands.md": commands()}
    for name, generate in PAGES.items():
        path = DOCS / "reference" / f"{name}.md"
        own = path.read_text(encoding="utf-8").partition(MARK)[0]
        pages[path] = f"{own.rstrip()}\n\n{MARK}\n{generate()}"
    path = DOCS / "reference" / "metrics.md"
    own = path.read_text(encoding="utf-8").partition(METRICS_MARK)[0]
    pages[path] = f"{own.rstrip()}\n\n{METRICS_MARK}\n{metrics()}"
    return pages


def metrics() -> str:
    """Return the table of all metrics of an audit, with their labels."""
    report = reports.rich().model_copy(update={"usage": usage_reports.rich()})
    rows = []
    for family in text_format.text_string_to_metric_families(render(report)):
        labels = dict.fromkeys(label for sample in family.samples for label in sample.labels if label != "stack")
        rows.append((f"`{family.name}`", ", ".join(f"`{label}`" for label in labels), family.documentation))
    return _table(("metric", "labels", "meaning"), rows)


def _fields(schema: _Schema, root: _Schema, prefix: str = "") -> Iterator[tuple[str, ...]]:
    for name, each in schema.get("properties", {}).items():
        below = _resolve(each, root)
        yield f"`{prefix}{name}`", _types(each, root), _sentence(each.get("description", below.get("description", "")))
        if "properties" in below:
            yield from _fields(below, root, f"{prefix}{name}.")


def _resolve(schema: _Schema, root: _Schema) -> _Schema:
    """Return the mapping that ``schema`` accepts: itself, a reference, one of its alternatives, or its items."""
    if "$ref" in schema:
        found: _Schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
        return _resolve(found, root)
    if "items" in schema:
        return _resolve(schema["items"], root)
    if isinstance(schema.get("additionalProperties"), dict):  # a mapping by name, such as that of applications
        return _resolve(schema["additionalProperties"], root)
    options = (_resolve(each, root) for each in schema.get("anyOf", ()))
    return next((each for each in options if "properties" in each), schema)


def _types(schema: _Schema, root: _Schema) -> str:
    """Return in words which values ``schema`` accepts."""
    match schema:
        case {"$ref": str(reference)}:
            return _types(root["$defs"][reference.rpartition("/")[2]], root)
        case {"enum": values}:
            words = [str(value).lower() if isinstance(value, bool) else value for value in values if value is not None]
            return ", ".join(f"`{word}`" for word in dict.fromkeys(words))
        case {"anyOf": alternatives}:
            words = [_types(each, root) for each in alternatives if each.get("type") != "null"]
            return " or ".join(dict.fromkeys(words))
        case {"type": "array"}:
            return f"list of {_types(schema.get('items', {}), root)}"
    pattern = schema.get("pattern", schema.get("format", ""))
    word = next((word for part, word in _PATTERNS.items() if part in pattern), None)
    kinds = schema.get("type", "object")
    listed = [kinds] if isinstance(kinds, str) else kinds
    return word or " or ".join(_NAMED_TYPES.get(kind, "mapping") for kind in listed if kind != "null")


def _schema(name: str) -> _Schema:
    return SCHEMAS[name]()


def _first(schema: _Schema) -> str:
    """Return the first sentence of Kafka's documentation of a setting, and Kafka's default."""
    text = re.sub(r"<[^>]+>", "", schema.get("description", ""))
    default = re.search(r"^Kafka's default: .*$", text, re.MULTILINE)
    sentence = re.split(r"(?<=[^.][.])\s+(?=[A-Z\n])", text.partition("\n\nExpected")[0], maxsplit=1)[0]
    return _sentence(f"{_sentence(sentence)} {default[0] if default else ''}")


def _sentence(text: str | None) -> str:
    """Return ``text`` as Markdown in one line: no HTML outside of code, and links to pages."""
    parts = " ".join((text or "").split()).replace("``", "`").split("`")
    parts[::2] = [re.sub(r"\bdocs/(\w+)\.md", r"[\1](../\1.md)", part).replace("<", "&lt;") for part in parts[::2]]
    joined = "`".join(parts)
    return joined if not joined or joined.endswith((".", "`", ")", ":")) else f"{joined}."


def _table(headings: tuple[str, ...], rows: Any) -> str:
    """Return a table. GitHub needs a backslash before `|`, which the website would show: write `all or last`."""
    cells = [tuple(re.sub(r"(?<=\w)\|(?=\w)", " or ", cell) for cell in row) for row in rows]
    assert not any("|" in cell for row in cells for cell in row)
    lines = [headings, ("---",) * len(headings), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    for page, text in written().items():
        page.write_text(text, encoding="utf-8")
