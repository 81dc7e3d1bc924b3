"""The built site in a real browser: quiet, within the screen, in both themes; search answers."""

import http.server
import json
import shutil
import threading
from functools import partial

import pytest

from site_tools import SITE, public_names

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="chromium is not installed"),
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="not built: make docs"),
]
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync")
OPTIONS += ("--disable-dev-shm-usage", "--disable-background-networking")
OPTIONS += ("--disable-component-update",)
PAGES = [
    "index.html",
    "start.html",
    "which_learner.html",
    "user_guide/model.html",
    "user_guide/learner.html",
    "how_good/index.html",
    "api/index.html",
    "generated/api/sarlearn.SAREMClassifier.html",
    "generated/gallery/index.html",
    "generated/gallery/how_many_are_hidden.html",
    "search.html?q=propensity",
]
# What reaches beyond the right edge and cannot be scrolled to: cut off.
CUT_OFF = """
const scrolls = e => ['auto', 'scroll'].includes(getComputedStyle(e).overflowX);
const top = '.bd-article, ul.search';
const reachable = e => {
  for (; !e.matches(top); e = e.parentElement) if (scrolls(e)) return true;
};
return [...document.querySelectorAll('.bd-article *, ul.search *')]
  .filter(e => e.getBoundingClientRect().width && e.getBoundingClientRect().right > innerWidth + 1)
  .filter(e => !reachable(e)).map(e => e.outerHTML.slice(0, 200));
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address():
    handler = partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in OPTIONS:
        options.add_argument(option)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.execute_cdp_cmd("Network.enable", {})
    yield driver
    driver.quit()


def show(browser, url, width=1280, theme="light"):
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
    browser.get(url)
    wait(browser, "return document.readyState === 'complete'")


def wait(browser, script, seconds=30):
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, seconds).until(lambda b: b.execute_script(script))


def complaints(browser):
    """What the console has beyond the theme's own notes on what it does."""
    rows = browser.get_log("browser")
    return [row["message"] for row in rows if row["level"] not in ("DEBUG", "INFO")]


def asked(browser):
    messages = [json.loads(row["message"])["message"] for row in browser.get_log("performance")]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [params["request"]["url"] for params in sent]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_quiet_and_fits(browser, address, page, width, theme):
    show(browser, address + page, width, theme)
    assert complaints(browser) == []
    outside = [url for url in asked(browser) if not url.startswith((address, "data:"))]
    assert outside == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(CUT_OFF) == []
    missing = browser.execute_script(
        "return [...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
    )
    assert missing == []


def test_themes_differ(browser, address):
    colours = set()
    for theme in ("light", "dark"):
        show(browser, address + "index.html", theme=theme)
        colours.add(
            browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        )
    assert len(colours) == 2


def test_formulas_are_set(browser, address):
    show(browser, address + "user_guide/model.html")
    assert wait(browser, "return document.querySelectorAll('mjx-container svg').length > 5")
    assert browser.execute_script("return document.querySelectorAll('mjx-merror').length") == 0


def test_search_answers(browser, address):
    show(browser, address + "search.html?q=propensity")
    assert wait(browser, "return document.querySelectorAll('ul.search li').length > 5")
    assert complaints(browser) == []


def test_every_public_name_is_two_clicks_away():
    """From the front page to the reference, and from there to the name."""
    front = (SITE / "index.html").read_text(encoding="utf-8")
    assert 'href="api/index.html"' in front
    reference = (SITE / "api" / "index.html").read_text(encoding="utf-8")
    for name in public_names():
        assert f"generated/api/{name}.html" in reference
        assert (SITE / "generated" / "api" / f"{name}.html").exists()


def test_llms_txt_leads_to_pages():
    lines = (SITE / "llms.txt").read_text(encoding="utf-8").splitlines()
    targets = [line.rpartition("(")[2].rstrip(")") for line in lines if line.startswith("- [")]
    assert len(targets) > 50
    assert all((SITE / target).exists() for target in targets)
