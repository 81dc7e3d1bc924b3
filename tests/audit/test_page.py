"""The audit page as people meet it: the command, a real browser, kills and two tabs."""

import json
import re
import shutil
import signal
import socket
import time
import urllib.error
import urllib.request

import numpy as np
import pandas as pd
import pytest

import warm
from table_data import patients, sarem_of_table

pytest.importorskip("flask")
pytest.importorskip("waitress")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="chromium and chromedriver are not installed"
)
HOSTILE = "<script>window.hacked = true</script><img src=x onerror='window.hacked=true'>"


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A table with hostile cells, and a model of it."""
    import sarlearn

    folder = tmp_path_factory.mktemp("audit")
    table, y, _ = patients(800)
    table["<b>note</b>"] = np.where(np.arange(800) % 2, HOSTILE, "plain words")
    table.to_csv(folder / "patients.csv", index=False)
    drop = ["patient_id", "diagnosed"]
    model = sarem_of_table(["age", "plan"], drop=drop)
    model.fit(table, table["diagnosed"])
    notes = {"label": "diagnosed", "label_word": "1", "id": "patient_id", "source": "p.csv"}
    notes["positive_noun"] = "ill"
    sarlearn.save(model, folder / "model.skops", notes=notes)
    np.save(folder / "truth.npy", y)
    return folder


class Page:
    """The command, serving."""

    def __init__(self, folder, output, *more, start=warm.start):
        self.process = start(
            *("-m", "sarlearn", "audit", "model.skops", "patients.csv"),
            *("-o", output, "--serve", "--no-browser", *more),
            cwd=folder,
            env={"OMP_NUM_THREADS": "1"},
        )
        line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/\S+/", line)
        assert found, self.process.communicate()[1]
        self.address = found.group()

    def get(self, path, **options):
        request = urllib.request.Request(self.address + path, **options)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)

    def answer(self, row, answer):
        body = json.dumps({"row": row, "answer": answer}).encode()
        return self.get("answer", data=body, headers={"Content-Type": "application/json"})

    def stop(self, how=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.communicate(timeout=120)


@pytest.fixture
def serving(work, request):
    pages = []

    def serve(output, *more, **how):
        page = Page(work, output, *more, **how)
        pages.append(page)
        return page

    yield serve
    for page in pages:
        page.stop(signal.SIGKILL)


@pytest.fixture(scope="module")
def one_page(work):
    page = Page(work, "one.csv", "-n", "10")
    yield page
    page.stop(signal.SIGKILL)


def test_killing_loses_no_answer_and_one_can_go_on(serving, work):
    page = serving("killed.csv", "-n", "30", start=warm.start_new)
    given = {}
    state = page.get("state")
    for answer in ["yes", "no", "unsure", "no", "yes", "no", "no"]:
        row = state["row"]["row"]
        given[row] = answer
        state = page.answer(row, answer)
    page.stop(signal.SIGKILL)
    table = pd.read_csv(work / "killed.csv").set_index("audit_row")["audited"]
    assert {row: table[row] for row in given} == given
    page = serving("killed.csv", "-n", "30")
    state = page.get("state")
    assert state["done"] == 7
    assert state["row"]["row"] not in given
    assert state["known"] == 6
    assert state["low"] < state["class_prior"] < state["high"]
    assert state["needed"] > 30
    out, _ = page.stop()
    assert "7 of 30 rows are checked" in out
    assert "Share of positives" in out


def raw(page, request: str) -> tuple[int, str]:
    """Status and body of the answer to a request that no polite client sends."""
    with socket.create_connection(
        ("127.0.0.1", int(page.address.split(":")[2].split("/")[0]))
    ) as s:
        s.sendall(request.encode())
        answer = b""
        while part := s.recv(10_000):
            answer += part
    head, _, body = answer.decode().partition("\r\n\r\n")
    return int(head.split()[1]), body


@pytest.mark.parametrize(
    ("request_line", "host", "status"),
    [
        ("GET {path}state HTTP/1.1", "Host: 127.0.0.1", 200),
        ("GET /%C3%A9/state HTTP/1.1", "Host: 127.0.0.1", 404),
        ("GET {path}state HTTP/1.1", "Host:", 404),
        ("GET {path}state HTTP/1.0", "", 404),
    ],
)
def test_odd_requests_are_refused_like_any_other(one_page, request_line, host, status):
    path = "/" + one_page.address.split("/", 3)[3]
    lines = [request_line.format(path=path), host, "Connection: close"]
    assert raw(one_page, "\r\n".join(filter(None, lines)) + "\r\n\r\n")[0] == status


@pytest.mark.parametrize(("host", "status"), [(None, 404), ("", 404), ("localhost:1", 200)])
def test_without_a_host_the_servers_own_name_does_not_count(host, status):
    from werkzeug.test import EnvironBuilder, run_wsgi_app

    from sarlearn.cli.audit_page import Answers, Question, make_app

    given = {name: np.full(3, np.nan) for name in ("audited", "audit_probability", "audit_round")}
    answers = Answers([1], np.array([True, False, False]), given, {}, print)
    question = Question("", "", [], [], lambda row: {}, str)
    environ = EnvironBuilder("/token/state").get_environ() | {"SERVER_NAME": "127.0.0.1"}
    environ.pop("HTTP_HOST")
    environ |= {} if host is None else {"HTTP_HOST": host}
    _, found, _ = run_wsgi_app(make_app(answers, question, "token"), environ)
    assert found.startswith(str(status))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("[1]", "An answer is a JSON object with row and answer."),
        ("no JSON", "An answer is a JSON object with row and answer."),
        ("{}", "Row None is not among the rows to check."),
        ('{"row": [1], "answer": "yes"}', "Row [1] is not among the rows to check."),
        ('{"row": 1000000, "answer": "yes"}', "Row 1000000 is not among the rows to check."),
        ('{"row": ROW, "answer": ["yes"]}', "The answer must be yes, no or unsure; got ['yes']."),
        ('{"row": ROW}', "The answer must be yes, no or unsure; got None."),
    ],
)
def test_a_bad_answer_is_refused_in_words(one_page, body, message):
    row = one_page.get("state")["row"]["row"]
    kind = {"Content-Type": "application/json"}
    with pytest.raises(urllib.error.HTTPError) as error:
        one_page.get("answer", data=body.replace("ROW", str(row)).encode(), headers=kind)
    with error.value:
        assert error.value.code == 400
        assert json.load(error.value) == {"error": message}
    assert one_page.get("state")["done"] == 0


def test_strangers_and_a_second_command_get_nothing(serving):
    page = serving("strangers.csv", "-n", "10")
    with pytest.raises(AssertionError, match="open in another audit page"):
        serving("strangers.csv", "-n", "10")
    root = page.address.rsplit("/", 2)[0]

    def code(url, **options):
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(urllib.request.Request(url, **options), timeout=60)
        error.value.close()
        return error.value.code

    assert code(f"{root}/") == 404
    assert code(f"{root}/wrong-token/") == 404
    assert code(f"{root}/wrong-token/state") == 404
    assert code(page.address + "../model.skops") == 404
    assert code(page.address, headers={"Host": "evil.example"}) == 404
    huge = {"data": b" " * 100_000, "headers": {"Content-Type": "application/json"}}
    assert code(page.address + "answer", **huge) == 413
    with urllib.request.urlopen(page.address, timeout=60) as response:
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]


def test_answers_typed_into_the_file_are_kept(serving, work, capsys):
    from sarlearn import cli

    arguments = [str(work / name) for name in ("model.skops", "patients.csv")]
    assert cli.run(["audit", *arguments, "-n", "20", "-o", str(work / "typed.csv")]) == 0
    capsys.readouterr()
    table = pd.read_csv(work / "typed.csv", dtype={"audited": object, "patient_id": str})
    table.loc[[0, 1], "audited"] = ["yes", "unsure"]
    table.to_csv(work / "typed.csv", index=False)
    page = serving("typed.csv")
    state = page.get("state")
    assert (state["done"], state["total"]) == (2, 20)
    assert state["counts"] == {"yes": 1, "no": 0, "unsure": 1}
    page.stop()
    table.loc[0, "audited"] = "no"  # corrected in the file, after the page
    table.to_csv(work / "typed.csv", index=False)
    assert serving("typed.csv").get("state")["counts"] == {"yes": 0, "no": 1, "unsure": 1}


def open_browser(profile):
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(option)
    options.add_argument("--disable-background-networking")
    options.add_argument(f"--user-data-dir={profile}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    driver.execute_cdp_cmd("Network.enable", {})
    return driver


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = open_browser(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


def text(browser, identifier):
    return browser.execute_script(
        "return document.getElementById(arguments[0]).textContent", identifier
    )


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing came of it"
        time.sleep(0.05)


def show(browser, address, width=1280, theme="light"):
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": theme}]},
    )
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    browser.get(address)
    until(lambda: "checked" in text(browser, "progress"))


def at_rest(browser):
    """The page takes no answer while it sends one, whatever it has shown of it by then."""
    until(lambda: not browser.execute_script("return busy"))


def press(browser, key):
    at_rest(browser)
    browser.execute_script(
        "document.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0]}))", key
    )


@needs_browser
def test_rows_are_checked_by_click_and_by_key(serving, work, browser):
    page = serving("clicked.csv", "-n", "12")
    browser.get_log("browser")
    browser.get_log("performance")
    show(browser, page.address)
    assert text(browser, "question") == "Is this one ill?"
    names = []
    for done, (how, answer) in enumerate(
        [("key", "y"), ("click", "no"), ("key", "u"), ("click", "yes"), ("key", "n")], start=1
    ):
        names.append(text(browser, "name"))
        if how == "key":
            press(browser, answer)
        else:
            at_rest(browser)
            browser.find_element("css selector", f"[data-answer={answer}]").click()
        until(lambda done=done: text(browser, "progress").startswith(f"{done} of 12"))
    assert len(set(names)) == 5
    press(browser, "b")
    until(lambda: text(browser, "name") == names[-1])
    assert text(browser, "given") == "answered: no"
    press(browser, "y")
    until(lambda: "3 yes, 1 no, 1 unsure" in text(browser, "progress"))
    assert "with 95 % confidence whatever the model" in text(browser, "range")
    at_rest(browser)
    while not browser.find_element("id", "done").is_displayed():
        before = text(browser, "progress")
        press(browser, "n")
        until(lambda before=before: text(browser, "progress") != before)
        at_rest(browser)
    table = pd.read_csv(work / "clicked.csv")
    assert table["audited"].tolist().count("yes") == 3
    assert table["audited"].notna().all()
    assert browser.get_log("browser") == []
    messages = [json.loads(row["message"])["message"] for row in browser.get_log("performance")]
    asked = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert asked
    assert all(sent["request"]["url"].startswith(page.address) for sent in asked)


@needs_browser
def test_cells_are_text_and_the_page_fits(serving, browser):
    page = serving("fits.csv", "-n", "40")
    backgrounds = set()
    for width, theme in [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")]:
        show(browser, page.address, width, theme)
        browser.execute_script("document.getElementById('more').open = true")
        for _ in range(6):
            before = text(browser, "progress")
            press(browser, "y")
            until(lambda before=before: text(browser, "progress") != before)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        paper = "return getComputedStyle(document.body).backgroundColor"
        backgrounds.add(browser.execute_script(paper))
    assert len(backgrounds) == 2
    assert browser.execute_script("return window.hacked === undefined")
    assert browser.execute_script("return document.images.length") == 0
    assert browser.execute_script("return document.scripts.length") == 1
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('.answers button')].map(b => b.offsetHeight)"
    )
    assert min(sizes) >= 44


@needs_browser
def test_two_tabs_and_a_stopped_command_lose_no_answer(serving, work, browser):
    page = serving("tabs.csv", "-n", "10")
    show(browser, page.address)
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    second = browser.current_window_handle
    show(browser, page.address)
    for _ in range(3):  # both show the first row without an answer; the last answer counts
        for tab, answer in ((first, "n"), (second, "y")):
            browser.switch_to.window(tab)
            row = text(browser, "name")
            press(browser, answer)
            until(lambda row=row: text(browser, "name") != row)
    browser.close()
    browser.switch_to.window(first)
    table = pd.read_csv(work / "tabs.csv")
    assert table["audited"].dropna().tolist() == ["yes"] * 3
    name = text(browser, "name")
    page.stop(signal.SIGKILL)
    press(browser, "y")
    until(lambda: browser.find_element("id", "problem").is_displayed())
    assert "Not saved" in text(browser, "problem")
    assert text(browser, "name") == name
