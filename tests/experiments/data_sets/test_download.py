"""Downloads of data sets, from a real server on loopback."""

import dataclasses
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from experiments.data_sets.catalog import CATALOG
from experiments.data_sets.files import obtain

from dataset_tools import CONTENT, DIGEST, TEXT
from experiments import data_sets

pytestmark = pytest.mark.usefixtures("no_data")


class Handler(BaseHTTPRequestHandler):
    """Serves CONTENT, as well as the first part of the path says."""

    def do_GET(self):
        manner = self.path.split("/")[1]
        self.server.requests.append(self.path)
        body = CONTENT
        if manner == "missing":
            self.send_error(404)
            return
        if manner == "wrong":
            body = body[:100] + b"#" + body[101:]
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


def served(server, *manners):
    """The known file, at an address for each manner of serving it."""
    root = f"http://127.0.0.1:{server.server_port}"
    urls = tuple(f"{root}/{manner}/set/set.data" for manner in manners)
    return dataclasses.replace(TEXT, urls=urls)


def files_in(directory: Path) -> list[str]:
    return sorted(str(p.relative_to(directory)) for p in directory.rglob("*") if p.is_file())


def test_whole_download_is_kept_and_not_repeated(tmp_path, server):
    file = served(server, "good")
    assert obtain([file], download=True) == [CONTENT]
    assert files_in(tmp_path / "cache") == ["set/set.data"]
    assert (tmp_path / "cache/set/set.data").read_bytes() == CONTENT
    assert obtain([file], download=True) == [CONTENT]
    assert server.requests == ["/good/set/set.data"]


@pytest.mark.parametrize(
    ("manner", "message"),
    [
        ("cut", "140000 bytes read, 140000 more expected"),
        ("chunked-cut", "Connection broken"),
        ("cut-without-length", r"the download is not the expected set\.data.*\(140,000 bytes\)"),
        ("wrong", rf"the download is not the expected set\.data.*expected sha256 {DIGEST}"),
        ("short", r"\(26 bytes\), expected"),
        ("missing", r"404 Client Error: Not Found"),
    ],
)
def test_bad_download_leaves_nothing_and_says_so(tmp_path, server, manner, message):
    file = served(server, manner)
    with pytest.raises(OSError, match=message) as caught:
        obtain([file], download=True)
    assert files_in(tmp_path) == []
    text = str(caught.value)
    assert "Nothing was kept" in text
    assert f"{file.urls[0]}: " in text
    assert str(tmp_path / "cache" / "set") in text


def test_second_address_is_tried_when_the_first_fails(tmp_path, server):
    file = served(server, "missing", "wrong", "good")
    assert obtain([file], download=True) == [CONTENT]
    assert len(server.requests) == 3
    assert files_in(tmp_path) == ["cache/set/set.data"]


def test_offline_error_lists_every_missing_file_and_where_to_put_it(monkeypatch, tmp_path):
    with socket.socket() as taken:  # bound, not listening: nobody answers there
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/adult.data"
        adult = CATALOG["adult"]
        unreachable = tuple(dataclasses.replace(file, urls=(url,)) for file in adult.files)
        monkeypatch.setitem(CATALOG, "adult", dataclasses.replace(adult, files=unreachable))
        monkeypatch.setenv("SARLEARN_DATA", str(tmp_path / "data"))
        with pytest.raises(OSError, match=r"Could not get adult\.data, adult\.test:") as caught:
            data_sets.load_adult()
    text = str(caught.value)
    assert f"{url}: " in text
    assert f"{tmp_path / 'data' / 'adult'} or {tmp_path / 'cache' / 'adult'}" in text
    for file in unreachable:
        assert f"{file.name}: sha256 {file.contents[0][0]}" in text
    assert files_in(tmp_path) == []


def test_downloading_can_be_forbidden():
    with pytest.raises(OSError, match="downloading was not allowed") as caught:
        data_sets.load_mushroom(download_if_missing=False)
    assert CATALOG["mushroom"].files[0].urls[0] in str(caught.value)


def test_without_pooch_the_extra_is_named(monkeypatch, server):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(OSError, match=r"pip install 'sarlearn\[experiments\]'"):
        obtain([served(server, "good")], download=True)
    assert server.requests == []


def test_catalogue_is_well_formed():
    for data_set in CATALOG.values():
        for file in data_set.files:
            assert file.urls
            assert all(url.startswith("https://") for url in file.urls)
            for digest, size in file.contents:
                assert len(digest) == 64
                assert int(digest, 16)
                assert size is None or 0 < size < file.limit
