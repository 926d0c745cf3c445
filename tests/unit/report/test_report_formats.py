"""Test a report in every format, the timelines, and what changed since the previous audit."""

from __future__ import annotations

import io
import json as stdlib_json
import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import jsonschema
import pytest
from markdown_it import MarkdownIt
from rich.cells import cell_len
from rich.console import Console

from tests.support import reports
from tests.support.reports import partition
from topicwarden.audit.access_checks import ACCESS_CHECKS
from topicwarden.audit.check_docs import check_docs
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.evidence import CommittedCounts, Compared
from topicwarden.audit.history.outcomes import revision, with_changes
from topicwarden.cli.schema import SCHEMAS
from topicwarden.model.finding import OF_CLUSTER, AuditReport, Finding, PastAudit, PastFinding, TopicFacts
from topicwarden.model.problem import Refusal
from topicwarden.model.verdict import WORST_FIRST, Verdict
from topicwarden.report import display, terminal
from topicwarden.report.audit import formats, openmetrics
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.digest import OF_CONTENTS, OF_ORDER, digest
from topicwarden.report.audit.document import document
from topicwarden.report.audit.formats import FORMATS, html, json
from topicwarden.report.audit.topic_details import timeline
from topicwarden.report.document import Medium
from topicwarden.report.page import filter_script

# The output of every format for one report, and that records and names are always escaped.


def printed(report: AuditReport, width: int | None = None) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=width is not None, color_system=None)
    terminal.write(document(report, Medium.TERMINAL), console)
    return out.getvalue()


def test_the_worst_comes_first_with_a_summary() -> None:
    view = digest(reports.rich())
    severities = [WORST_FIRST.index(topic.verdict) for topic in view.topics]
    assert severities == sorted(severities)
    assert view.topics[0].verdict is Verdict.FAIL
    assert view.headline == "6 of 12 topics passed all checks; 5 need attention; 1 could not be decided."
    assert view.summary == "12 topics, 51,789,485 records in 4.2 s: 3 fail, 2 suspect, 1 undecidable, 67 pass"
    assert [t.absence for t in view.topics if t.absence] == ["not on the cluster", "not declared"]


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        ([], "No topics were audited."),
        ([Verdict.PASS], "The topic passed all checks."),
        ([Verdict.PASS] * 2, "All 2 topics passed all checks."),
        ([Verdict.PASS, Verdict.SUSPECT], "1 of 2 topics passed all checks; 1 needs attention."),
        ([Verdict.UNDECIDABLE], "0 of 1 topic passed all checks; 1 could not be decided."),
    ],
)
def test_the_summary_is_one_sentence(verdicts: list[Verdict], sentence: str) -> None:
    topics = [reports.topic(f"a.t{n}", [1]) for n in range(len(verdicts))]
    findings = [Finding(check="c", verdict=v, topic=t.name) for v, t in zip(verdicts, topics, strict=True)]
    assert digest(reports.report(topics, findings)).headline == sentence


def test_a_finding_on_a_topic_without_facts_is_not_lost() -> None:
    report = reports.report([], [Finding(check="c", verdict=Verdict.FAIL, topic="ghost", message="seen nowhere")])
    assert "fail c ghost: seen nowhere" in printed(report, 80)
    assert "seen nowhere" in FORMATS["markdown"](report, ReportBackground())
    assert "seen nowhere" in html(report)


def test_a_finding_on_the_access_of_the_cluster_is_in_every_format_and_counts_as_no_topic() -> None:
    finding = Finding(check="acl-drift", verdict=Verdict.FAIL, topic=OF_CLUSTER, message="an ACL is missing")
    report = reports.report([reports.topic("a.t1", [1])], [finding])
    view = digest(report)
    assert view.headline == "The topic passed all checks; the access of the cluster needs attention."
    assert view.summary.startswith("1 topic, ")
    assert [domain.topics for domain in view.domains] == [1]
    for name, content in formats.contents(report, ReportBackground()).items():
        assert OF_CLUSTER in content, name
    assert "fail acl-drift (cluster): an ACL is missing" in printed(report, 80)
    metrics = openmetrics.render(report)
    assert 'topicwarden_audit_topics{stack="prod",verdict="fail"} 0' in metrics
    assert 'topic_info{stack="prod",topic="(cluster)"' not in metrics


