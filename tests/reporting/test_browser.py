"""The report in a real browser: nothing runs, nothing is fetched, everything fits."""

import base64
import json
import re
import shutil
import subprocess

import pytest

from sarlearn.reporting import Report, report, summarize
from table_data import hostile, patients, sarem_of_table

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="chromium and chromedriver are not installed"
)
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run")
OPTIONS += ("--disable-dev-shm-usage", "--disable-background-networking", "--disable-sync")
OPTIONS += ("--disable-component-update",)
WIDTHS = (390, 1280)
THEMES = ("light", "dark")


@pytest.fixture(scope="module")
def pages(checked, tmp_path_factory):
    """Reports on an ordinary and on a hostile table, as files."""
    folder = tmp_path_factory.mktemp("pages")
    table = checked.table
    model = sarem_of_table(["age", "plan"], drop=["patient_id", "diagnosed"])
    model.fit(table, table["diagnosed"])
    ordinary = report(model, table, table["diagnosed"], ids=table["patient_id"], source="p.csv")
    ordinary.save(folder / "ordinary.html")
    summary = summarize(checked.model, checked.X, table["diagnosed"], command="sarlearn fit p.csv")
    Report(summary).save(folder / "checked.html")
    hostile_table = hostile(n=1_000, n_columns=60)
    label, script = "<u>label</u>", hostile_table.columns[0]
    drop = [label, "<id>"]
    chosen = [script, "many", hostile_table.columns[1], hostile_table.columns[2]]
    chosen.append(hostile_table.columns[5])
    model = sarem_of_table(chosen, drop=drop, tol=1e-2)
    with pytest.warns(UserWarning, match="'many' has 5.. different values"):
        model.fit(hostile_table, hostile_table[label])
    page = report(
        model,
        hostile_table,
        hostile_table[label],
        ids=hostile_table["<id>"],
        id_name="<id>",
        label=label,
        source=script,
    )
    page.save(folder / "hostile.html")
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in OPTIONS:
        options.add_argument(option)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    driver.execute_cdp_cmd("Network.enable", {})
    yield driver
    driver.quit()


def show(browser, page, width, theme):
    """Open a page at a width and in a theme, with the logs of earlier pages gone."""
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": theme}]},
    )
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(page.as_uri())


def requests(browser):
    """Addresses the page asked for."""
    messages = [json.loads(row["message"])["message"] for row in browser.get_log("performance")]
    asked = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [params["request"]["url"] for params in asked]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["ordinary", "checked", "hostile"])
def test_the_page_is_quiet_and_fits(browser, pages, name, width, theme):
    page = pages / f"{name}.html"
    show(browser, page, width, theme)
    assert browser.get_log("browser") == []
    assert requests(browser) == [page.as_uri()]
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    outside = browser.execute_script(
        """
        const wide = [];
        for (const element of document.querySelectorAll('body *')) {
          if (element.closest('.scroll')) continue;
          const box = element.getBoundingClientRect();
          if (box.width && (box.right > innerWidth + 0.5 || box.left < -0.5))
            wide.push(element.outerHTML.slice(0, 80));
        }
        return wide;
        """
    )
    assert outside == []
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('td.stacked .known')].map("
        "b => b.getBoundingClientRect().height)"
    )
    assert len(sizes) > 10
    assert all(high > 10 for high in sizes)


def test_themes_differ_and_text_can_be_read(browser, pages):
    """Contrast of the running text, headings and figure text is at least 4.5 in both themes."""
    backgrounds = set()
    for theme in THEMES:
        show(browser, pages / "checked.html", 1280, theme)
        pairs = browser.execute_script(
            """
            const found = [];
            const solid = element => {
              for (let e = element; e; e = e.parentElement) {
                const c = getComputedStyle(e).backgroundColor;
                if (c !== 'rgba(0, 0, 0, 0)') return c;
              }
            };
            for (const q of ['h1', '.verdict p', '.word', '.finding', '.kicker', '.tile dt',
                             '.ends-of', '.note, .intro', 'nav a', 'thead th', 'td',
                             '.facts dt', '.plain li', 'code', 'summary']) {
              const e = document.querySelector(q);
              found.push([q, getComputedStyle(e).color, solid(e)]);
            }
            return found;
            """
        )
        for what, ink, paper in pairs:
            assert contrast(ink, paper) >= 4.5, (theme, what, ink, paper)
        backgrounds.add(pairs[0][2])
    assert len(backgrounds) == 2


