"""The page in a real browser: it opens without a complaint and does what a reader asks of it."""

import shutil

import numpy as np
import pytest
from sklearn.metrics import r2_score

from sklar.report.explorer.levels import asked_at
from tests.report.explorer.conftest import NASTY

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="needs a browser: chromium and chromedriver (Debian: apt install chromium-driver)"
)

CARD = "#card"
ROWS = "#grid tbody tr"


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.binary_location = BROWSER
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(classified, ranked, priced, wide, graded, tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    return {
        "classified": classified[0].report(*classified[1:], folder / "classified.html", audit=False),
        "ranked": ranked[0].report(*ranked[1:], folder / "ranked.html", audit=False),
        "priced": priced[0].report(*priced[1:], folder / "priced.html", audit=False),
        "graded": graded[0].report(*graded[1:], folder / "graded.html", audit=False),
        "hidden": ranked[0].report(np.full_like(ranked[1], np.nan), ranked[2], folder / "hidden.html", audit=False),
        "wide": wide[0].report(*wide[1:], folder / "wide.html", audit=False),
    }


class Reader:
    """What a person does with the page."""

    def __init__(self, driver, page, width=1280):
        self.driver = driver
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.get(page.as_uri())

    def find(self, css):
        return self.driver.find_element("css selector", css)

    def all(self, css):
        return self.driver.find_elements("css selector", css)

    def run(self, script, *arguments):
        return self.driver.execute_script(f"return {script}", *arguments)

    def click(self, css):
        element = self.find(css)
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def press(self, *keys):
        self.driver.switch_to.active_element.send_keys(*keys)

    def text(self, css):
        return self.find(css).text

    def column(self, place):
        """The text of one column of the table, 0 being the row's name."""
        return self.run(
            "[...document.querySelectorAll(arguments[0])].map(r => r.children[arguments[1]].textContent)", ROWS, place
        )

    def complaints(self):
        return [entry for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


@pytest.fixture
def reader(browser, pages):
    reader = Reader(browser, pages["classified"])
    yield reader
    assert reader.complaints() == []
    assert reader.run("window.broken") is None  # no name ran as a script


def keys():
    from selenium.webdriver.common.keys import Keys

    return Keys


def test_it_opens_and_says_its_names(reader):
    assert reader.text("h1") == "What decides a <i>target</i>"
    assert len(reader.all(ROWS)) == 50
    names = reader.run("[...document.querySelectorAll('#feature-table tbody th')].map(e => e.textContent)")
    assert set(names) <= set(NASTY)
    assert reader.run("document.querySelectorAll('#map rect').length") == 25
    assert reader.run("performance.getEntriesByType('resource').length") == 0  # nothing was fetched


def test_sorting(reader, classified):
    model, frame, _ = classified
    sizes = model.select(frame).sum(axis=1).tolist()
    header = "#grid thead [data-sort='size']"
    reader.click(header)
    assert [int(v) for v in reader.column(4)] == sorted(sizes, reverse=True)[:50]
    assert reader.find("#grid th[aria-sort]").get_attribute("aria-sort") == "descending"
    reader.click(header)
    assert [int(v) for v in reader.column(4)] == sorted(sizes)[:50]
    reader.click("#grid thead [data-sort='row']")
    assert reader.column(0) == [f"r{i}" for i in range(50)]  # by place in the table, not by letters


def test_filtering_by_class_and_by_wrong(reader, classified):
    model, frame, y = classified
    right = model.predict(frame) == y.to_numpy()
    yes = (y == "<b>yes</b>").to_numpy()
    reader.click("#group option:nth-child(3)")
    assert reader.text("#status").startswith(f"{yes.sum()} of 130 rows")
    assert set(reader.column(1)) == {"<b>yes</b>"}
    reader.click("#wrong")
    assert reader.text("#status").startswith(f"{(yes & ~right).sum()} of 130 rows")
    reader.click("#show-all")
    assert reader.text("#status").startswith("130 of 130 rows")


def test_searching_by_feature_name(reader, classified):
    model, frame, _ = classified
    reader.find("#search").send_keys("no such name")
    assert reader.text("#status").startswith("0 of 130 rows")
    assert "No row fits" in reader.text("#grid tbody")
    reader.find("#search").clear()
    reader.find("#search").send_keys("ONERROR")
    assert [e.text for e in reader.all("#grid thead .feature")] == [f"{NASTY[1][:25]}…"]
    assert "1 such features, 1 of them in this table" in reader.text("#status")
    assert reader.text("#status").startswith(f"{int(model.select(frame)[NASTY[1]].sum())} of 130 rows")


def test_a_click_opens_a_rows_card(reader, classified):
    model, frame, _ = classified
    reader.click(f"{ROWS}:nth-child(8) th")
    text = reader.text(CARD)
    explanation = model.explain(frame.iloc[7])
    assert "Row r7" in text
    assert f"from {len(explanation.selected)} of 5 feature" in text
    for feature in explanation.selected:
        assert feature.name in text
        points = f"{abs(100 * feature.effect):.1f} points {'sure' if feature.sure else 'unsure'}"
        assert ("\u2212" if feature.effect < 0 else "+") + points in text
    assert "P 0." not in text  # the probability of a gate is no importance
    assert reader.find(f"{ROWS}[aria-selected=true] th").text == "r7"
    reader.click("#card .close")
    assert not reader.find(CARD).is_displayed()


def test_keyboard(reader):
    Keys = keys()
    reader.run("document.querySelector(arguments[0]).focus()", ROWS)
    reader.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    reader.press(Keys.ENTER)
    assert "Row r2" in reader.text(CARD)
    reader.press(Keys.ARROW_UP)  # an open card follows
    assert "Row r1" in reader.text(CARD)
    reader.press(Keys.END)
    assert "Row r49" in reader.text(CARD)
    reader.press(Keys.ARROW_DOWN)
    assert "page 2 of 3" in reader.text(".pager")
    assert "Row r50" in reader.text(CARD)
    reader.press(Keys.PAGE_DOWN)
    assert "Row r100" in reader.text(CARD)
    reader.press(Keys.ESCAPE)
    assert not reader.find(CARD).is_displayed()
    assert reader.driver.switch_to.active_element.tag_name == "tr"  # and the reader is still in the table


def test_pages(reader):
    reader.click("#next")
    assert reader.column(0)[0] == "r50"
    reader.click("#next")
    assert len(reader.all(ROWS)) == 30
    assert not reader.find("#next").is_enabled()
    reader.click("#previous")
    assert reader.column(0)[0] == "r50"


def test_pointing_at_a_cell_of_the_map(reader, classified):
    from selenium.webdriver import ActionChains

    cell = reader.find("#map rect[data-i='0'][data-j='1']")
    reader.run("arguments[0].scrollIntoView({block: 'center'})", cell)
    ActionChains(reader.driver).move_to_element(cell).perform()
    text = reader.text("#map-cell")
    order = reader.run("JSON.parse(document.getElementById('facts').textContent).links")
    assert NASTY[order["features"][0]] in text
    assert f"{abs(order['values'][0][1]):g}" in text
    assert reader.find("#tip").is_displayed()
    assert reader.text("#tip") == text
    reader.run("document.getElementById('map').focus()")
    reader.press(keys().ARROW_RIGHT)
    assert NASTY[order["features"][2]] in reader.text("#map-cell")


def test_pointing_at_a_cell_of_the_table(reader):
    from selenium.webdriver import ActionChains

    cell = reader.find(f"{ROWS} td.cell")
    reader.run("arguments[0].scrollIntoView({block: 'center'})", cell)
    ActionChains(reader.driver).move_to_element(cell).perform()
    assert reader.text("#tip").startswith(f"{NASTY[0]} = ")


def test_dark_and_light(reader):
    light = reader.run("getComputedStyle(document.body).backgroundColor")
    reader.click("#theme")
    assert reader.find("#theme").get_attribute("aria-pressed") == "true"
    assert reader.text("#theme") == "Light"  # what the next click gives
    assert reader.run("getComputedStyle(document.body).backgroundColor") != light


def test_a_system_in_the_dark_gets_a_dark_page(browser, pages):
    media = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        reader = Reader(browser, pages["classified"])
        assert reader.run("document.documentElement.dataset.theme") == "dark"
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_phone_needs_no_sideways_scrolling(browser, pages):
    reader = Reader(browser, pages["classified"], width=390)
    assert reader.run("document.documentElement.scrollWidth") <= 390
    assert not reader.find(CARD).is_displayed()
    reader.click(f"{ROWS}:nth-child(3) th")
    box = reader.run("document.getElementById('card').getBoundingClientRect().toJSON()")
    line = reader.run("document.querySelector('#grid tr[aria-selected=true]').getBoundingClientRect().toJSON()")
    assert (box["left"], box["width"], round(box["bottom"])) == (0, 390, 900)
    assert 0 <= line["top"] < line["bottom"] <= box["top"]  # the row stays in sight above its card


def test_every_control_has_a_name(reader):
    nameless = reader.run("""[...document.querySelectorAll('button, input, select')].filter(e =>
        !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).length""")
    assert nameless == 0


def test_on_paper_the_controls_are_gone(reader):
    reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert not reader.find("#controls").is_displayed()
        assert not reader.find("nav").is_displayed()
        assert reader.find("#grid").is_displayed()
    finally:
        reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_rankers_page(browser, pages, ranked):
    model, X, _ = ranked
    reader = Reader(browser, pages["ranked"])
    reader.click(f"{ROWS}:nth-child(1) th")
    best = model.rank(X)[0]
    listed = [element.text.split(" = ")[0] for element in reader.all("#card li")][:2]
    assert listed == [f"1. x{best[0]}", f"2. x{best[1]}"]
    assert "k = 2 (fitted): 2.0 features per row" in reader.text("#level-told")
    drag(reader, 0)
    assert [element.text.split(" = ")[0] for element in reader.all("#card li")] == [f"1. x{model.rank(X, k=1)[0][0]}"]
    assert set(reader.column(3)) == {"1"}
    assert reader.complaints() == []


def drag(reader, level):
    """Move the slider as a person does: it tells the page on its way."""
    reader.run(
        "(s => { s.value = arguments[0]; s.dispatchEvent(new Event('input')); })(document.getElementById('level'))",
        level,
    )


@pytest.mark.parametrize("width", [1300, 390])
def test_the_slider_changes_masks_numbers_and_the_card(browser, pages, priced, width):
    model, X, value = priced
    reader = Reader(browser, pages["priced"], width=width)
    reader.click(f"{ROWS}:nth-child(3) th")
    for level, (price, _) in enumerate(asked_at(model.fitted_)):
        drag(reader, level)
        masks = np.asarray(model.select(X, penalty=price))
        size, score = f"{masks.sum(axis=1).mean():.1f}", f"{100 * r2_score(value, model.predict(X, penalty=price)):.1f}"
        assert f"{size} features per row, R² {score} %" in reader.text("#level-told")
        assert f"{size} of 5 features" in reader.text("#lead")
        assert reader.text("#size") == size
        cells = f"[...document.querySelectorAll('{ROWS}:nth-child(3) .cell')]"
        on = reader.run(f"{cells}.map(cell => cell.firstChild.className.includes('on'))")
        shown = reader.run("JSON.parse(document.getElementById('facts').textContent).columns")
        columns = [column["feature"] for column in shown]
        assert on == masks[2][columns].tolist()
        assert len(reader.all("#card li")) == masks[2].sum()
        assert len(reader.all("#path-plot .now")) == len(reader.all("#path-plot .ring")) == 1
    reader.click("#level-reset")
    assert "(chosen)" in reader.text("#level-told")
    wide = "document.querySelector(arguments[0]).scrollWidth"
    assert reader.run(wide, "#path-table") <= reader.run("document.querySelector('#path .side').clientWidth")  # not cut
    assert reader.run("document.documentElement.scrollWidth") <= width
    assert reader.complaints() == []


def test_effects_are_drawn_and_follow_the_theme(browser, pages):
    reader = Reader(browser, pages["priced"])
    pixels = "document.getElementById('effects-plot').toDataURL()"
    before = reader.run(pixels)
    assert len(before) > 2000
    reader.click("#theme")
    assert reader.run(pixels) != before
    assert reader.text("#rules-list")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1300, 390])