@pytest.mark.parametrize("width", [80, 140])
def test_terminal_output_fills_the_width(width: int) -> None:
    lines = printed(reports.rich(), width).splitlines()
    # The last line is never wrapped, for grep.
    assert max(map(cell_len, lines[:-1])) <= width
    assert "    declared  topics/orders/orders.state.v1.yaml:7:19" in lines
    assert any(line.startswith("fail compaction-lag orders.state.v1 [0, 2]: A superseded record") for line in lines)
    assert any(line.startswith("note compaction-ratio stock.levels.v1 [0, 1]: 3,111 keys") for line in lines)
    assert lines[-1] == digest(reports.rich()).summary


def test_findings_with_the_same_missing_evidence_are_one_entry_on_a_terminal() -> None:
    checks, topics = ("retention-size", "retention-time", "null-key"), [f"t{n:02}" for n in range(12)]
    hidden = "the brokers did not return the topic's configuration"
    findings = [
        Finding(check=check, verdict=Verdict.UNDECIDABLE, topic=topic, message=hidden, remedy="grant DescribeConfigs")
        for topic in topics
        for check in checks
    ]
    other = findings[0].model_copy(update={"message": "this user may not read the records"})
    failed = [reports.rich().findings[0].model_copy(update={"topic": topic}) for topic in topics[:2]]
    out = printed(reports.report([reports.topic(name, [1]) for name in topics], [*findings, other, *failed]), 100)
    entries = [line for line in out.splitlines() if line.startswith(("undecidable", "fail"))]
    assert len(entries) == 4
    assert f"undecidable 3 checks of 12 topics: {hidden}" in entries
    assert "undecidable retention-size t00: this user may not read the records" in entries
    assert re.search(r"^ +checks +retention-size, retention-time, null-key$", out, re.MULTILINE)
    assert re.search(r"^ +topics +t00, t01, .*, t09 and 2 more topics$", out, re.MULTILINE)
    assert out.count("grant DescribeConfigs") == 2


def test_the_command_for_an_undeclared_cluster_has_the_settings_of_the_audit() -> None:
    update = {"declared": False, "stack": "kafka:9092"}
    command = "topicwarden import --files-only --bootstrap-server kafka:9092"
    plain = reports.rich().model_copy(update=update)
    assert digest(plain).next_step.endswith(command)
    assert "--command-config" not in printed(plain)
    secured = plain.model_copy(update={"command_config": "/etc/my kafka/client.properties"})
    assert digest(secured).next_step.endswith(f"{command} --command-config '/etc/my kafka/client.properties'")


def test_a_fail_of_single_records_has_the_command_that_copies_them() -> None:
    fail, other, suspect = (
        Finding(check=check, verdict=verdict, topic="orders", message="m")
        for check, verdict in (
            ("null-key", Verdict.FAIL),
            ("config-drift", Verdict.FAIL),
            ("value-schema", Verdict.SUSPECT),
        )
    )
    report = reports.rich().model_copy(update={"findings": []})
    report = AuditReport.model_validate({**report.model_dump(), "findings": [fail, other, suspect]})
    command = f"topicwarden redrive --stack {report.stack} --finding {report.findings[0].id} --to TOPIC"
    for text in (printed(report, 200), FORMATS["markdown"](report, ReportBackground()), html(report)):
        assert (command in text, text.count("redrive --stack")) == (True, 1)
    undeclared = report.model_copy(update={"declared": False})
    assert "redrive" not in printed(undeclared)


def test_a_cell_below_its_row_has_the_heading_that_only_a_wide_table_has() -> None:
    narrow, wide = (printed(reports.rich(), width).splitlines() for width in (80, 140))
    heading = "Timestamps (UTC)"
    assert any(heading in line and "skew" in line for line in wide)
    assert any(re.match(f" +{re.escape(heading)}: 20[0-9-]+ [0-9:]+ ", line) for line in narrow)


def test_many_topics_are_folded_except_those_that_need_attention() -> None:
    lines = printed(reports.thousand(), width=100).splitlines()
    assert sum("entity-" in line and line.startswith("✗ fail") for line in lines) == 50
    assert [line.split()[:8] for line in lines if line.startswith("✓")] == [
        ["✓", "pass", "950", "topics", "that", "passed", "all", "checks"]
    ]
    assert sum(line.startswith("fail retention-time domain") for line in lines) == 10
    assert "fail retention-time: 40 more findings; --format json and the files of --out have all" in lines


