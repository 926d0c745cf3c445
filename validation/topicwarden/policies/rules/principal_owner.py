"""Require that the principals which produce to a topic belong to its owner.

`matches` is a regular expression ([RE2](https://github.com/google/re2/wiki/Syntax)) for the whole principal, in which
`{owner}` is the owner of the topic. A topic without an owner is skipped: the rule `owner` demands one.

Example: `principal-owner: {matches: 'User:{owner}-.*'}`
"""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from topicwarden.kafka_facts.access import roles
from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.access import DeclaredAccess
from topicwarden.model.field_types import custom_error
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import AccessViolation, RuleSettings
from topicwarden.policies.rules.topic_name import full_match, pattern_problem

_OWNER: Final = "{owner}"


def _compiles(value: str) -> str:
    if problem := pattern_problem(value.replace(_OWNER, "owner")):
        raise custom_error("value", f"expected an RE2 regular expression, got an invalid one: {problem}")
    return value


class Settings(RuleSettings):
    matches: Annotated[str, Field(strict=True), AfterValidator(_compiles)] = Field(
        default="User:{owner}.*", description="A regular expression that the whole principal must match."
    )
    roles: list[Literal["produce", "consume"]] = Field(
        default=["produce"], min_length=1, description="The roles whose principals are checked."
    )


ALWAYS = None


def judge_access(
    access: DeclaredAccess, topics: Sequence[Topic], settings: Settings, brokers: BrokerSettings
) -> Iterable[AccessViolation]:
    for topic in topics:
        if topic.owner is None:
            continue
        pattern = settings.matches.replace(_OWNER, re.escape(topic.owner))
        for role, grants, expand in (
            ("produce", topic.access.produce, roles.produce),
            ("consume", topic.access.consume, roles.consume),
        ):
            for grant in grants if role in settings.roles else ():
                if not full_match(pattern, grant.principal):
                    acl = next(iter(expand(topic.name, grant)))
                    source = next(each for each in access.acls[acl] if each.topic == topic.name)
                    message = (
                        f"{role}: the principal {grant.principal} does not match {settings.matches} for the owner "
                        f"{topic.owner}; correct the principal or the owner"
                    )
                    yield AccessViolation(source.location, message, topic.name)
