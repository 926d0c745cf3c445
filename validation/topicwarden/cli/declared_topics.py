"""What a stack declares, for commands that go to its cluster."""

from __future__ import annotations

from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.policies.check_specs import check
from topicwarden.specs.resolve import Declaration


def declared(project: Project, stack: str, to_be: str) -> tuple[Declaration, ...]:
    """The topics of ``stack``; refuses where they do not hold, as then nothing can be done with them:

    ``to_be`` says what, such as "audited".
    """
    checked = check(project, [stack])
    if errors := checked.errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise Refusal(f"what is declared cannot be {to_be}: {errors[0]}{more}; see `topicwarden check --stack {stack}`")
    return checked.declarations[stack]