@pytest.mark.parametrize(
    ("log_bytes", "payload_bytes", "shown"),
    [
        ([None] * 12, [2048] * 12, "passed all checks 12 120 24.0 KiB 24.0 KiB"),
        ([1024, *[None] * 11], [2048] * 12, "passed all checks 12 120 24.0 KiB 23.0 KiB"),
        ([None] * 12, [None] * 12, "passed all checks 12 120 – –"),
        (
            [None] * 12,
            [2048, *[None] * 11],
            "passed all checks 12 120 at least 2.0 KiB at least 2.0 KiB",
        ),
    ],
    ids=["the payload in place of the size", "one size", "nothing known", "one payload"],
)
def test_the_row_of_many_topics_has_no_zero_for_unknown_sizes(
    log_bytes: list[int | None], payload_bytes: list[int | None], shown: str
) -> None:
    topics = [
        reports.topic(f"a.{number}", [10]).model_copy(
            update={"partitions": [partition(0, 10, log_bytes=size, payload_bytes=payload)]}
        )
        for number, (size, payload) in enumerate(zip(log_bytes, payload_bytes, strict=True))
    ]
    findings = [Finding(check="value-schema", topic=each.name, verdict=Verdict.PASS) for each in topics]
    assert shown in " ".join(printed(reports.report(topics, findings), width=140).split())


def test_topics_of_other_teams_do_not_hide_what_is_wrong_with_declared_ones() -> None:
    others = [reports.topic(f"a.{number:03}", [0], declared=False) for number in range(300)]
    findings = [
        Finding(check="topic-undeclared", topic=each.name, verdict=Verdict.FAIL, message="not declared")
        for each in others
    ]
    wrong = Finding(check="value-schema", topic="z", verdict=Verdict.FAIL, message="not json as declared")
    report = reports.report([*others, reports.topic("z", [1])], [*findings, wrong])
    assert digest(report).topics[0].name == "z"
    lines = printed(report, width=100).splitlines()
    assert [line.split()[:3] for line in lines if line.startswith("✗ fail")] == [
        ["✗", "fail", "z"],
        ["✗", "fail", "300"],
    ]
    assert "300 topics that are on the cluster, but not declared" in "\n".join(lines)
    assert next(line.split()[1] for line in lines if line.startswith("fail ")) == "value-schema"


def test_a_pipe_gets_whole_rows_without_colour_or_control(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    out = printed(reports.rich())
    assert "\x1b" not in out
    assert "\u202e" not in out
    (row,) = (line for line in out.splitlines() if "web.clicks.v1 " in line)
    assert row.split()[-5:] == ["24", "48,273,516", "2.7", "GiB", "1.01×"]
    assert max(map(cell_len, out.splitlines())) <= 120


def test_a_terminal_without_unicode_gets_ascii() -> None:
    raw = io.BytesIO()
    console = Console(file=io.TextIOWrapper(raw, encoding="ascii", write_through=True), width=80)
    terminal.write(document(reports.rich(), Medium.TERMINAL), console)
    assert b"x fail" in raw.getvalue()


def test_every_format_tells_what_was_settled_and_what_limits_the_audit() -> None:
    report = reports.rich()
    limits = digest(report).limits
    assert [limit.split()[0] for limit in limits] == ["This", "95.12%", "Retention", "The"]
    # A full audit that read the same records does not count.
    assert "; earlier audits with --since last had read " in limits[0]
    seen = printed(report, 400)
    marked = FORMATS["markdown"](report, ReportBackground())
    page = html(report)
    for limit in limits[:3]:
        assert f"limit {limit}" in seen
        assert f"- {limit}" in marked
        assert f"<li>{limit}</li>" in page
    assert (
        "now fail compaction-lag orders.state.v1 [0, 2]: was suspect at 2025-10-08T08:53:20Z: it is still present"
        in seen
    )
    assert (
        "<b>now fail</b> <b>compaction-lag orders.state.v1 &#91;0, 2&#93;:</b> was suspect at "
        "<code>2025-10-08T08:53:20Z</code>: it is still present" in marked
    )
    assert "the record at 17 was deleted" in page
    assert "At the audit of <code>2025-10-08T08:53:20Z</code>, 10 of 13 topics passed." in marked


def test_a_complete_audit_has_no_notes() -> None:
    assert digest(reports.empty()).limits == []
    assert "limit" not in printed(reports.empty())


def test_domains_and_owners_with_findings_come_first() -> None:
    view = digest(reports.rich())
    assert [(group.name, group.topics) for group in view.domains][:3] == [
        ("orders", 3),
        ("customers", 1),
        ("payments", 2),
    ]
    assert [group.name for group in view.owners] == ["", "team-orders", "team-payments"]


def test_findings_above_the_page_limit_are_counted() -> None:
    found = [Finding(check=f"c{n}", verdict=Verdict.FAIL, topic="a.t", message="m") for n in range(1_200)]
    page = html(reports.report([reports.topic("a.t", [1])], found))
    assert page.count('<details class="finding') == 1_000
    assert page.count('<details class="finding fail" open>') == 20
    assert "and 200 more findings; report.json has all" in page


def test_json_follows_the_published_schema_and_reads_back() -> None:
    schema = SCHEMAS["report"]()
    jsonschema.Draft202012Validator.check_schema(schema)
    for report in (reports.rich(), reports.empty()):
        jsonschema.validate(stdlib_json.loads(json(report)), schema, jsonschema.Draft202012Validator)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"stack": "prod"}, schema)
    read = AuditReport.model_validate_json(json(reports.rich()))
    assert read.counts() == reports.rich().counts()