@pytest.mark.parametrize("page", ["classified", "ranked"])
def test_no_half_is_empty_and_nothing_is_cut_off(browser, pages, page, width, dark):
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    try:
        reader = Reader(browser, pages[page], width)
        assert reader.run("document.documentElement.scrollWidth") <= width
        box = "document.querySelector(arguments[0]).getBoundingClientRect()"
        whole = reader.run(f"{box}.width", "main")
        table, around = (reader.run(f"{box}.width", css) for css in ("#feature-table", "#features .scroll"))
        assert 0.95 * whole <= table <= around + 1  # all of the width, and no scrolling
        assert dark == (reader.run("document.documentElement.dataset.theme") == "dark")
        if page == "ranked":
            assert reader.run(f"{box}.width", "#levels") > 0.98 * whole
        if width > 1000:
            left, right = (reader.run(box, css) for css in ("#links", "#path"))
            assert left["top"] == right["top"]  # side by side
            assert right["right"] - left["left"] > 0.98 * whole
            reader.click(f"{ROWS}:nth-child(2)")
            grid, card = (reader.run(box, css) for css in ("#grid-scroll", CARD))
            assert card["right"] - grid["left"] > 0.6 * whole
        assert reader.complaints() == []
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_the_number_of_features_per_row_is_one_number(browser, pages):
    reader = Reader(browser, pages["priced"])
    said = reader.text("#size")
    assert f"{said} of 5 features" in reader.text("#lead")
    assert f"{said} features per row" in reader.text("#level-told")
    assert reader.text("#path-table .chosen td:nth-child(2)") == said


