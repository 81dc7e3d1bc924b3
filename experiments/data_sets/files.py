"""The upstream files of the data sets: where they are looked for, how they are checked and fetched.

A file is known by the sha256 of its *content*, decompressed: upstream's ``covtype.data.gz`` and the
same text compressed by someone else are the same file.
"""

import bz2
import gzip
import hashlib
import io
import os
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class DataFile:
    """One upstream file.

    ``contents`` lists the accepted versions as (sha256, size in bytes or None where only the
    checksum is published), of the decompressed content, or of an archive as it is.
    """

    directory: str
    name: str
    urls: tuple[str, ...]
    contents: tuple[tuple[str, int | None], ...]
    other_names: tuple[str, ...] = ()
    zip_member: str | None = None
    is_archive: bool = False

    @property
    def limit(self) -> int:
        """Bytes that no true version reaches, compressed or not: a bound on endless input."""
        return max(1 << 20, 2 * max(size for _, size in self.contents if size is not None))

    @property
    def expected(self) -> str:
        return " or ".join(
            f"sha256 {digest}" + ("" if size is None else f" ({size:,} bytes)")
            for digest, size in self.contents
        )

    def content_of(self, raw: bytes, where: str) -> bytes:
        """The content of a file's bytes, decompressed and verified; otherwise OSError."""
        try:
            content = raw if self.is_archive else _decompress(raw, self.zip_member, self.limit)
        except (OSError, EOFError, KeyError, zlib.error, zipfile.BadZipFile) as error:
            raise OSError(f"{where} is damaged: it cannot be decompressed ({error}).") from error
        digest = hashlib.sha256(content).hexdigest()
        if digest not in [accepted for accepted, _ in self.contents]:
            raise OSError(
                f"{where} is not the expected {self.name}: its content has sha256 {digest} "
                f"({len(content):,} bytes), expected {self.expected}."
            )
        return content


def data_dir() -> Path | None:
    """The directory of data files that the user already has: SARLEARN_DATA, only ever read."""
    value = os.environ.get("SARLEARN_DATA")
    return Path(value).expanduser() if value else None


def cache_dir() -> Path:
    """Where downloads and parsed data are kept: SARLEARN_CACHE, or ``~/.cache/sarlearn``."""
    cache = Path(os.environ.get("SARLEARN_CACHE") or "~/.cache/sarlearn").expanduser()
    data = data_dir()
    if data is not None and cache.resolve().is_relative_to(data.resolve()):
        raise ValueError(
            f"The cache {cache} lies in SARLEARN_DATA ({data}), which is never written to; "
            "set SARLEARN_CACHE to another directory."
        )
    return cache


def obtain(files: Sequence[DataFile], *, download: bool) -> list[bytes]:
    """The verified content of each file, from SARLEARN_DATA, the cache, or the network."""
    contents = []
    for i, file in enumerate(files):
        path = _find(file)
        if path is not None:
            contents.append(file.content_of(path.read_bytes(), str(path)))
            continue
        content, failures = b"", ["downloading was not allowed"]
        if download:
            content, failures = _download(file)
        if failures:
            missing = [other for other in files[i:] if _find(other) is None]
            raise OSError(_how_to_supply(missing, failures))
        contents.append(content)
    return contents


def _find(file: DataFile) -> Path | None:
    names = [file.name, *file.other_names]
    names += [name + suffix for name in names for suffix in (".gz", ".bz2")]
    for root in (data_dir(), cache_dir()):
        for name in names:
            if root is not None and (path := root / file.directory / name).is_file():
                return path
    return None


def _how_to_supply(missing: Sequence[DataFile], failures: Sequence[str]) -> str:
    places = [str(root / missing[0].directory) for root in (data_dir(), cache_dir()) if root]
    return "\n".join(
        [
            f"Could not get {', '.join(file.name for file in missing)}:",
            *(f"  {failure}" for failure in failures),
            f"Nothing was kept. To supply the data by hand, put these files into "
            f"{' or '.join(places)}:",
            *(
                f"  {file.name}: {file.expected}"
                + "".join(f", from {url}" for url in file.urls[:1])
                for file in missing
            ),
            "or set SARLEARN_DATA to a directory that holds them in "
            f"{missing[0].directory}{os.sep}.",
        ]
    )


def _download(file: DataFile) -> tuple[bytes, list[str]]:
    """The content from the first address that has it; otherwise why each of them failed."""
    try:
        import pooch
    except ImportError:
        return b"", ["downloads need pooch: pip install 'sarlearn[experiments]'"]
    failures = []
    for url in file.urls:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / file.name
            try:
                pooch.HTTPDownloader(timeout=TIMEOUT_SECONDS)(url, str(path), None)
                content = file.content_of(path.read_bytes(), "the download")
            except OSError as error:  # errors of the connection are of this class, too
                failures.append(f"{url}: {error}")
                continue
            keep(cache_dir() / file.directory / file.name, path.read_bytes())
            return content, []
    return b"", failures


def keep(path: Path, data: bytes) -> None:
    """Write a file of the cache, whole or not at all; a cache that cannot be written only warns."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(data)
            os.replace(temporary, path)
        finally:
            Path(temporary).unlink(missing_ok=True)
    except OSError as error:
        message = f"Could not keep {path} for the next time ({error}); set SARLEARN_CACHE to a "
        warnings.warn(message + "directory that can be written.", stacklevel=2)


def _decompress(raw: bytes, zip_member: str | None, limit: int) -> bytes:
    """Undo gzip, bzip2 or zip, known by their first bytes, reading at most ``limit`` bytes."""
    if raw.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=io.BytesIO(raw)).read(limit)
    if raw.startswith(b"BZh"):
        return bz2.BZ2File(io.BytesIO(raw)).read(limit)
    if zip_member is not None and raw.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(raw)) as archive, archive.open(zip_member) as member:
            return member.read(limit)
    return raw
