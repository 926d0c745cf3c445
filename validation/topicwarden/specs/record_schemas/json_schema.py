"""Check JSON Schemas of drafts 4, 6, 7, 2019-09 and 2020-12."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin

from topicwarden.model.message_text import kind_of, quoted
from topicwarden.specs.record_schemas.ecma_pattern import pattern_error
from topicwarden.specs.record_schemas.json_text import JsonError, parse
from topicwarden.specs.record_schemas.referenced_schemas import References, unknown_names

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


_DRAFTS: Final = (
    "http://json-schema.org/draft-04/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
)
_BY_NAME: Final = {each.partition(":")[2]: each for each in _DRAFTS}
"""The drafts without the scheme: Confluent's serializers write http for 2019-09, and many people https for others."""
_OF_FILES: Final = _DRAFTS[-1]
_OF_REGISTRIES: Final = _DRAFTS[2]
"""The draft of schemas that name none. For Confluent's and Apicurio's registries it is draft 7."""

_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_ROOT: Final = "topicwarden:/schema"


class _SchemaError(ValueError):
    """An error of a schema. The message continues a sentence that begins with the file's name."""


def schema_error(text: str, references: References | None = None) -> str | None:
    """Return the error if ``text`` is not a JSON Schema that is complete with ``references``, else None.

    Checks the draft, the draft's meta-schema, references and regular expressions. The error continues a sentence that
    begins with the file's name.
    """
    try:
        schema = parse(text, unique_keys=True)
        if not isinstance(schema, (dict, bool)):
            return "is not a JSON Schema: expected an object"
        draft = _draft(schema, references)
        _require_valid(schema, draft)
        for part in _schemas(schema, draft, references):
            _draft(part, references)
            _require_patterns(part)
    except (_SchemaError, JsonError) as error:
        return str(error)
    return None


def title(text: str) -> str | None:
    """Return the ``title`` of a JSON Schema; None if it has none."""
    try:
        schema = parse(text)
    except JsonError:
        return None
    written = schema.get("title") if isinstance(schema, dict) else None
    return written if isinstance(written, str) and written else None


def _draft(schema: Any, references: References | None) -> str:
    """Return the draft that a schema names in ``$schema``, or the default, which ``references`` tell."""
    default = _OF_FILES if references is None else _OF_REGISTRIES
    written = schema.get("$schema", default) if isinstance(schema, dict) else default
    scheme, _, name = written.removesuffix("#").partition(":") if isinstance(written, str) else ("", "", "")
    draft = _BY_NAME.get(name) if scheme in ("http", "https") else None
    if draft is None:
        raise _SchemaError(
            f"has the unknown draft {quoted(str(written))} in $schema; expected one of {', '.join(_DRAFTS)}"
        )
    return draft


def _require_valid(schema: Any, draft: str) -> None:
    from jsonschema.exceptions import best_match  # noqa: PLC0415  (slow to import)
    from jsonschema.validators import validator_for  # noqa: PLC0415

    validator = validator_for({"$schema": draft})
    if error := best_match(validator(validator.META_SCHEMA).iter_errors(schema)):
        location = "/" + "/".join(map(str, error.absolute_path))
        raise _SchemaError(f"is not a JSON Schema: at {quoted(location)}, {_expected(error)}")


def _expected(error: ValidationError) -> str:
    """Return what the meta-schema expects. jsonschema's own message quotes the value, which may be a secret."""
    if error.validator == "type":
        types = error.validator_value
        return f"expected {' or '.join([types] if isinstance(types, str) else types)}, got {kind_of(error.instance)}"
    if words := next(
        (each.validator_value for each in (error, *(error.context or ())) if each.validator == "enum"), None
    ):
        return f"expected one of {', '.join(map(str, words))}"
    if error.validator == "uniqueItems":
        return "an item appears twice"
    bound = error.validator_value
    limit = f" {bound}" if isinstance(bound, (int, float, str)) else ""
    return f"the value breaks the rule {error.validator}{limit} of the draft"


def _schemas(schema: Any, draft: str, references: References | None) -> Iterator[dict[str, Any]]:
    """Yield every schema in ``schema``, including the targets of references."""
    import referencing.jsonschema  # noqa: PLC0415
    from jsonschema_specifications import REGISTRY  # noqa: PLC0415
    from referencing.exceptions import CannotDetermineSpecification, Unresolvable  # noqa: PLC0415

    specification = referencing.jsonschema.specification_with(draft)
    root = specification.create_resource(schema)
    try:
        base = root.id() or _ROOT
        others = _referenced(base, references)
        registry = REGISTRY.with_resources(others).with_resource(base, root).crawl()
        pending = [(registry.resolver(base), root)]
        visited: set[int] = set()
        while pending:
            resolver, resource = pending.pop()
            if id(resource.contents) in visited or not isinstance(resource.contents, dict):
                continue
            visited.add(id(resource.contents))
            yield resource.contents
            pending += [(resolver.in_subresource(subresource), subresource) for subresource in resource.subresources()]
            for reference in (resource.contents.get(name) for name in _REFERENCES):
                if isinstance(reference, str):
                    target = _target(resolver, reference, references)
                    if target is not None:
                        pending.append((target.resolver, specification.create_resource(target.contents)))
    except _SchemaError:
        raise
    except (Unresolvable, CannotDetermineSpecification) as error:
        raise _SchemaError(f"has references that cannot be resolved: {error.__class__.__name__}") from error
    except ValueError as error:  # by urllib
        raise _SchemaError("has an $id that is not a valid URI") from error
    except (AttributeError, TypeError) as error:  # The meta-schema does not check the targets of all references.
        raise _SchemaError("has a reference to a part that is not a schema") from error


def _referenced(base: str, references: References | None) -> Iterator[tuple[str, Any]]:
    """Yield the names and the resource of each known schema of another subject.

    A relative name is also that of the URI to which it leads from the root of the schema, as in Confluent's registry.
    """
    import referencing.jsonschema  # noqa: PLC0415

    for name, text in references or ():
        if text is not None:
            try:
                schema = parse(text)
                specification = referencing.jsonschema.specification_with(_draft(schema, references))
            except (_SchemaError, JsonError) as error:
                raise _SchemaError(f"refers to {quoted(name)}, which {error}") from error
            resource = specification.create_resource(schema)
            yield name, resource
            with suppress(ValueError):  # not a URI
                yield urljoin(base, name), resource


def _target(resolver: Any, reference: str, references: References | None) -> Any:
    """Return the target of a ``$ref``; None if it is in a schema that is not known."""
    from referencing.exceptions import Unresolvable  # noqa: PLC0415

    try:
        target = resolver.lookup(reference)
    except (Unresolvable, ValueError, TypeError) as error:  # the last two by a pointer into no schema, or no URI
        if {reference, reference.partition("#")[0]} & unknown_names(references):
            return None
        others = "only references within the file work" if references is None else "add it to references"
        remedy = ": copy the target under $defs" if references is None else ", or copy the target under $defs"
        raise _SchemaError(f"refers to {quoted(reference)}; {others}{remedy}") from error
    if not isinstance(target.contents, (dict, bool)):
        raise _SchemaError(f"refers to {quoted(reference)}, which is not a schema")
    return target


def _require_patterns(schema: dict[str, Any]) -> None:
    pattern_properties = schema.get("patternProperties")
    patterns = [*(pattern_properties if isinstance(pattern_properties, dict) else ()), schema.get("pattern")]
    for pattern in patterns:
        if isinstance(pattern, str) and (error := pattern_error(pattern)):
            raise _SchemaError(f"has the regular expression {quoted(pattern)}: {error}")