def test_json_and_markdown_do_not_depend_on_the_order_of_finding() -> None:
    report = reports.rich()
    turned = report.model_copy(update={"topics": report.topics[::-1], "findings": report.findings[::-1]})
    assert json(turned) == json(report)
    assert FORMATS["markdown"](turned, ReportBackground()) == FORMATS["markdown"](report, ReportBackground())


def test_markdown_escapes_hostile_text() -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(FORMATS["markdown"](reports.rich(), ReportBackground()))
    # markdown-it drops excess cells of a row, so text is lost if a character splits a cell.
    lines = [
        line for line in FORMATS["markdown"](reports.rich(), ReportBackground()).splitlines() if line.startswith("|")
    ]
    assert {len(re.findall(r"(?<!\\)\|", line)) - 1 for line in lines} == {6, 8}
    assert sum(token.type == "tr_open" for token in tokens) == len(lines) - 3
    inline = [child for token in tokens for child in token.children or []]
    assert not {child.type for child in inline} & {"link_open", "image", "code_inline"}
    tags = {child.content for child in inline if child.type == "html_inline"}
    assert tags <= {"<code>", "</code>", "<b>", "</b>", "<sub>", "</sub>"}
    cells = ["".join(c.content for c in token.children or []) for token in tokens if token.type == "inline"]
    assert reports.SCRIPT in cells
    blocks = "".join(token.content for token in tokens if token.type == "html_block")
    assert "<script" not in blocks
    assert "<img" not in blocks


def test_html_escapes_every_text() -> None:
    page = html(reports.rich())
    script = str(filter_script()[0])
    (at,) = [match.start() for match in re.finditer("<script", page)]
    assert page[at:].startswith(f"<script>{script}</script>\n</body>")
    assert "<img" not in page
    assert "\x1b" not in page
    assert "<\\/" not in page.replace(script, "")
    assert "{{ 7*7 }}" in page
    assert "http://" not in page.replace("http://www.w3.org/", "").replace("[link](http://x)", "")


def test_out_of_range_times_and_topics_without_partitions_are_shown() -> None:
    page = html(reports.rich())
    assert "1760000000000000 (year 57742)" in page
    assert "1969-12-31T00:00:00Z" in page
    assert "-1 (no timestamp)" in page
    assert "customers.profile.v3" in page.split('id="details"')[1]


def test_a_page_of_1_000_topics_opens() -> None:
    page = html(reports.thousand())
    assert len(page.encode()) < 1_000_000
    assert page.count("<tr data-topic=") == 1_000
    assert page.count("<details data-topic=") == 100
    assert "And the details of 900 more topics; report.json has all." in page
    assert set(re.findall('href="#(topic-[^"]+)"', page)) == set(re.findall('id="(topic-[^"]+)"', page))
    assert "The plot shows 20 of 1,000 topics" in page
    assert re.search("and [0-9,]+ more partitions?; report.json has all", page)


def test_wide_topics_keep_their_plots_small() -> None:
    topics = [reports.topic(f"a.t{n}", [(p * 7919) % 10_007 for p in range(1_000)]) for n in range(20)]
    assert len(html(reports.report(topics, [])).encode()) < 3_000_000


