"""What is said of a rule beside its results: its documentation, from the rule itself."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from topicwarden.policies.rules import RULES
from topicwarden.specs.problem_ids import PROBLEM_IDS


@dataclass(frozen=True)
class Description:
    """A rule in one line, and in full."""

    summary: str
    text: str


def describe(rule: str) -> Description:
    """The rule's docstring, or what the loader says of its problems; the house's own expressions have neither."""
    texts = [inspect.getdoc(RULES[rule]) or ""] if rule in RULES else []
    texts += [PROBLEM_IDS[rule]] if rule in PROBLEM_IDS else []
    if not texts:
        return Description(f"{rule}, a rule of this project", f"{rule} is written in this project's policies/*.yaml.")
    text = "\n\n".join(texts)
    first = " ".join(text.split("\n\n")[0].split())
    sentence, dot, _ = first.partition(". ")
    return Description(sentence + dot.strip(), text)
