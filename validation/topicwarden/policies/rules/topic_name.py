"""A topic's name follows the house's convention.

Settings: ``matches``, a regular expression that the whole name must match.
Example: ``topic-name: {matches: '^[a-z]+(\\.[a-z0-9_]+)+\\.v[0-9]+$'}``
"""

import re
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, Field

from topicwarden.policies.rule import Complaint, RuleSettings
from topicwarden.specs.settings import custom_error
from topicwarden.topic import Topic


def _compiles(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise custom_error("value", f"expected a regular expression, seen one that is not: {error}") from error
    return value


class Settings(RuleSettings):
    matches: Annotated[str, Field(strict=True), AfterValidator(_compiles)]


ALWAYS = None


def judge(topic: Topic, settings: Settings) -> Iterable[Complaint]:
    if not re.fullmatch(settings.matches, topic.name):
        yield Complaint(
            ("topic",), f"the name {topic.name} does not match {settings.matches}; rename it before it is deployed"
        )