def test_files_are_written_whole_and_replaced(tmp_path: Path) -> None:
    out = tmp_path / "new" / "reports"
    formats.write(reports.rich(), out)
    paths = formats.write(reports.empty(), out)
    assert [path.name for path in paths] == [
        f"report.{kind}" for kind in ("html", "md", "json", "sarif", "xml", "prom")
    ]
    assert sorted(path.name for path in out.iterdir()) == sorted(path.name for path in paths)
    assert AuditReport.model_validate_json(paths[2].read_bytes()).topics == []


def test_a_read_only_location_is_refused(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine")
    for folder in (taken, taken / "below"):
        with pytest.raises(Refusal, match="--out"):
            formats.write(reports.empty(), folder)
    assert taken.read_text() == "mine"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (display.size(0), "0 B"),
        (display.size(1_048_575), "1.0 MiB"),
        (display.size(-2_048), "-2.0 KiB"),
        (display.duration(59_999), "60 s"),
        (display.duration(93_600_000), "1 d 2 h"),
        (display.duration(-3_600_000), "-1 h"),
        (display.timestamp(-62_135_596_800_000), "0001-01-01T00:00:00Z"),
        (display.timestamp(10**18), "1000000000000000000 (year 31690708)"),
        (display.span(0, 60_000), "1970-01-01 00:00 – 00:01"),
        (display.short_count(999_999), "999k"),
        (display.ranges([5, 3, 4, 9, 0]), "0, 3-5, 9"),
        (display.age(None, 0), "in the future"),
        (display.age(-7_200_000, -3_600_000), "1 h – 2 h ahead"),
        (display.age(0, 3_600_000), "under 1 h"),
        (display.age(86_400_000, None), "over 1 d"),
        (display.evidence("retention.ms", 604_800_000), "604800000 (7 d)"),
        (display.evidence("largest_timestamp", 1_760_000_000_000), "1760000000000 (2025-10-09T08:53:20Z)"),
        (display.evidence("offset", 1_760_000_000_000), "1760000000000"),
        (display.shorten("orders.placed.v1", 9), "orde…d.v1"),
    ],
)
def test_units(shown: str, expected: str) -> None:
    assert shown == expected


def test_an_empty_topic_has_no_skew_and_no_ages() -> None:
    topics: list[TopicFacts] = [reports.topic("a.empty", [0, 0], [0, 0])]
    assert "there is no skew to show" in html(reports.report(topics, []))


# What a report says of the previous audit: what is new, still open and resolved.

FAIL = Verdict.FAIL
EARLIER = PastAudit(
    started=2_000,
    topics={FAIL: 2},
    findings=[
        PastFinding(topic="a", check="config-drift", verdict=FAIL, since=1_000),
        PastFinding(topic="b", check="value-schema", verdict=FAIL, since=2_000),
        PastFinding(topic="not-audited", check="value-schema", verdict=FAIL, since=2_000),
    ],
)


def report(*findings: Finding) -> AuditReport:
    topics = [reports.topic(name, [1]) for name in ("a", "b")]
    return reports.report(topics, list(findings)).model_copy(update={"started": 9_000})


FOUND = report(
    Finding(check="value-schema", verdict=FAIL, topic="a", evidence={"partition": 3, "offset": 17}),
    Finding(check="config-drift", verdict=FAIL, topic="a"),
    Finding(check="value-schema", verdict=Verdict.PASS, topic="b"),
)


def test_a_finding_is_new_or_still_open_and_what_passes_now_is_resolved() -> None:
    changed = with_changes(FOUND, [EARLIER])
    assert [finding.since for finding in changed.findings] == [9_000, 1_000, None]
    assert [(each.topic, each.check) for each in changed.resolved] == [("b", "value-schema")]
    assert changed.trend == [EARLIER.model_copy(update={"findings": None})]


def test_markdown_names_what_was_resolved_and_withdrawn() -> None:
    marked = FORMATS["markdown"](with_changes(FOUND, [EARLIER]), ReportBackground())
    assert "## Resolved since the last audit" in marked
    assert "✓ pass <b>value-schema b:</b> was fail since <code>1970-01-01T00:00:02Z</code>" in marked
    assert "Withdrawn" not in marked
    ended = FOUND.model_copy(update={"withdrawn": with_changes(FOUND, [EARLIER]).resolved})
    marked = FORMATS["markdown"](ended, ReportBackground())
    assert "## Withdrawn since the last audit\n\nwithdrawn <b>value-schema b:</b> was fail since" in marked
    assert "Resolved" not in marked


