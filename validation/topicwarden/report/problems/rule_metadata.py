"""The documentation of each rule, for formats that describe rules separately from results."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from topicwarden.policies.rules import RULES
from topicwarden.specs.problem_ids import PROBLEM_IDS


@dataclass(frozen=True)
class Description:
    """The documentation of a rule: a summary in one sentence, and the full text."""

    summary: str
    text: str


def describe(rule: str) -> Description:
    """Return the documentation of a rule: its docstring, or the loader's description of its problems.

    Expressions of the project itself have neither, and get a generic text.
    """
    texts = [inspect.getdoc(RULES[rule]) or ""] if rule in RULES else []
    texts += [PROBLEM_IDS[rule]] if rule in PROBLEM_IDS else []
    if not texts:
        return Description(f"{rule}, a rule of this project", f"{rule} is written in this project's policies/*.yaml.")
    text = "\n\n".join(texts)
    first = " ".join(text.split("\n\n")[0].split())
    sentence, dot, _ = first.partition(". ")
    return Description(sentence + dot.strip(), text)
