"""Test the home page of the documentation's website in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.support.browser import chromium
from tests.support.site_build import build_site

_CLIPPED = "all => all.filter(each => each.scrollWidth > each.clientWidth).map(each => each.textContent)"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site")
    assert build_site(REPOSITORY / "mkdocs.yml", site) == []
    return site / "index.html"


@pytest.mark.parametrize("width", [1280, 1024])
def test_the_diagram_is_not_clipped_and_a_report_is_shown(home: Path, width: int) -> None:
    with chromium() as browser:
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(home.as_uri())
        assert page.eval_on_selector_all("article pre, article pre code", _CLIPPED) == []
        report = page.locator("article img[src='images/report.png']")
        assert report.evaluate("image => image.complete && image.naturalWidth > 0")
        assert report.evaluate("image => image.getBoundingClientRect().top") < 1_200
