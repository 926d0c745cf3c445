"""Write problems as JUnit XML for build servers: one test case per file."""

from __future__ import annotations

from io import BytesIO
from itertools import groupby
from pathlib import PurePosixPath

from junitparser import Attr, Failure, JUnitXml, TestCase, TestSuite

from topicwarden.model.message_text import counted
from topicwarden.model.problem import Level, Problem
from topicwarden.report.display import printable
from topicwarden.report.problems.digest import ProblemDigest


class _FileCase(TestCase):
    file = Attr("file")


def render(page: ProblemDigest) -> str:
    """Return the JUnit report. A file without errors passes; its warnings are in ``system-out``."""
    problems = {file: list(group) for file, group in groupby(page.problems, lambda problem: problem.location.file)}
    suite = TestSuite("topicwarden check")
    suite.add_testcases([_case(file, problems.get(file, [])) for file in sorted({*page.files, *problems})])
    report = JUnitXml("topicwarden")
    report.add_testsuite(suite)
    return xml_text(report)


def _case(file: str, problems: list[Problem]) -> TestCase:
    path = PurePosixPath(file)
    case = _FileCase(path.name, str(path.parent).replace("/", "."), 0)
    case.file = file
    errors = [problem for problem in problems if problem.level is Level.ERROR]
    warnings = [problem for problem in problems if problem.level is not Level.ERROR]
    if errors:
        # Only one failure per test case, because Jenkins and GitLab show only the first.
        failure = Failure(counted(len(errors), "error"), errors[0].rule)
        failure.text = _lines(errors)
        case.result = [failure]
    if warnings:
        case.system_out = _lines(warnings)
    return case


def _lines(problems: list[Problem]) -> str:
    return "\n".join(printable(str(problem)) for problem in problems)


def xml_text(tree: JUnitXml) -> str:
    """Return the whole file, with its XML declaration."""
    file = BytesIO()
    tree.write(file)
    return file.getvalue().decode("utf-8") + "\n"