@pytest.mark.parametrize("now", [Verdict.UNDECIDABLE, Verdict.PASS, None])
def test_what_an_earlier_revision_of_a_check_found_is_withdrawn(now: Verdict | None) -> None:
    earlier = PastAudit(
        started=1_000,
        topics={FAIL: 1},
        findings=[PastFinding(topic="a", check="key-partition", verdict=FAIL, since=1_000)],
    )
    current = report(*([Finding(check="key-partition", verdict=now, topic="a")] if now else []))
    changed = with_changes(current, [earlier])
    assert ([each.check for each in changed.withdrawn], changed.resolved) == (["key-partition"], [])
    assert "Withdrawn since the last audit" in html(changed, ReportBackground())
    failing = with_changes(report(Finding(check="key-partition", verdict=FAIL, topic="a")), [earlier])
    assert (failing.withdrawn, failing.resolved) == ([], [])
    assert earlier.findings
    known = earlier.findings[0].model_copy(update={"revision": revision("key-partition")})
    again = with_changes(current, [earlier.model_copy(update={"findings": [known]})])
    assert (again.withdrawn, len(again.resolved)) == ([], 0 if now is Verdict.UNDECIDABLE else 1)


def test_what_an_audit_did_not_read_again_is_not_resolved() -> None:
    assert with_changes(FOUND, [EARLIER], {("b", "value-schema")}).resolved == []


def test_without_an_earlier_audit_nothing_is_new() -> None:
    for earlier in ([], [EARLIER.model_copy(update={"findings": None})]):
        changed = with_changes(FOUND, earlier)
        assert [finding.since for finding in changed.findings] == [None, None, None]
        assert changed.resolved == []


def test_the_trend_counts_the_topics_of_each_audit_by_itself() -> None:
    of_cluster = Finding(check="unused-access", verdict=FAIL, topic=OF_CLUSTER)
    earlier = PastAudit(started=4_000, topics={Verdict.PASS: 2})
    page = html(report(FOUND.findings[0], of_cluster).model_copy(update={"trend": [earlier]}))
    assert "2 of 2 topics passed; now 1 of 2 pass. Each column is an audit, the latest one last;" in page


def test_the_page_marks_them_and_shows_how_to_confirm_them() -> None:
    confirm = "Confirm: ``kafka-x --topic T --partition P --offset O --max-messages 1``\nprints it."
    docs = {"value-schema": f"Sentence.\n\n{confirm}"}
    page = html(with_changes(FOUND, [EARLIER]), ReportBackground(checks=docs))
    assert "open since 1970-01-01" in page
    assert ">new</span>" in page
    assert "Resolved since the last audit" in page
    assert "<code>kafka-x --topic a --partition 3 --offset 17 --max-messages 1</code> prints it." in page


def test_no_check_shows_a_backtick_or_a_letter_in_place_of_a_name() -> None:
    docs = check_docs()
    found = [
        Finding(check=check, verdict=FAIL, topic="a", message=f"`{check}` failed", evidence={"group": "billing"})
        for check in docs
    ]
    page = html(report(*found), ReportBackground(checks=docs))
    text = re.sub("<script>.*</script>", "", page, flags=re.DOTALL)
    assert "`" not in text
    assert "--group billing" in text
    assert not re.search("--(topic [A-Z]|group [A-Z])[ <]", text)


def test_times_are_dates_in_every_format_for_people() -> None:
    for text in (
        printed(reports.rich(), 140),
        FORMATS["markdown"](reports.rich(), ReportBackground()),
        html(reports.rich()),
    ):
        assert len(re.findall(r"1[67]\d{11} \(20\d\d-", text)) >= 2  # the exact value of evidence, with its date
        assert re.findall(r"(?<![\d.])1[67]\d{11}(?! \(20\d\d-)(?!\d)", text) == []


def test_the_page_begins_with_a_card_for_each_verdict() -> None:
    cards = re.findall('<div class="total ([a-z]+)">', html(reports.rich()))
    assert cards == ["fail", "suspect", "undecidable", "pass"]


def test_records_that_are_lost_come_before_what_producers_write() -> None:
    assert [finding.check for finding in digest(FOUND).topics[0].findings] == ["config-drift", "value-schema"]
    only_contents = Finding(check="value-schema", verdict=FAIL, topic="a")
    drift = Finding(check="retention-blocked", verdict=FAIL, topic="b")
    assert [topic.name for topic in digest(report(only_contents, drift)).topics] == ["b", "a"]


