"""Test report.html in a real browser: narrow and wide, light and dark, by keyboard, and without a network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from tests.support import reports, usage_reports
from tests.support.browser import chromium, expect
from tests.support.fleet_reports import small, written
from topicwarden.extensions.watch.audit_loop import WatchState
from topicwarden.extensions.watch.http_access import ListenAddress
from topicwarden.extensions.watch.http_server import serving
from topicwarden.extensions.watch.served_pages import ServedPages
from topicwarden.report.audit import formats
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.usage.formats import FORMATS as USAGE_FORMATS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LOOKS = [(400, "dark"), (1400, "light")]
EACH_LOOK = pytest.mark.parametrize(
    "page", [(width, scheme) for width in (400, 1400) for scheme in ("light", "dark")], indirect=True, ids=str
)
EACH_ONCE = pytest.mark.nightly(
    "The suite keeps each width and each colour scheme once.", stays=("(400, 'dark')", "(1400, 'light')")
)
NARROW = pytest.mark.nightly(
    "The suite keeps the narrow page; both widths have the same elements.", stays=("400-dark",)
)
WIDE = pytest.mark.nightly("The suite keeps the wide page; both widths have the same elements.", stays=("1400-light",))

# Compare every visible text with the nearest painted background behind it: WCAG 2's contrast ratio.
WEAK_TEXTS = """() => {
  const parse = c => { const m = c.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m.slice(0, 3), 1] : m };
  const linear = v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = rgb => { const [r, g, b] = rgb.map(v => linear(v / 255));
    return .2126 * r + .7152 * g + .0722 * b };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + .05) / (y + .05) };
  const behind = e => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c[3] === 1) return c.slice(0, 3) }
    return [255, 255, 255] };
  const weak = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !e.checkVisibility() || e.closest('.skip')) continue;
    seen++;
    const r = ratio(parse(getComputedStyle(e).color).slice(0, 3), behind(e));
    if (r < 4.5) weak.push([walker.currentNode.data.trim(), r.toFixed(2)]);
  }
  return { seen, weak };
}"""

# The captions or first words of the tables that are wider than the box or the paper that shows them.
WIDE_TABLES = """() => [...document.querySelectorAll('table')].filter(
  t => t.scrollWidth > t.closest('.scroll').clientWidth + 1 || t.getBoundingClientRect().right > innerWidth
).map(t => (t.caption || t).textContent.trim())"""

# The marks and labels of a plot that are outside of their figure.
OUTSIDE_OF_ITS_FIGURE = """name => {
  const figure = document.getElementById(`plot-${name}`), box = figure.getBoundingClientRect();
  return [...figure.querySelectorAll('.plot *')].filter(e => e.getBoundingClientRect().right > box.right
    || e.getBoundingClientRect().left < box.left).map(e => e.outerHTML) }"""

# The size of the smallest text of the plots, in pixels of the screen.
SMALLEST_TEXT = """() => Math.min(...[...document.querySelectorAll('.plot *')].filter(t => t.checkVisibility())
  .map(t => parseFloat(getComputedStyle(t).fontSize)))"""

STOPS = "a[href], summary, input, select, button, [tabindex='0']"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return formats.write(reports.rich(), tmp_path_factory.mktemp("report"))[0]


@pytest.fixture(params=LOOKS, ids=lambda look: f"{look[0]}-{look[1]}")
def page(request: pytest.FixtureRequest, browser: Browser, page_file: Path) -> Iterator[Page]:
    with opened(browser, page_file, *request.param) as page:
        yield page


@pytest.fixture(params=LOOKS, ids=lambda look: f"{look[0]}-{look[1]}")
def usage_page(request: pytest.FixtureRequest, browser: Browser, tmp_path: Path) -> Iterator[Page]:
    file = tmp_path / "usage.html"
    file.write_text(USAGE_FORMATS["html"](usage_reports.rich()), encoding="utf-8")
    with opened(browser, file, *request.param) as page:
        yield page


@pytest.fixture(params=[(390, "dark"), (1400, "light")], ids=lambda look: f"{look[0]}-{look[1]}")
def fleet_page(request: pytest.FixtureRequest, browser: Browser, tmp_path: Path) -> Iterator[Page]:
    file = tmp_path / "fleet.html"
    file.write_text(written(small()), encoding="utf-8")
    with opened(browser, file, *request.param) as page:
        yield page


@contextmanager
def opened(browser: Browser, page_file: Path, width: int, scheme: Literal["dark", "light"]) -> Iterator[Page]:
    """Open a page, and fail at the end if it has logged anything or sent a request."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    trouble: list[str] = []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("request", lambda requested: None if requested.url.startswith("file:") else trouble.append(requested.url))
    page.goto(page_file.as_uri())
    yield page
    context.close()
    assert trouble == []


