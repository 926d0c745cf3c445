"""Everything that can be known without a cluster: specs resolved for stacks, and judged by the rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from topicwarden.policies.file import Policy, load_policy
from topicwarden.policies.rules import RULES
from topicwarden.problem import Problem, Refusal
from topicwarden.project import Project
from topicwarden.specs.load import load
from topicwarden.specs.resolve import Declaration, resolve


@dataclass(frozen=True)
class Checked:
    """The declarations by stack, and every problem of every file, sorted. With errors, deploy none of them."""

    declarations: Mapping[str, tuple[Declaration, ...]]
    problems: tuple[Problem, ...]


def check(project: Project, stacks: Sequence[str]) -> Checked:
    """Judges the project for ``stacks``; refuses a project that declares nothing, as an apply would delete all."""
    loaded = load(project.topics, project.root, project.stack_names())
    if not loaded.topics and not loaded.problems:
        raise Refusal("topics/ declares no topic: write topics/<domain>/<topic>.yaml, see README.md")
    policy = load_policy(project)
    declarations: dict[str, tuple[Declaration, ...]] = {}
    found: dict[Problem, list[str]] = {problem: list(stacks) for problem in policy.problems}
    for stack in stacks:
        resolved = resolve(loaded, stack)
        declarations[stack] = resolved.declarations
        for problem in (*resolved.problems, *judge(resolved.declarations, policy, stack)):
            found.setdefault(problem, []).append(stack)
    return Checked(declarations, tuple(sorted(_named(problem, held, stacks) for problem, held in found.items())))


def judge(declarations: Iterable[Declaration], policy: Policy, stack: str) -> Iterable[Problem]:
    """What the rules have to say of a stack's topics."""
    for held in declarations:
        for name, settings in policy.of(stack).items():
            for complaint in RULES[name].judge(held.topic, settings):
                yield Problem(held.places.at(complaint.path), complaint.message, name, settings.level)


def _named(problem: Problem, held: Sequence[str], stacks: Sequence[str]) -> Problem:
    """Says which stacks have the problem, where not all of them do."""
    everywhere = len(set(held)) == len(stacks)
    return (
        problem if everywhere else replace(problem, message=f"{problem.message} (stack {', '.join(sorted(set(held)))})")
    )
