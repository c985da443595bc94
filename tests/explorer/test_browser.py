"""Pages in a browser: no errors, sliders that move the picture, labels that a screen reader finds."""

from __future__ import annotations

import re

import pytest

from tests.explorer.browser import Browser, executable
from tests.explorer.fits import HOSTILE, PAGES, page

pytest.importorskip("websocket", reason='the browser is driven by websocket-client: pip install ".[test]"')
if executable() is None:
    pytest.skip("there is no browser: install chromium to test pages", allow_module_level=True)

VIEWS = list(PAGES)
PICTURE = "document.querySelector('#view svg').outerHTML"
SAID = "document.getElementById('said').textContent"
RIGHT = ("ArrowRight", 39)
#: contrast of two colours, as WCAG defines it
CONTRAST = """(() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255);
    const [x, y, z] = [r, g, b].map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const paper = light(getComputedStyle(document.querySelector('.card')).backgroundColor);
  const inks = [...document.querySelectorAll('h1, #lead, .said, output, .panel p, dt, dd')];
  return Math.min(...inks.map((one) => {
    const ink = light(getComputedStyle(one).color);
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  }));
})()"""

#: ticks that the name of the vertical axis lies upon, and dates that leave the picture
CROWDED = """[...document.querySelectorAll('svg')].flatMap((root) => {
  const box = (one) => one.getBoundingClientRect(), edge = box(root).right + 2;
  const name = root.querySelector('text.axis[transform]'), texts = [...root.querySelectorAll('text:not(.axis)')];
  const upon = (one) => name && one.getAttribute('text-anchor') === 'end' && box(one).left < box(name).right &&
    box(one).top < box(name).bottom && box(one).bottom > box(name).top;
  return texts.filter((one) => upon(one) || box(one).right > edge).map((one) => one.textContent);
})"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = Browser(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    return {name: page(name).save(folder / f"{name}.html") for name in VIEWS}


@pytest.mark.parametrize("name", VIEWS)
def test_the_keyboard_moves_the_picture(browser, paths, name):
    browser.open(paths[name])
    before = browser.run(PICTURE), browser.run(SAID)
    browser.run("document.querySelector('.control.main input').focus()")
    browser.press(*RIGHT)
    after = browser.run(PICTURE), browser.run(SAID)
    assert before[0] != after[0]
    assert before[1] != after[1]
    assert "NaN" not in after[0]
    assert "undefined" not in "".join(after)
    text = browser.run("document.querySelector('.control.main output').textContent")
    assert text in after[1]
    assert browser.complaints() == []


@pytest.mark.parametrize("name", VIEWS)
def test_a_screen_reader_reaches_it(browser, paths, name):
    browser.open(paths[name])
    nodes = browser.nodes()
    controls = [node for node in nodes if node["role"] in ("slider", "combobox")]
    assert len(controls) >= 2
    assert all(node["name"] for node in controls)
    assert all(
        node["name"] for node in nodes if node["role"] in ("image", "img", "figure") and node["role"] != "figure"
    )
    assert sum(node.get("live") == "polite" and node["role"] == "status" for node in nodes) == 1
    assert sum(node["role"] == "heading" for node in nodes) >= 3
    assert {"main", "banner", "contentinfo"} <= {node["role"] for node in nodes}


@pytest.mark.parametrize("name", VIEWS)
def test_it_fits_a_telephone_and_the_dark(browser, paths, name):
    papers = set()
    for dark in (False, True):
        browser.open(paths[name], 400, 800, dark)
        assert browser.run("document.documentElement.scrollWidth") <= 400
        assert browser.run(CONTRAST) >= 4.5
        papers.add(browser.run("getComputedStyle(document.body).backgroundColor"))
    assert len(papers) == 2
    assert browser.complaints() == []


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("width", [400, 1280])
def test_texts_of_axes_have_room(browser, paths, name, width):
    browser.open(paths[name], width)
    assert browser.run(CROWDED) == []


def test_other_columns_other_values_and_the_table(browser, paths):
    browser.open(paths["fan"])
    choose = "(() => {{ const list = document.querySelector('select[name={}]'); list.value = {}; "
    choose += "list.dispatchEvent(new Event('input')); }})()"
    first = browser.run(PICTURE)
    browser.run(choose.format("along", 1))
    browser.settle()
    second = browser.run(PICTURE)
    assert first != second
    browser.run("document.querySelector('#numbers summary').click()")
    browser.settle()
    rows = browser.run("[...document.querySelectorAll('#table tr')].map((row) => row.innerText)")
    assert len(rows) > 2
    assert "θ = 0.9" in rows[0]
    there = ".control:not([hidden]) [name^=held]"
    held = browser.run(f"document.querySelectorAll('{there}').length")
    assert held == 2
    assert browser.complaints() == []


def test_a_place_is_chosen_by_pointing(browser, paths):
    browser.open(paths["regions"])
    before = browser.run(SAID)
    box = browser.run("Object.values(document.querySelector('#view svg').getBoundingClientRect().toJSON())")
    where = {"x": box[0] + 0.8 * box[2], "y": box[1] + 0.2 * box[3], "button": "left", "clickCount": 1}
    browser.ask("Input.dispatchMouseEvent", type="mousePressed", **where)
    browser.ask("Input.dispatchMouseEvent", type="mouseReleased", **where)
    browser.settle()
    after = browser.run(SAID)
    assert re.sub(r" Of 90 rows.*", "", before) != re.sub(r" Of 90 rows.*", "", after)
    assert re.search(r" Of 90 rows.*", before)[0] == re.search(r" Of 90 rows.*", after)[0]


@pytest.mark.parametrize("name", ["candidates", "curvefan"])
def test_inputs_of_ones_own(browser, paths, name):
    browser.open(paths[name])
    before = browser.run(SAID)
    choose = "(() => { const list = document.querySelector('select[name=mode]'); list.value = 1; "
    browser.run(choose + "list.dispatchEvent(new Event('input')); })()")
    browser.settle()
    after = browser.run(SAID)
    assert "a row with" in after
    browser.run("document.querySelector('.control:not([hidden]) [name^=held]').focus()")
    browser.press(*RIGHT)
    assert len({before, after, browser.run(SAID)}) == 3
    assert browser.complaints() == []


@pytest.mark.parametrize("name", VIEWS)
def test_the_picture_is_a_table_too(browser, paths, name):
    browser.open(paths[name])
    browser.run("document.querySelector('#numbers summary').click()")
    browser.settle()
    rows = browser.run("[...document.querySelectorAll('#table tr')].map((row) => row.innerText)")
    assert len(rows) > 2
    assert not re.search("NaN|undefined", "".join(rows))
    assert browser.complaints() == []


def test_names_are_shown_and_not_obeyed(browser, paths):
    browser.open(paths["fan"])
    assert HOSTILE in browser.run("document.getElementById('title').textContent")
    assert HOSTILE in browser.run(SAID)
    assert browser.run("typeof window.hacked") == "undefined"
    assert browser.run("document.querySelectorAll('img').length") == 0