def test_it_fits_and_shows_its_plots(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate(
        "document.documentElement.scrollWidth <= innerWidth && document.body.scrollWidth <= innerWidth"
    )
    for name in ("age", "size", "skew"):
        drawn = page.locator(f"#plot-{name} .plot").bounding_box()
        assert drawn
        assert drawn["width"] > 250
        assert drawn["height"] > 150
        assert page.evaluate(OUTSIDE_OF_ITS_FIGURE, name) == []


@pytest.mark.parametrize("page", [(390, "light"), (1400, "light")], indirect=True, ids=str)
def test_the_text_of_plots_has_12_pixels(page: Page) -> None:
    assert page.evaluate(SMALLEST_TEXT) >= 12


@pytest.mark.parametrize("page", [(1400, "light")], indirect=True, ids=str)
def test_no_table_is_wider_than_a_screen_or_paper(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate(WIDE_TABLES) == []
    print_on_a4(page)
    assert page.evaluate(WIDE_TABLES) == []


@pytest.mark.parametrize("page", [(390, "dark")], indirect=True, ids=str)
def test_the_tables_of_topics_and_findings_fit_a_phone(page: Page) -> None:
    of_an_engineer = ("Records read, by partition", "Replicas and offsets", "Records by age")
    assert [name for name in page.evaluate(WIDE_TABLES) if name not in of_an_engineer] == []


def print_on_a4(page: Page) -> None:
    """Lay out the page for paper: A4 without margins of 1 cm has 718 pixels."""
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1_000})


@EACH_ONCE
@EACH_LOOK
def test_every_text_can_be_read(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    result = page.evaluate(WEAK_TEXTS)
    assert result["weak"] == []
    assert result["seen"] > 500


@EACH_ONCE
@EACH_LOOK
def test_printed_pages_are_white(page: Page) -> None:
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(WEAK_TEXTS)["weak"] == []


@NARROW
def test_the_keyboard_reaches_everything(page: Page) -> None:
    page.locator(".topic-list summary").nth(1).press("Enter")
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    page.evaluate(f"[...document.querySelectorAll(`{STOPS}`)].forEach((e, i) => e.dataset.stop = i)")
    expected = set(
        page.evaluate(
            f"[...document.querySelectorAll(`{STOPS}`)].filter(e => e.checkVisibility()).map(e => e.dataset.stop)"
        )
    )
    page.locator("body").focus()
    reached = set()
    for _ in range(len(expected) + 5):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset.stop"))
    assert expected <= reached
    assert len(expected) > 30


@WIDE
def test_the_page_has_landmarks_and_labels_for_screen_readers(page: Page) -> None:
    tree = page.locator("body").aria_snapshot()
    for part in (
        "- banner",
        "- main",
        "- contentinfo",
        "- navigation",
        '- search "Topics"',
        'heading "Audit of stack prod" [level=1]',
    ):
        assert part in tree
    for title in ("Age of records", "Size of topics", "Skew of partitions"):
        assert f'figure "{title}"' in tree
    assert page.evaluate(
        "[...document.querySelectorAll('table')].every(t => t.caption && t.querySelector('th[scope=col]'))"
    )
    levels = [
        int(level) for level in page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => h.tagName[1])")
    ]
    assert len(levels) > 1 and all(after <= before + 1 for before, after in pairwise(levels))


@NARROW
def test_a_link_to_a_topic_opens_its_details(page: Page) -> None:
    page.locator("#topics a", has_text="orders.placed.v1").click()
    page.locator(".topic-list > details[open]").first.wait_for()
    assert "orders.placed.v1" in page.locator(".topic-list > details[open] > summary").inner_text()


@WIDE
def test_a_finding_and_its_topic_lead_to_each_other(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = false)")
    page.locator("#attention .checks a", has_text="retention-blocked").click()
    page.locator(".finding[open]").first.wait_for()
    card = page.locator(".finding[open]")
    assert "payments.captured.v1" in page.locator(".group", has=card).locator("h3").inner_text()
    assert card.locator("dt").all_inner_texts() == ["Because", "Evidence", "Remedy", "Declared"]
    page.locator(".group", has=card).locator("h3 a").click()
    page.locator(".topic-list > details[open]").first.wait_for()
    details = page.locator(".topic-list > details[open]")
    page.evaluate("document.querySelectorAll('.finding').forEach(d => d.open = false)")
    details.locator(".found a").click()
    page.locator(".finding[open]").first.wait_for()


@NARROW
def test_the_filter_narrows_every_part_and_says_so(page: Page) -> None:
    whole = page.locator("#topics tbody tr:visible").count()
    page.get_by_label("Filter topics").fill("ORDERS lag")
    assert page.locator("#topics tbody tr:visible").count() == 1
    assert page.locator("#attention .group:visible h3").all_inner_texts() == ["orders.state.v1 team-orders"]
    assert page.locator(".topic-list > details:visible").count() == 1
    assert page.locator("#filter-status").inner_text() == f"1 of {whole} topics shown in all sections below"
    page.get_by_role("button", name="Clear").press("Enter")
    expect(page.locator("#filter-status")).to_have_text("")  # the page's security policy blocks waiting by script
    page.get_by_role("combobox", name="Verdict").select_option("undecidable")
    assert page.locator("#attention .group:visible").count() == 1
    page.get_by_role("link", name="payments", exact=True).click()
    assert page.locator("#topics tbody tr:visible").count() == 2