def contrast(first, second):
    """Ratio of relative luminances (WCAG 2)."""
    values = []
    for text in (first, second):
        channels = [float(c) / 255 for c in text[text.index("(") + 1 : -1].split(",")[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        values.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(values) + 0.05) / (min(values) + 0.05)


def test_the_hostile_table_is_shown_and_never_run(browser, pages):
    show(browser, pages / "hostile.html", 1280, "light")
    assert browser.execute_script("return window.hacked === undefined")
    assert browser.execute_script("return document.scripts.length") == 0
    assert browser.execute_script("return document.images.length") == 0
    text = browser.execute_script("return document.body.innerText")
    assert "<script>window.hacked = true</script>" in text
    assert "🦄" in text
    assert "$x_1^2$ & \"quotes\" 'single'" in text
    drawn = browser.execute_script(
        "return [...document.querySelectorAll('.bars th')].map(t => t.textContent)"
    )
    assert "🔥" in text
    assert any("<script>" in label for label in drawn)


def test_tables_wider_than_the_phone_scroll_by_themselves(browser, pages):
    show(browser, pages / "ordinary.html", 390, "light")
    scrolling = browser.execute_script(
        "return [...document.querySelectorAll('.scroll')]"
        ".filter(e => e.scrollWidth > e.clientWidth)"
        ".map(e => [getComputedStyle(e).overflowX, e.tabIndex])"
    )
    assert scrolling
    assert all(row == ["auto", 0] for row in scrolling)


def test_what_is_cut_off_at_390_pixels_shows(browser, pages):
    """No heading lies in what scrolls; a wide table says so; nothing is cut off elsewhere."""
    show(browser, pages / "checked.html", 390, "dark")
    inside = browser.execute_script(
        "return document.querySelectorAll('.scroll h3, .scroll caption').length"
    )
    assert inside == 0
    silent = browser.execute_script(
        """
        return [...document.querySelectorAll('.scroll')]
          .filter(e => e.scrollWidth > e.clientWidth + 1)
          .filter(e => !getComputedStyle(e).backgroundImage.includes('linear-gradient'))
          .map(e => e.getAttribute('aria-label'));
        """
    )
    assert silent == []
    hints = browser.execute_script(
        "return [...document.querySelectorAll('.swipe')]"
        ".map(e => [e.getBoundingClientRect().height > 0,"
        " e.nextElementSibling.scrollWidth > e.nextElementSibling.clientWidth])"
    )
    assert len(hints) == 1
    assert all(hint == [True, True] for hint in hints)
    cut = browser.execute_script(
        """
        return [...document.querySelectorAll('h1, h2, h3, p, li, dt, dd, figcaption')]
          .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)
          .map(e => e.textContent.slice(0, 60));
        """
    )
    assert cut == []
    show(browser, pages / "checked.html", 1280, "dark")
    hidden = browser.execute_script(
        "return [...document.querySelectorAll('.swipe')].every(e => !e.offsetHeight)"
    )
    assert hidden


@pytest.mark.parametrize("theme", [*THEMES, "print"])
def test_bars_and_their_ranges_stand_apart(browser, pages, theme):
    """Neighbours have a contrast of 3 at least (WCAG 2.2, 1.4.11)."""
    show(browser, pages / "checked.html", 1280, "light" if theme == "print" else theme)
    if theme == "print":
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = browser.execute_script(
        "return ['.stacked .known', '.stacked .hidden', '.stacked .line', '.card', '.band', "
        "'.mark', '.range']"
        ".map(name => getComputedStyle(document.querySelector(name)).backgroundColor)"
    )
    known, hidden, line, card, band, mark, rest = shown
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    for pair in ((known, hidden), (hidden, card), (line, hidden), (band, mark), (band, rest)):
        assert contrast(*pair) >= 3, (theme, pair)


def test_the_contents_lead_to_every_section(browser, pages):
    show(browser, pages / "checked.html", 1280, "light")
    links = browser.execute_script(
        "return [...document.querySelectorAll('nav a')]"
        ".map(a => [a.getAttribute('href'), a.textContent])"
    )
    sections = browser.execute_script(
        "return [...document.querySelectorAll('main > section')]"
        ".map(s => ['#' + s.id, s.querySelector('h2').textContent])"
    )
    assert links == sections
    assert len(links) == 6
    browser.find_element("css selector", "nav a[href='#columns']").click()
    assert browser.current_url.endswith("#columns")


def test_it_prints_in_ink(browser, pages):
    show(browser, pages / "ordinary.html", 1280, "dark")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    colours = browser.execute_script(
        "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
    )
    assert colours == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
    pdf = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert len(pdf["data"]) > 20_000
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_no_heading_is_stranded_in_print(browser, pages, tmp_path):
    """What follows a heading stands on its page: the heading is not the page's last line."""
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext (poppler-utils) is not installed")
    show(browser, pages / "checked.html", 1280, "light")
    headings = browser.execute_script(
        "return [...document.querySelectorAll('h2, h3')].map(h => h.textContent.trim())"
    )
    for width, height in ((8.27, 11.69), (8.5, 11.0)):
        size = {"printBackground": True, "paperWidth": width, "paperHeight": height}
        pdf = browser.execute_cdp_cmd("Page.printToPDF", size)
        (tmp_path / "page.pdf").write_bytes(base64.b64decode(pdf["data"]))
        command = ["pdftotext", "-layout", str(tmp_path / "page.pdf"), "-"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        sheets = [sheet.strip().splitlines() for sheet in text.split("\f") if sheet.strip()]
        assert len(sheets) > 3
        # Two cards side by side end a page with one line; a title may go on in the next.
        last = [part for lines in sheets for part in re.split(r"\s{2,}", lines[-1].strip())]
        begun = [part for part in last if any(h.startswith(part) for h in headings)]
        assert [part for part in begun if len(part) > 10] == []


def test_in_a_notebook_the_page_stands_in_a_frame(browser, pages, tmp_path):
    table = patients(300)[0]
    model = sarem_of_table(["plan"], drop=["patient_id", "diagnosed"], tol=1e-2)
    model.fit(table, table["diagnosed"])
    cell = report(model, table, table["diagnosed"])._repr_html_()
    (tmp_path / "cell.html").write_text(f"<!doctype html><meta charset=utf-8>{cell}", "utf-8")
    show(browser, tmp_path / "cell.html", 1280, "light")
    browser.switch_to.frame(0)
    assert "unlabelled rows" in browser.execute_script("return document.body.innerText")
    browser.switch_to.default_content()
