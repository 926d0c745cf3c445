"""Test the output of every format for one plan, and that names and messages are always escaped."""

from __future__ import annotations

import io
import json as stdlib_json
import random
import re
from pathlib import Path

import jsonschema
import pytest
from markdown_it import MarkdownIt
from rich.cells import cell_len
from rich.console import Console

from tests.unit.report import plans
from topicwarden.cli.schema import SCHEMAS
from topicwarden.model.planned_change import (
    AccessKind,
    AccessPlan,
    Action,
    Consequence,
    PlanReport,
    Severity,
    TopicPlan,
)
from topicwarden.report import terminal
from topicwarden.report.document import Medium
from topicwarden.report.markdown import LIMIT
from topicwarden.report.plan import FORMATS, render
from topicwarden.report.plan.digest import digest
from topicwarden.report.plan.document import document, marker
from topicwarden.report.plan.tables import live_value, value


def printed(report: PlanReport, console: Console | None = None) -> str:
    if console is None:
        return render(report, "text")
    with console.capture() as captured:
        terminal.write(document(report, Medium.TERMINAL), console)
    return captured.get()


@pytest.mark.parametrize("form", FORMATS)
def test_the_whole_output(form: str) -> None:
    """After a change of wording, run ``.venv/bin/python -m tests.unit.report.plans`` and review the diff."""
    assert render(plans.rich(), form) == (plans.EXPECTED / f"{form}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("form", FORMATS)
def test_formats_do_not_depend_on_the_order_of_findings(form: str) -> None:
    report = plans.rich()
    turned = [topic.model_copy(update={"consequences": topic.consequences[::-1]}) for topic in report.topics[::-1]]
    assert render(report.model_copy(update={"topics": turned}), form) == render(report, form)


def test_json_follows_its_schema_and_reads_back() -> None:
    for report in (plans.rich(), plans.empty(), plans.failed()):
        drawn = render(report, "json")
        jsonschema.validate(stdlib_json.loads(drawn), SCHEMAS["plan"](), jsonschema.Draft202012Validator)
        assert drawn.isascii()
        read = PlanReport.model_validate_json(drawn)
        assert (read.refused, read.counts()) == (report.refused, report.counts())


@pytest.mark.parametrize(
    ("report", "headline", "summary"),
    [
        (plans.empty(), "Nothing would change.", "no topic changes; 998 as declared"),
        (
            plans.failed(),
            "Pulumi's preview failed, so this plan is incomplete.",
            "no topic changes; 0 as declared; the preview failed",
        ),
        (
            plans.report([TopicPlan(topic="a", action=Action.CREATE)], 3),
            "1 topic changes; no danger was found.",
            "1 topic changes: 1 create; 3 as declared",
        ),
        (
            plans.report([TopicPlan(topic="a", action=Action.CREATE)], 3, unseen=["b: Describe is missing"]),
            "1 topic changes; no danger was found in the visible part of the cluster.",
            "1 topic changes: 1 create; 3 as declared; 1 not visible",
        ),
        (
            plans.report([], 3, access=plans.access()),
            "Access has a refused change, so the plan cannot be deployed.",
            "no topic changes; 3 as declared; access: 2 create, 1 update, 1 delete, 1 drift, 1 refused, 1 danger, "
            "40 as declared, 80,001 of others",
        ),
        (
            plans.report([TopicPlan(topic="a", action=Action.CREATE)], 3, access=plans.granted()),
            "1 topic changes and access changes; no danger was found.",
            "1 topic changes: 1 create; 3 as declared; access: 1 create, 0 as declared",
        ),
        (
            plans.report([TopicPlan(topic="a", action=Action.DRIFT)], 3),
            "Nothing would change.",
            "no topic changes; 1 drifted; 3 as declared",
        ),
    ],
)
def test_the_report_begins_with_a_summary_and_counts(report: PlanReport, headline: str, summary: str) -> None:
    assert (digest(report).headline, digest(report).summary) == (headline, summary)
    assert summary in printed(report).splitlines()
    assert render(report, "github").endswith(f"plan of stack prod: {summary}\n")


def test_counts_above_a_thousand_have_separators() -> None:
    counted = digest(plans.many(1_002))
    assert counted.headline == "1,002 topics need a careful review before the merge."
    assert counted.summary == "1,002 topics change: 1,002 update; 1,002 danger; 12 as declared"


@pytest.mark.parametrize("width", [80, 140])
def test_terminal_output_has_colours_and_fits_the_width(width: int) -> None:
    drawn = printed(plans.rich(), Console(file=io.StringIO(), width=width, force_terminal=True))
    lines = re.sub(r"\x1b\[[0-9;]*m", "", drawn).splitlines()
    assert "\x1b[" in drawn
    # The last line is never wrapped, for grep.
    assert max(map(cell_len, lines[:-1])) <= width
    assert any(line.startswith("  refused fewer-partitions orders.placed.v1: The topic would be") for line in lines)
    assert "    declared  topics/payments/payments.captured.v1.yaml:7:17" in lines


def test_labels_are_dim_and_what_they_label_is_not() -> None:
    drawn = printed(plans.rich(), Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard"))
    assert "\x1b[2m    remedy    \x1b[0mKeep partitions: 12" in drawn


def test_a_pipe_has_120_columns_and_neither_colour_nor_control(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    piped = printed(plans.rich(), Console(file=io.StringIO()))
    assert piped == printed(plans.rich())
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", piped)
    assert 100 < max(map(cell_len, piped.splitlines()[:-1])) <= 120


def test_a_pipe_has_the_columns_that_the_user_asks_for_and_a_file_has_120(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    piped = printed(plans.rich(), Console(file=io.StringIO()))
    assert max(map(cell_len, piped.splitlines()[:-1])) <= 80
    in_file = render(plans.rich(), "text").splitlines()
    assert 100 < max(map(cell_len, in_file[:-1])) <= 120


@pytest.mark.parametrize("columns", ["80", "120"])
def test_a_terminal_without_unicode_gets_ascii(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    assert printed(plans.rich(), Console(file=out)).isascii()


def test_a_failed_preview_comes_first_in_every_format() -> None:
    output = "kafka:index:Topic (orders.placed.v1): 50% of"
    assert printed(plans.failed()).startswith(f"pulumi {output} brokers did not answer\n")
    assert "(orders.placed.v1): 50% of brokers did not answer\n" in render(plans.failed(), "markdown")
    assert render(plans.failed(), "github").startswith(
        "::error title=pulumi preview::kafka:index:Topic (orders.placed.v1): 50%25 of%0Abrokers"
    )


def test_a_plan_that_changes_only_access_is_pending_and_may_be_refused() -> None:
    refused, granted = plans.report([], access=plans.access()), plans.report([], access=plans.granted())
    assert (refused.pending, refused.refused, refused.deployable) == (True, True, False)
    assert (granted.pending, granted.refused, granted.deployable) == (True, False, True)
    unchanged = plans.report([], access=AccessPlan(items=[], unchanged=7, foreign={AccessKind.ACL: 3}))
    assert not unchanged.pending
    assert printed(unchanged) == "no topic changes; 0 as declared; access: 7 as declared, 3 of others\n"


def test_markdown_with_many_changes_of_access_stays_below_githubs_limit() -> None:
    access = plans.access()
    many = access.model_copy(update={"consequences": access.consequences * 500, "items": access.items * 5_000})
    drawn = render(plans.many(400).model_copy(update={"access": many}), "markdown")
    assert len(drawn.encode()) <= LIMIT
    assert re.search("… and [0-9,]+ more consequences; see the job's artifact", drawn)


def test_markdown_escapes_hostile_text_and_mentions_no_user() -> None:
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(render(plans.rich(), "markdown"))
    children = [child for token in tokens for child in token.children or []]
    tags = {child.content for child in children if child.type == "html_inline"}
    assert tags <= {"<code>", "</code>", "<b>", "</b>", "<sub>", "</sub>"}
    assert not {child.type for child in children} & {"link_open", "image", "code_inline", "em_open", "s_open"}
    blocks = "".join(token.content for token in tokens if token.type == "html_block")
    assert not re.search(r"<(?!/?(details|summary|b|code)>|!-- topicwarden plan prod -->)", blocks)
    # GitHub looks for mentions, issues and emoji in all text outside of <code>.
    inline, inside = "", False
    for child in children:
        inside = child.content == "<code>" if child.type == "html_inline" else inside
        inline += "" if inside else child.content
    assert "@\u200bteam/all closes #\u200b12 | `code` *bold* <img src=x>" in inline
    assert not re.search(r"@\w|#\d|:rocket:", inline)


def test_every_row_of_every_table_has_the_cells_of_its_head() -> None:
    tables = [block.splitlines() for block in render(plans.rich(), "markdown").split("\n\n") if block.startswith("|")]
    assert len(tables) == 14
    for head, *rows in tables:
        assert {row.count("|") for row in rows} == {head.count("|")}, head


def test_the_table_of_a_comment_names_a_refused_subject() -> None:
    first_table = render(plans.rich(), "markdown").partition("\n| ")[2].partition("\n\n")[0]
    assert "| ✗ | subject <code>orders-value</code> | update: compatibility FULL → BACKWARD" in first_table


def test_a_terminal_shows_a_screen_of_many_topics_and_counts_the_others() -> None:
    report = plans.many(300, refused=40)
    drawn = printed(report, Console(file=io.StringIO(), width=100))
    assert len(re.findall("^✗ recreate", drawn, re.MULTILINE)) == 10
    assert len(re.findall("^! update", drawn, re.MULTILINE)) == 10
    refused = "✗ 30 more refused: 30 recreate\n    kinds     30 fewer-partitions\n    in        30 topics/orders\n"
    danger = "! 250 more danger: 250 update\n    kinds     250 batches-too-large, 250 retention-cut\n    in        250 "
    assert refused in drawn
    assert len(drawn.splitlines()) < 100
    assert danger in drawn
    assert "topicwarden plan --out FOLDER" in drawn
    written = render(report, "text")
    assert len(re.findall("^[✗!] ", written, re.MULTILINE)) == 300
    assert "more" not in written.partition("\n")[0]


@pytest.mark.parametrize("number", [1, 60, 400, 1_200])
def test_markdown_stays_below_githubs_limit_and_counts_what_it_cuts(number: int) -> None:
    report = plans.many(number, refused=min(number, 7))
    drawn = render(report, "markdown")
    assert len(drawn.encode()) <= LIMIT
    assert drawn.splitlines()[0] == marker("prod") == "<!-- topicwarden plan prod -->"
    rows = [line for line in drawn.splitlines() if re.match(r"\| [✗!] ", line)]
    reported = [drawn.count(f"<code>{name}</code>: ") for name in (topic.topic for topic in report.topics)]
    cut = re.search(r"^… and ([0-9,]+) more topics?", drawn, re.MULTILINE)
    assert len(rows) + (int(cut[1].replace(",", "")) if cut else 0) == number
    folded = re.search(r"^… and the details of ([0-9,]+) more topics?", drawn, re.MULTILINE)
    assert sum(reported) + (int(folded[1].replace(",", "")) if folded else 0) == number
    # Refused topics come first, whatever their names, with all their details.
    assert all(row.startswith("| ✗ ") for row in rows[: min(number, 7)])
    assert drawn.count("<summary>✗ <b>refused</b>") == min(number, 7)
    assert drawn.count("<details>") == drawn.count("</details>") == sum(reported)


def test_a_comment_is_never_too_long() -> None:
    """Names, messages and reasons have random lengths, from a fixed seed."""
    dice = random.Random(7)
    topics = []
    for number in range(40):
        topic = plans.retention_cut()
        first = topic.consequences[0].model_copy(
            update={"message": "é|" * dice.randrange(20_000), "because": ["x" * 90] * dice.randrange(300)}
        )
        topics.append(topic.model_copy(update={"topic": f"{'n' * 240}{number}", "consequences": [first]}))
    report = plans.report(topics, unseen=["@y" * dice.randrange(4_000) for _ in range(60)])
    assert len(render(report, "markdown").encode()) <= LIMIT


def test_a_project_in_a_folder_of_the_repository_is_named_from_its_root(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "kafka").mkdir()
    for form, output in (("github", "::error file=kafka/topics/orders/"), ("markdown", "<code>kafka/topics/orders/")):
        assert output in render(plans.rich(), form, tmp_path / "kafka")
        assert output not in render(plans.rich(), form)
    assert "kafka/topics" not in render(plans.rich(), "json", tmp_path / "kafka")


def test_annotations_are_sorted_by_severity() -> None:
    commands = [line.split(" ")[0] for line in render(plans.many(30, refused=3), "github").splitlines()]
    assert commands == ["::error"] * 3 + ["::warning"] * 27 + ["::notice"] * 27 + ["plan"]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (value("retention.ms", "604800000"), "7d"),
        (value("retention.ms", "604800001"), "604800001ms (7 d)"),
        (value("retention.ms", "-1"), "-1 (no limit)"),
        (value("retention.bytes", "-1"), "-1 (no limit)"),
        (value("flush.ms", str(2**63 - 1)), "unlimited"),
        (value("segment.bytes", "1073741824"), "1GiB"),
        (value("max.message.bytes", "1048588"), "1048588 (1.0 MiB)"),
        (value("max.message.bytes", "100"), "100"),
        (value("partitions", "12"), "12"),
        (value("message.timestamp.type", None), "–"),
        (value("leader.replication.throttled.replicas", ""), '""'),
        (live_value(plans.setting("segment.ms", None, None, "1000", "DEFAULT_CONFIG")), "1s (Kafka's default)"),
        (live_value(plans.setting("segment.ms", None, None, "1000")), "1s"),
        (
            live_value(plans.setting("max.message.bytes", None, None, "1048588", "DEFAULT_CONFIG")),
            "1048588 (1.0 MiB, Kafka's default)",
        ),
    ],
)
def test_values_have_human_units(shown: str, expected: str) -> None:
    assert shown == expected


def test_severities_are_those_of_the_models() -> None:
    assert digest(plans.rich()).severities == {Severity.REFUSED: 1, Severity.DANGER: 2, Severity.NOTE: 2}


def test_a_terminal_counts_many_allowances_that_nothing_needs() -> None:
    report = plans.rich()
    needed = next(each for each in report.allowances if each.needed)
    unneeded = [needed.model_copy(update={"topic": f"t{number}", "needed": False}) for number in range(300)]
    report = report.model_copy(update={"allowances": [*unneeded, needed]})
    drawn = printed(report, Console(file=io.StringIO(), width=100))
    shown = [line for line in drawn.splitlines() if line.startswith("allowed ")]
    assert len(shown) == 12
    assert "nothing in this plan" not in shown[-2]
    assert shown[-1] == "allowed 290 more changes; nothing in this plan needs them"
    assert render(report, "text").count("nothing in this plan needs it") == 300


def test_a_drifted_topic_whose_replicas_also_move_has_both_actions_in_every_format() -> None:
    refused = Consequence(kind="too-few-brokers", severity=Severity.REFUSED, message="1 broker")
    settings = [plans.setting("replication_factor", "2", "1", "1"), plans.setting("retention.ms", "7", "7", "8")]
    topics = [
        TopicPlan(topic="a", action=Action.DRIFT, settings=settings, consequences=[refused]),
        TopicPlan(topic="b", action=Action.MOVE, settings=settings[:1], consequences=[refused]),
        TopicPlan(topic="c", action=Action.DRIFT, settings=settings[1:], consequences=[refused]),
    ]
    lines = render(plans.report(topics), "text").splitlines()
    assert [line for line in lines if line.startswith("✗")] == ["✗ move, drift a", "✗ move b", "✗ drift c"]
    assert ": a (move, drift): 1 broker" in render(plans.report(topics), "github").replace("::", ": ", 2)
    assert "| move, drift: " in render(plans.report(topics), "markdown")


def test_a_deployed_topic_that_is_gone_drifts_and_moves_nothing() -> None:
    settings = [plans.setting("partitions", "2", "2", None), plans.setting("replication_factor", "2", "2", None)]
    assert TopicPlan(topic="gone", action=Action.DRIFT, settings=settings).change == "drift"


def test_reasons_that_several_consequences_of_a_topic_share_are_shown_once_for_people() -> None:
    cuts = [
        Consequence(
            kind="retention-cut", severity=Severity.REFUSED, message=f"cut {number}", because=["shared", reason]
        )
        for number, reason in enumerate(("by time", "by size"))
    ]
    topics = [TopicPlan(topic=name, action=Action.UPDATE, consequences=cuts) for name in ("a", "b")]
    for form in ("text", "markdown"):
        text = render(plans.report(topics), form)
        assert [text.count(reason) for reason in ("shared", "by time", "by size")] == [2, 2, 2], form
    assert render(plans.report(topics), "json").count("shared") == 4