@WIDE
def test_the_filter_finds_an_owner_and_says_where_nothing_matches(page: Page) -> None:
    total = page.locator("#topics tbody tr").count()
    field, status = page.get_by_label("Filter topics"), page.locator("#filter-status")
    field.press_sequentially("team-orders")
    assert page.locator("#topics tbody tr:visible th").all_inner_texts() == ["orders.state.v1"]
    assert not page.locator("#notes").is_visible()
    field.fill("no-such-topic")
    expect(status).to_have_text(f"No topic matches: 0 of {total} topics shown in all sections below")
    assert page.locator("main > section:visible h2").all_inner_texts()[1:] == ["Since the last audit", *OF_ALL_TOPICS]
    field.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(status).to_have_text("")
    assert page.locator("#topics tbody tr:visible").count() == total


OF_ALL_TOPICS = ["Overview", "Age, size and skew"]
"""The sections that are about all topics, whatever the filter says."""


def test_the_page_of_a_watch_keeps_its_filter_when_it_is_loaded_again(browser: Browser) -> None:
    state = WatchState("prod", 300.0, report=reports.rich())
    page = browser.new_page()
    with serving(ListenAddress("127.0.0.1", 0), ServedPages([state], ReportBackground(), lambda: True)) as address:
        page.goto(f"http://127.0.0.1:{address.port}/report")
        page.get_by_label("Filter topics").fill("ORDERS lag")
        with page.expect_navigation(timeout=20_000):  # by itself, after 5 seconds
            pass
        expect(page.get_by_label("Filter topics")).to_have_value("ORDERS lag")
        assert page.locator("#topics tbody tr:visible").count() == 1
    page.close()


@NARROW
def test_a_log_has_a_timeline_and_a_description(page: Page) -> None:
    page.locator(".topic-list summary", has_text="orders.state.v1").click()
    track = page.locator(".topic-list > details[open] .track").nth(1)
    assert track.get_attribute("aria-label") == (
        "partition 1, offsets 0 to 26,650; 0 to 14,650 ready for log compaction; 14,650 to 19,650 no longer in the "
        "active segment; 19,650 to 21,650 possibly in the active segment; 21,650 to 26,650 after the last stable offset"
    )
    box, band_box = track.bounding_box(), track.locator(".unstable").bounding_box()
    assert box
    assert band_box
    assert abs(band_box["x"] - box["x"] - box["width"] * 21_650 / 26_650) < 3
    assert track.locator("xpath=following-sibling::ul").inner_text() == "21,650 last stable offset"


def test_an_empty_report_is_a_valid_page(browser: Browser, tmp_path: Path) -> None:
    page = browser.new_page()
    page.goto(formats.write(reports.empty(), tmp_path)[0].as_uri())
    assert page.locator("#outcome").inner_text() == "No topics were audited."
    assert page.locator(".plot, table, h3, form").count() == 0
    page.close()


def test_the_page_of_usage_fits_and_can_be_read(usage_page: Page) -> None:
    usage_page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert usage_page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    result = usage_page.evaluate(WEAK_TEXTS)
    assert result["weak"] == []
    assert result["seen"] > 150
    usage_page.emulate_media(media="print")
    assert usage_page.evaluate(WEAK_TEXTS)["weak"] == []


@WIDE
def test_the_page_of_usage_has_landmarks_labels_and_a_filter(usage_page: Page) -> None:
    tree = usage_page.locator("body").aria_snapshot()
    heading = 'heading "Use of the topics of stack prod" [level=1]'
    for part in ("- banner", "- main", "- contentinfo", "- navigation", '- search "Topics"', heading):
        assert part in tree
    assert usage_page.evaluate(
        "[...document.querySelectorAll('table')].every(t => t.caption && t.querySelector('th[scope=col]'))"
    )
    levels = usage_page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])")
    assert all(after <= before + 1 for before, after in pairwise(levels))
    usage_page.get_by_label("Filter topics").fill("billing")
    assert usage_page.locator("#topics tbody tr:visible").count() == 1
    usage_page.get_by_role("button", name="Clear").press("Enter")
    usage_page.get_by_role("combobox", name="Use").select_option("idle")
    assert usage_page.locator("#topics tbody tr:visible th").all_inner_texts() == ["legacy.clicks.v1"]


def test_no_table_of_usage_is_wider_than_a_screen_or_paper(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "usage.html"
    file.write_text(USAGE_FORMATS["html"](usage_reports.rich()), encoding="utf-8")
    for width in (390, 1400):
        with opened(browser, file, width, "light") as page:
            page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
            assert page.evaluate(WIDE_TABLES) == []
            print_on_a4(page)
            assert page.evaluate(WIDE_TABLES) == []


def test_the_page_of_several_stacks_fits_and_can_be_read(fleet_page: Page) -> None:
    assert fleet_page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert fleet_page.evaluate(WIDE_TABLES) == []
    assert fleet_page.evaluate(WEAK_TEXTS)["weak"] == []
    print_on_a4(fleet_page)
    assert fleet_page.evaluate(WIDE_TABLES) == []
