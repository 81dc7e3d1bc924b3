"""Downloads of data sets, from a real server on loopback."""

import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from conftest import needs_data
from dataset_tools import CONTENT, DATA, DIGEST, TEXT
from sarlearn import datasets
from sarlearn.datasets._catalog import CATALOG
from sarlearn.datasets._files import DataFile, obtain

pytestmark = pytest.mark.usefixtures("no_data")


class Handler(BaseHTTPRequestHandler):
    """Serves CONTENT or files of SARLEARN_DATA, as well as the first part of the path says."""

    def do_GET(self):
        manner, _, rest = self.path.strip("/").partition("/")
        self.server.requests.append((self.path, self.headers["User-Agent"]))
        body = CONTENT if rest == "set/set.data" else Path(str(DATA), rest).read_bytes()
        if manner == "missing":
            self.send_error(404)
            return
        if manner == "wrong":
            body = body[:100] + b"#" + body[101:]
        elif manner == "endless":
            body = body * 10
        elif manner == "short":  # a page of some portal, whole as such
            body = b"<html>please log in</html>"
        self.send_response(200)
        if manner == "chunked-cut":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(f"{len(body):x}\r\n".encode() + body[: len(body) // 2])
        elif manner == "cut-without-length":
            self.end_headers()
            self.wfile.write(body[: len(body) // 2])
        else:
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if manner == "cut" else body)
        self.close_connection = True

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.requests = []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def address(server, manner):
    return f"http://127.0.0.1:{server.server_port}/{manner}"


def files_in(directory: Path) -> list[str]:
    return sorted(str(p.relative_to(directory)) for p in directory.rglob("*") if p.is_file())


def test_whole_download_is_kept_and_not_repeated(monkeypatch, tmp_path, server):
    monkeypatch.setenv("SARLEARN_MIRROR", address(server, "good") + "/")
    assert obtain([TEXT], download=True) == [CONTENT]
    assert files_in(tmp_path / "cache") == ["set/set.data"]
    assert (tmp_path / "cache/set/set.data").read_bytes() == CONTENT
    assert obtain([TEXT], download=True) == [CONTENT]
    ((path, agent),) = server.requests
    assert path == "/good/set/set.data"
    assert agent == "sarlearn"


@pytest.mark.parametrize(
    ("manner", "message"),
    [
        ("cut", "the connection was cut after 140,000 of 280,000 bytes"),
        ("chunked-cut", "the connection was cut in the middle"),
        ("cut-without-length", r"the download is not the expected set\.data.*\(140,000 bytes\)"),
        ("wrong", rf"the download is not the expected set\.data.*expected sha256 {DIGEST}"),
        ("short", r"\(26 bytes\), expected"),
        ("endless", r"more than 1,048,576 bytes came; set\.data is smaller"),
        ("missing", r"HTTP status 404 \(Not Found\)"),
    ],
)
def test_bad_download_leaves_nothing_and_says_so(monkeypatch, tmp_path, server, manner, message):
    monkeypatch.setenv("SARLEARN_MIRROR", address(server, manner))
    with pytest.raises(OSError, match=message) as caught:
        obtain([TEXT], download=True)
    assert files_in(tmp_path) == []
    text = str(caught.value)
    assert "Nothing was kept" in text
    assert f"{address(server, manner)}/set/set.data: " in text
    assert str(tmp_path / "cache" / "set") in text


def test_second_address_is_tried_when_the_first_fails(tmp_path, server):
    urls = tuple(f"{address(server, m)}/set/set.data" for m in ("missing", "wrong", "good"))
    file = DataFile("set", "set.data", urls, TEXT.contents)
    assert obtain([file], download=True) == [CONTENT]
    assert len(server.requests) == 3
    assert files_in(tmp_path) == ["cache/set/set.data"]


def test_offline_error_lists_every_missing_file_and_where_to_put_it(monkeypatch, tmp_path):
    with socket.socket() as taken:  # bound, not listening: nobody answers there
        taken.bind(("127.0.0.1", 0))
        mirror = f"http://127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("SARLEARN_MIRROR", mirror)
        monkeypatch.setenv("SARLEARN_DATA", str(tmp_path / "data"))
        with pytest.raises(OSError, match=r"Could not get adult\.data, adult\.test:") as caught:
            datasets.load_adult()
    text = str(caught.value)
    assert f"{mirror}/adult/adult.data: no connection (" in text
    assert f"{tmp_path / 'data' / 'adult'} or {tmp_path / 'cache' / 'adult'}" in text
    for file in CATALOG["adult"].files:
        assert f"{file.name}: sha256 {file.contents[0][0]}" in text
        assert file.urls[0] in text
    assert files_in(tmp_path) == []


def test_downloading_can_be_forbidden(monkeypatch, server):
    monkeypatch.setenv("SARLEARN_MIRROR", address(server, "good"))
    with pytest.raises(OSError, match="downloading was not allowed"):
        datasets.load_mushroom(download_if_missing=False)
    assert server.requests == []


def test_mirror_must_be_an_address(monkeypatch):
    monkeypatch.setenv("SARLEARN_MIRROR", "/some/directory")
    with pytest.raises(ValueError, match=r"must start with http.*'/some/directory'"):
        obtain([TEXT], download=True)


@needs_data
def test_load_by_download(monkeypatch, tmp_path, server):
    monkeypatch.setenv("SARLEARN_MIRROR", address(server, "good"))
    data = datasets.load_breast_cancer_wisconsin()
    assert data.X.shape == (683, 9)
    assert "breast_cancer_wisconsin/breast-cancer-wisconsin.data" in files_in(tmp_path / "cache")
    monkeypatch.setenv("SARLEARN_MIRROR", address(server, "cut"))
    with pytest.raises(OSError, match="the connection was cut"):
        datasets.load_mushroom()
    assert not any("mushroom" in name for name in files_in(tmp_path))
    monkeypatch.setenv("SARLEARN_MIRROR", address(server, "good"))
    assert datasets.load_mushroom().X.shape == (8_124, 111)


def test_progress_bar_on_a_terminal(monkeypatch, capsys, server):
    monkeypatch.setenv("SARLEARN_MIRROR", address(server, "good"))
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes the captured stream for a terminal
    obtain([TEXT], download=True)
    shown = capsys.readouterr().err
    assert "Downloading set.data" in shown
    assert "280.0/280.0 kB" in shown


def test_silent_without_terminal_or_without_rich(monkeypatch, tmp_path, capsys, server):
    monkeypatch.setenv("SARLEARN_MIRROR", address(server, "good"))
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    obtain([TEXT], download=True)
    (tmp_path / "cache/set/set.data").unlink()
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert obtain([TEXT], download=True) == [CONTENT]
    assert capsys.readouterr() == ("", "")


def test_catalogue_is_well_formed():
    for data_set in CATALOG.values():
        for file in data_set.files:
            assert file.urls
            assert all(url.startswith("https://") for url in file.urls)
            for digest, size in file.contents:
                assert len(digest) == 64
                assert int(digest, 16)
                assert size is None or 0 < size < file.limit