def test_what_is_to_be_tidied_up_comes_last() -> None:
    checks = ["idle-topic", "null-key", "unused-access", "retention-blocked"]
    in_one = digest(report(*(Finding(check=check, verdict=FAIL, topic="a") for check in checks))).topics[0]
    assert [each.check for each in in_one.findings] == ["retention-blocked", "null-key", "idle-topic", "unused-access"]
    in_several = (Finding(check=check, verdict=FAIL, topic=f"t.{check}") for check in checks)
    assert [topic.name for topic in digest(report(*in_several)).topics[:4]] == [
        *("t.retention-blocked", "t.null-key", "t.idle-topic", "t.unused-access"),
    ]
    assert {*CHECKS, *ACCESS_CHECKS} >= OF_ORDER


def test_the_checks_of_contents_are_those_that_judge_committed_records() -> None:
    of_records = (CommittedCounts, Compared)
    assert {name for name, check in CHECKS.items() if issubclass(check.Required, of_records)} == OF_CONTENTS


# The timelines of a report, and that the work to write a report grows linearly with the number of topics.


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, []),
        ({"rolled": 600}, [("rolled", 0, 600), ("open", 600, 1_000)]),
        ({"rolled": 600, "cleanable": 200}, [("cleanable", 0, 200), ("rolled", 200, 600), ("open", 600, 1_000)]),
        ({"rolled": 600, "overdue": 600}, [("overdue", 0, 600), ("open", 600, 1_000)]),
        ({"rolled": 0, "log_start": 400}, [("open", 400, 1_000)]),
        ({"last_stable": 700}, [("unstable", 700, 1_000)]),
        ({"rolled": 900, "last_stable": 700}, [("rolled", 0, 700), ("unstable", 700, 1_000)]),
        ({"rolled": 5_000, "last_stable": None}, [("rolled", 0, 1_000)]),
    ],
)
def test_offset_ranges_cover_only_known_offsets(known: dict[str, object], expected: list[tuple[str, int, int]]) -> None:
    line = timeline(partition(0, 1_000, **known))
    assert line is not None
    assert line.ranges == expected


@pytest.mark.parametrize("known", [{"log_start": None}, {"log_end": None}, {"log_start": 1_000}])
def test_an_empty_or_unknown_log_has_no_line(known: dict[str, object]) -> None:
    assert timeline(partition(0, 1_000, **known)) is None


def test_findings_mark_their_offsets_on_their_own_partition_alone() -> None:
    def finding(partitions: list[int], **evidence: int | str) -> Finding:
        return Finding(check="c", verdict=Verdict.FAIL, topic="t", partitions=partitions, evidence=evidence)

    found = [
        finding([0], offset=10, superseded_by=250, records=300),
        finding([0, 1], offset=20, partition=0),
        finding([0, 1], offset=30, partition=1),
        finding([0, 1], offset=40),
        finding([0], blocking_offset=5_000, offset="none"),
        finding([0], found_offset=250),
    ]
    line = timeline(partition(0, 1_000), found)
    assert line is not None
    assert [(offset, names, line.percent(offset)) for offset, names in line.marks] == [
        (10, "c: offset", "1.0%"),
        (20, "c: offset", "2.0%"),
        (250, "c: superseded by, c: found offset", "25.0%"),
    ]


FEW, MANY = 20, 160


def first_topics(report: AuditReport, number: int) -> AuditReport:
    topics = report.topics[:number]
    names = {topic.name for topic in topics}
    findings = [finding for finding in report.findings if finding.topic in names]
    return report.model_copy(update={"topics": topics, "findings": findings})


@pytest.mark.parametrize("form", FORMATS)
def test_check_scales_linearly_with_topics(form: str) -> None:
    whole = reports.thousand()

    def executed_lines(report: AuditReport) -> int:
        lines = 0

        def trace(_frame: FrameType, event: str, _argument: object) -> Any:
            nonlocal lines
            lines += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            FORMATS[form](report, ReportBackground())
        finally:
            sys.settrace(before)
        return lines

    executed_lines(first_topics(whole, FEW))  # imports and templates
    few, many = (executed_lines(first_topics(whole, number)) for number in (FEW, MANY))
    assert many < 10 * few