def test_a_rankers_row_without_values_has_no_price(browser, pages):
    reader = Reader(browser, pages["hidden"])
    reader.click(ROWS)
    assert "from no feature: none has a value to show in this row." in reader.text("#card")


def test_a_map_of_many_features_fits_beside_the_path(browser, pages):
    reader = Reader(browser, pages["wide"], 1300)
    assert reader.run("document.querySelectorAll('#map rect').length") == 25**2
    assert reader.run("document.querySelector('#links .scroll').scrollWidth") <= reader.run(
        "document.querySelector('#links .scroll').clientWidth"
    )


@pytest.mark.parametrize("width", [1300, 390])
def test_the_slider_hides_no_heading_that_a_link_leads_to(browser, pages, width):
    reader = Reader(browser, pages["priced"], width)
    for part in ("features", "rows", "links"):
        reader.run("location.hash = arguments[0]", part)
        slider, title = (
            reader.run("document.getElementById(arguments[0]).getBoundingClientRect()", name)
            for name in ("levels", f"{part}-title")
        )
        assert title["top"] >= slider["bottom"]


def test_one_feature_is_one_of_several_features(browser, pages):
    reader = Reader(browser, pages["wide"])
    reader.click(f"{ROWS}:nth-child(1) th")
    assert "from 1 of 25 features." in reader.text(CARD)


def test_names_stay_where_shares_of_many_classes_are_scrolled_to(browser, pages):
    reader = Reader(browser, pages["graded"], 390)
    table = "document.querySelector('#features .scroll')"
    assert reader.run(f"{table}.scrollWidth > {table}.clientWidth + 50")
    assert "gradient" in reader.run(f"getComputedStyle({table}).backgroundImage")
    reader.run(f"{table}.scrollLeft = 1000")
    name = reader.run("document.querySelector('#feature-table tbody th').getBoundingClientRect().left")
    assert name >= reader.run(f"{table}.getBoundingClientRect().left")
