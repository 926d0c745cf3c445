"""Problems as JUnit XML, which every build server shows: a test case a file."""

from __future__ import annotations

from itertools import groupby
from pathlib import PurePosixPath

from junitparser import Attr, Failure, JUnitXml, TestCase, TestSuite

from topicwarden.model.problem import Level, Problem
from topicwarden.report.display import printable
from topicwarden.report.junit_xml import text_of
from topicwarden.report.problems.digest import ProblemDigest, many


class _FileCase(TestCase):
    file = Attr("file")


def render(page: ProblemDigest) -> str:
    """A file passes without errors; its warnings are what it said (``system-out``)."""
    problems = {file: list(found) for file, found in groupby(page.problems, lambda problem: problem.location.file)}
    suite = TestSuite("topicwarden check")
    for file in sorted({*page.files, *problems}):
        suite.add_testcase(_case(file, problems.get(file, [])))
    report = JUnitXml("topicwarden")
    report.add_testsuite(suite)
    return text_of(report)


def _case(file: str, problems: list[Problem]) -> TestCase:
    path = PurePosixPath(file)
    case = _FileCase(path.name, str(path.parent).replace("/", "."), 0)
    case.file = file
    errors = [problem for problem in problems if problem.level is Level.ERROR]
    warnings = [problem for problem in problems if problem.level is not Level.ERROR]
    if errors:
        # One element a case: the format's readers (Jenkins, GitLab) show only the first.
        failure = Failure(many(len(errors), "error"), errors[0].rule)
        failure.text = _lines(errors)
        case.result = [failure]
    if warnings:
        case.system_out = _lines(warnings)
    return case


def _lines(problems: list[Problem]) -> str:
    return "\n".join(printable(str(problem)) for problem in problems)
