"""Test which regular expressions a broker's Java refuses. The verdicts are those of Java 17's ``Pattern.compile``."""

from __future__ import annotations

import pytest

from topicwarden.kafka_facts.java_regex import java_regex_problem

REFUSED = (
    *("[", "[]", "[^]", "[a[b]", "[[]", r"[\Q]\E", r"[a\]", "[z-a]", r"[\R]", r"[\b]", r"[\1]"),
    *("(", ")", "(a", "a)", "(*)", "(?P<n>x)", "(?<1>a)", "(?'n'a)", "(?i-s-m)", "(?"),
    *("*", "|*", "a**", "(?i)*", "(|+)", "{", "a{", "a{x}", "a{,3}", "a{1", "{2,1}"),
    *("\\", r"\y", r"\8\i", r"\x4", r"\u004", r"\0", r"\c", r"\k", r"\N", r"\p{L", r"\Qa\E\E"),
)
ACCEPTED = (
    *("[]a]", "[^]a]", "[a[b]]", "[a&&]", "[&&a]", "[a-z&&[^b]]", "[a-]", "[-a]", "[*-]", r"[\Q]\E]"),
    *("()", "(?<n>x)", "(?:a)", "(?=a)*", "(?<!a)b", "(?>a)", "(?i)a", "(?i-s:a)", "(|)*", "|", "]", "}"),
    *("^*", "a*+", "a??", "a{2}{3}", "{3}", "a{2,}?", "a{1,2}+", "java-11.*", "11.1.*", r"10\.0\..*"),
    *(
        r"\Q[",
        r"\Q[(\E",
        r"\p{IsGreek}",
        r"\pL",
        r"\x41",
        r"\x{41}",
        r"\07",
        r"\b{g}",
        r"\R",
        r"\_",
        r"\1",
        "(?x)a # [",
    ),
)


@pytest.mark.parametrize("pattern", REFUSED)
def test_a_pattern_that_java_refuses_has_a_problem(pattern: str) -> None:
    assert java_regex_problem(pattern)


@pytest.mark.parametrize("pattern", ACCEPTED)
def test_a_pattern_that_java_compiles_has_no_problem(pattern: str) -> None:
    assert java_regex_problem(pattern) is None
